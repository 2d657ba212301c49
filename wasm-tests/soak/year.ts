// The soak itself: day after day of it, and what is measured in between.

import { housekeeping } from "./housekeeping.js"
import { HEARTBEAT, registerHeartbeat, session } from "./session.js"
import type { Reusable } from "./signals.js"
import type { Timetable } from "./timetable.js"
import { newWorld, type Load, type Place, type World } from "./world.js"

const DAY_MS = 86_400_000
/** One whose spec changes. */
const CHANGING = { name: "changing", specs: ["@every 45m", "@every 90m"] }

/** One that is there every other day. */
const PASSING = { name: "passing", spec: "@every 30m" }

/** What is the same everywhere; each place adds its own. */
export interface Sample {
  readonly day: number
  readonly listeners: number
  readonly sleepers: number
  readonly jobs: number
}

export class Year {
  readonly #world: World
  readonly #reused: Reusable
  day = 0

  private constructor(world: World) {
    this.#world = world
    this.#reused = world.signals.reusable()
  }

  static async begin(place: Place, load: Load, seed: number): Promise<Year> {
    const year = new Year(await newWorld(place, load, seed))
    await year.#register()
    return year
  }

  /** Lets a day pass. */
  async next(): Promise<void> {
    const { clock, load, random, place } = this.#world
    const begin = clock.elapsed
    const part = DAY_MS / load.sessions
    for (let number = 1; number <= load.sessions; number += 1) {
      await session(this.#world, this.#reused)
      await place.extra(this.#world)
      await housekeeping(this.#world)
      const left = begin + number * part - clock.elapsed
      // Half of the time the device sleeps in between: the wall clock goes on, and nothing else.
      if (random.chance(0.5)) await clock.pass(left)
      else {
        clock.elapsed += left
        clock.set(clock.now() + left)
      }
      await this.#register()
    }
    this.day += 1
  }

  async sample(): Promise<Sample> {
    const { signals, clock, books, place } = this.#world
    await place.audit(this.#world)
    return { day: this.day, listeners: signals.listeners, sleepers: clock.pending, jobs: books.count() }
  }

  /** Closes, and adds up. */
  async end(): Promise<Summary> {
    const { ground, books, timetable, counts, findings, place } = this.#world
    await ground.close()
    const balance = books.balance()
    return {
      days: this.day,
      balance,
      schedules: timetable.totals(),
      counts: { ...counts, doubtful: books.resolved, faults: place.faults.struck },
      findings: findings.sentences,
      findingsCount: findings.count
    }
  }

  // As a page does at every load. The one that changes starts again.
  async #register(): Promise<void> {
    const { ground, timetable, clock, load } = this.#world
    const isPassing = this.day % 2 === 0
    const named = load.specs.map((spec) => [spec, spec] as const)
    const changing = [CHANGING.name, CHANGING.specs[this.day % 2]!] as const
    const passing = isPassing ? [[PASSING.name, PASSING.spec] as const] : []
    for (const [name, spec] of [...named, changing, ...passing]) {
      await ground.schedule(name, spec, "reports", { schedule: name }, { priority: named.length, maxAttempts: 9 })
      timetable.registered(name, spec, clock.now())
    }
    if (!isPassing && (await ground.unschedule(PASSING.name))) timetable.removed(PASSING.name)
    await registerHeartbeat(ground)
    timetable.registered(HEARTBEAT.name, HEARTBEAT.spec, clock.now())
  }
}

export interface Summary {
  readonly days: number
  readonly balance: Record<string, Record<string, number>>
  readonly schedules: ReturnType<Timetable["totals"]>
  readonly counts: Record<string, number>
  readonly findings: readonly string[]
  readonly findingsCount: number
}
