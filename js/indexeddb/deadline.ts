// How long the browser may take to answer. Counted in slices of a timer: one that fires late, in a tab that was frozen or
// on a machine that slept, uses up one slice only.

const SLICES = 3
const SLICE_MS = 10_000

// The runtime's own, whatever a test's fake timers put in their place later.
const { setTimeout, clearTimeout } = globalThis

/** Calls `expired` when the time is up, unless it is renewed or cancelled before. */
export class Deadline {
  #left = SLICES
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(expired: () => void) {
    const wait = (): void => {
      this.#timer = setTimeout(() => {
        this.#left -= 1
        if (this.#left === 0) expired()
        else wait()
      }, SLICE_MS)
    }
    wait()
  }

  /** There was an answer. The slice under way counts for nothing. */
  renew(): void {
    this.#left = SLICES + 1
  }

  cancel(): void {
    clearTimeout(this.#timer)
  }
}

export const DEADLINE_TEXT = `${(SLICES * SLICE_MS) / 1_000} s`
