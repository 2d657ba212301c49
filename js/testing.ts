// A clock that moves only when told to.

import { duration, finite, invalid, signalArgument } from "./arguments.js"
import { macrotask, turnsGiven } from "./turn.js"
import type { Clock, Duration } from "./types.js"

/** How many turns of the event loop `settle` gives to started work. */
const SETTLE_TURNS = 8

/** And how many at the most to work that gives turns of its own, which do not count: some hundred thousand jobs. */
const SETTLE_TURNS_MAX = 500

interface Sleeper {
  /** In elapsed time. */
  readonly due: number
  readonly wake: () => void
}

/**
 * A clock for tests, given to `open` as `clock`.
 *
 * Wall time and elapsed time are two things here, as in the world: `advance` moves both, like time passing; `set`
 * moves only the wall, like somebody correcting the clock.
 */
export class ManualClock implements Clock {
  static readonly name = "ManualClock"

  #now: number
  #elapsed = 0
  readonly #sleepers = new Set<Sleeper>()
  /** The last of the advances under way: they take place one after another. */
  #advancing: Promise<void> = Promise.resolve()

  /** Shows `start`, by default 1,700,000,000,000 (14 November 2023). */
  constructor(start = 1_700_000_000_000) {
    this.#now = finite("start", start)
  }

  now(): number {
    return this.#now
  }

  /** Resolves once `ms` have been advanced past, or when `signal` aborts. Sleeping for nothing resolves at once. */
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    finite("ms", ms)
    if (signalArgument(signal)?.aborted || ms <= 0) return
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#sleepers.delete(sleeper)
        resolve()
        signal?.removeEventListener("abort", wake)
      }
      const sleeper: Sleeper = { due: this.#elapsed + ms, wake }
      signal?.addEventListener("abort", wake)
      this.#sleepers.add(sleeper)
    })
  }

  /**
   * Lets `by` pass: wakes sleepers in the order of their times, those of one instant in the order in which they fell
   * asleep, and lets their work settle before the next instant. Rejects with `InvalidArgument` for a negative one.
   */
  async advance(by: Duration): Promise<void> {
    const ms = duration("by", by)
    if (ms < 0) throw invalid("by", by, "zero or more")
    const advance = this.#advancing.then(() => this.#advance(Math.trunc(ms)))
    this.#advancing = advance.catch(() => undefined)
    return advance
  }

  async #advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms
    await this.settle()
    for (let next = this.#next(end); next !== null; next = this.#next(end)) {
      this.#pass(next.due)
      next.wake()
      await this.settle()
    }
    this.#pass(end)
    await this.settle()
  }

  /** Corrects the wall clock, either way. No time elapses, so no sleeper wakes. */
  set(now: number): void {
    this.#now = finite("now", now)
  }

  /** Lets work that has been started go on, for a bounded number of turns of the event loop. */
  async settle(): Promise<void> {
    for (let turn = 0, still = 0; still < SETTLE_TURNS && turn < SETTLE_TURNS_MAX; turn += 1) {
      const before = turnsGiven()
      await macrotask()
      still = turnsGiven() === before ? still + 1 : 0
    }
  }

  /** How many sleepers wait. */
  get pending(): number {
    return this.#sleepers.size
  }

  #next(end: number): Sleeper | null {
    let next: Sleeper | null = null
    for (const sleeper of this.#sleepers) {
      if (sleeper.due <= end && (next === null || sleeper.due < next.due)) next = sleeper
    }
    return next
  }

  #pass(elapsed: number): void {
    this.#now += elapsed - this.#elapsed
    this.#elapsed = elapsed
  }
}
