// What schedules owe: a second implementation of boundaries and catch-up, as short as can be.

import type { ScheduleInfo } from "alkstore-wasm"
import type { Findings } from "./findings.js"

/** The contract's, of which nothing may be imported here. */
const CATCH_UP_FIRES_MAX = 64
const LATEST_GRAIN_MS = 10_000
const UNITS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

interface Entry {
  spec: string
  interval: number
  /** `Infinity` if it is not registered any more. */
  next: number
  owed: number
  skipped: number
  fired: number
}

export class Timetable {
  readonly #findings: Findings
  readonly #entries = new Map<string, Entry>()

  constructor(findings: Findings) {
    this.#findings = findings
  }

  /** Registered, anew or again: the same spec keeps the boundary that is due. */
  registered(name: string, spec: string, now: number): void {
    const entry = this.#entries.get(name)
    if (entry?.spec === spec && entry.next < Infinity) return
    const interval = intervalOf(spec)
    const { owed = 0, skipped = 0, fired = 0 } = entry ?? {}
    this.#entries.set(name, { spec, interval, next: now + interval, owed, skipped, fired })
  }

  /** Not registered any more: what it has missed is gone. */
  removed(name: string): void {
    const entry = this.#entries.get(name)
    if (entry !== undefined) entry.next = Infinity
  }

  /** Whoever leads took a turn at `now`, the first one since time had passed without a leader. */
  turn(now: number): void {
    for (const entry of this.#entries.values()) {
      const missed = missedAt(entry, now)
      const fires = Math.min(missed, CATCH_UP_FIRES_MAX)
      entry.owed += fires
      entry.skipped += missed - fires
      entry.next += missed * entry.interval
    }
  }

  /** Somebody has led all the time until `now`. */
  led(now: number): void {
    for (const entry of this.#entries.values()) {
      const due = missedAt(entry, now)
      entry.owed += due
      entry.next += due * entry.interval
    }
  }

  /** The clock was set back by `ms`, and a leader has taken a turn: boundaries moved with it, and at most 10 s less. */
  movedBack(ms: number, now: number, infos: readonly ScheduleInfo[]): void {
    for (const { name, nextFireAt } of infos) {
      const entry = this.#entries.get(name)
      if (entry === undefined) continue
      const earliest = entry.next - ms
      const isInRange = nextFireAt >= earliest && nextFireAt <= Math.min(earliest + LATEST_GRAIN_MS, now + entry.interval)
      this.#findings.check(isInRange, () => `${name}: set back by ${ms} ms, ${entry.next} became ${nextFireAt} at ${now}`)
      entry.next = nextFireAt
    }
  }

  /** A job of the schedule has turned up. */
  fired(name: string): void {
    const entry = this.#entries.get(name)
    if (entry === undefined) this.#findings.add(`a schedule "${name}" fired that nobody has registered`)
    else entry.fired += 1
  }

  /** Each boundary fired exactly once, or was skipped past the cap. */
  compare(infos: readonly ScheduleInfo[]): void {
    for (const [name, { owed, fired, next }] of this.#entries) {
      this.#findings.check(owed === fired, () => `${name} owes ${owed} and has fired ${fired}`)
      const info = infos.find((one) => one.name === name)
      const due = info?.nextFireAt ?? Infinity
      this.#findings.check(due === next, () => `${name} is due at ${due}, not at ${next}`)
    }
  }

  totals(): { schedules: number; owed: number; fired: number; skipped: number } {
    const totals = { schedules: this.#entries.size, owed: 0, fired: 0, skipped: 0 }
    for (const { owed, fired, skipped } of this.#entries.values()) {
      totals.owed += owed
      totals.fired += fired
      totals.skipped += skipped
    }
    return totals
  }
}

function missedAt({ next, interval }: Entry, now: number): number {
  return now < next ? 0 : Math.floor((now - next) / interval) + 1
}

function intervalOf(spec: string): number {
  const [, digits, unit] = /^@every (\d+)([smhd])$/.exec(spec) ?? []
  return Number(digits) * UNITS[unit!]!
}
