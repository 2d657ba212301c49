import { describe, test } from "node:test"
import { open } from "alkstore-wasm"
import scenario from "./scenario.cjs"

/** Turns that let started work settle: `tick` itself is synchronous. */
const SETTLE_TURNS = 50

describe("under the mock timers of node:test", () => {
  for (const [fact, check] of Object.entries(scenario.facts)) {
    test(fact, async (t) => {
      t.mock.timers.enable()
      await check({
        open,
        advance: async (ms) => {
          for (let turn = 0; turn < SETTLE_TURNS; turn++) await null
          t.mock.timers.tick(ms)
          for (let turn = 0; turn < SETTLE_TURNS; turn++) await null
        }
      })
    })
  }
})
