// A clock for tests that must see real timers, and leases end: time runs, faster.

import type { Clock } from "alkstore-wasm"

/** Runs `speed` times as fast as the real one since `since`: contexts that are told the same read one clock. */
export function fastClock(speed: number, since: number): Clock {
  return {
    now: () => since + (Date.now() - since) * speed,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, Math.ceil(ms / speed))
        signal.addEventListener("abort", () => {
          clearTimeout(timer)
          resolve()
        })
      })
  }
}
