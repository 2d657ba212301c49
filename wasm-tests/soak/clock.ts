// The manual clock of a soak: it also waits for what takes real time, and knows when the wall clock jumped.

import { ManualClock } from "alkstore-wasm/testing"

const TURNS_MAX = 10_000
/** A day longer than any retention. */
const REMEMBERED_MS = 3 * 86_400_000

/** What takes real time, such as a database's transactions. */
export interface Elsewhere {
  isBusy(): boolean
  /** Resolves when it may be done. */
  done(): Promise<void>
}

export class SoakClock extends ManualClock {
  /** A lease that one of them falls into is not reasoned about. */
  jumps = 0
  /** What was advanced, in milliseconds. */
  elapsed = 0
  #corrections: { readonly elapsed: number; readonly ms: number }[] = []
  readonly #elsewhere: Elsewhere

  constructor(elsewhere: Elsewhere) {
    super()
    this.#elsewhere = elsewhere
  }

  /** Lets `ms` pass. */
  async pass(ms: number): Promise<void> {
    this.elapsed += ms
    await this.advance(ms)
  }

  /** By how much it was set back in the last days, all corrections together. */
  get corrected(): number {
    this.#corrections = this.#corrections.filter(({ elapsed }) => elapsed > this.elapsed - REMEMBERED_MS)
    return this.#corrections.reduce((sum, { ms }) => sum + ms, 0)
  }

  override set(now: number): void {
    this.jumps += 1
    if (now < this.now()) this.#corrections.push({ elapsed: this.elapsed, ms: this.now() - now })
    super.set(now)
  }

  /** Between two sleepers too: no work is overtaken by time. */
  override async settle(): Promise<void> {
    await super.settle()
    for (let turn = 0; this.#elsewhere.isBusy(); turn += 1) {
      if (turn === TURNS_MAX) throw new Error(`still at work after ${TURNS_MAX} turns`)
      await this.#elsewhere.done()
      await super.settle()
    }
  }
}

/** Memory: everything happens here. */
export const NOWHERE: Elsewhere = { isBusy: () => false, done: () => Promise.resolve() }
