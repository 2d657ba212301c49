// How long the browser may take. Counted in slices of a timer: one that fires late, in a tab that was frozen or on a
// machine that slept, uses up one slice only.

const SLICES = 3
const SLICE_MS = 10_000

// The runtime's own, whatever a test's fake timers put in their place later.
const { setTimeout, clearTimeout } = globalThis

/** Calls `expired` when the time is up, unless what it returns is called before. */
export function deadline(expired: () => void): () => void {
  let left = SLICES
  const tick = (): void => {
    left -= 1
    if (left === 0) expired()
    else timer = setTimeout(tick, SLICE_MS)
  }
  let timer = setTimeout(tick, SLICE_MS)
  return () => clearTimeout(timer)
}

export const DEADLINE_TEXT = `${(SLICES * SLICE_MS) / 1_000} s`
