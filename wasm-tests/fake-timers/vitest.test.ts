import { open } from "alkstore-wasm"
import { afterEach, beforeEach, describe, test, vi } from "vitest"
import { facts } from "./scenario.cjs"

describe("under Vitest's fake timers", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  for (const [fact, check] of Object.entries(facts)) {
    test(fact, () => check({ open, advance: (ms) => vi.advanceTimersByTimeAsync(ms) }))
  }
})
