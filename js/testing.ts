// A clock that moves only when told to.

import { duration, finite, invalid, signalArgument } from "./arguments.js"
import type { Clock, Duration } from "./types.js"

/** How many turns of the event loop `settle` gives to started work. */
const SETTLE_TURNS = 8

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
    for (let turn = 0; turn < SETTLE_TURNS; turn += 1) await macrotask()
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

// A turn of the event loop must stay one under any fake timers, also where this is loaded under them. Nobody fakes
// channels, but in Node a new one for each turn takes nine times as long as its setImmediate, and one that lasts has all
// its messages handled in a single turn. Jest's jsdom has neither, and yet the process it runs in.
const { MessageChannel: Channel, setTimeout: timeout } = globalThis
const nodes = globalThis.process?.getBuiltinModule?.("node:timers")
const immediate = [globalThis.setImmediate, nodes?.setImmediate].find(isNodes)

// By what `promisify` looks for, which those of node:test lack; those of Vitest, Jest and Sinon have their clock with them.
function isNodes(given: unknown): boolean {
  if (typeof given !== "function" || "clock" in given || "_isMockFunction" in given) return false
  return Symbol.for("nodejs.util.promisify.custom") in given
}

function macrotask(): Promise<void> {
  if (immediate !== undefined) return new Promise((resolve) => void immediate(resolve))
  if (typeof Channel !== "function") return new Promise((resolve) => void timeout(resolve, 0))
  return new Promise((resolve) => {
    const { port1, port2 } = new Channel()
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(null)
  })
}
