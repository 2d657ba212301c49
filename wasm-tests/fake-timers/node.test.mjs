import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { describe, test } from "node:test"
import { open } from "alkstore-wasm"
import scenario from "./scenario.cjs"

/** Turns that let started work settle: `tick` itself is synchronous. */
const SETTLE_TURNS = 50

/** A clock that mistook a fake for the event loop never gets there. */
const ADVANCE_MS_MAX = 10_000

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

// In a process of its own: here all has been imported before.
for (const [whose, fake] of [
  ["the mock timers of node:test", 'import { mock } from "node:test"; mock.timers.enable()'],
  ["Sinon's fake timers", 'import sinon from "sinon"; sinon.useFakeTimers()']
]) {
  test(`a manual clock that is imported under ${whose} advances all the same`, () => {
    const program = `
      ${fake}
      const { ManualClock } = await import("alkstore-wasm/testing")
      const clock = new ManualClock(0)
      const sleeping = clock.sleep(1_000)
      await clock.advance("1s")
      await sleeping
      console.log(clock.now())`
    const args = ["--input-type=module", "--eval", program]
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: ADVANCE_MS_MAX })
    assert.equal(stdout, "1000\n", stderr)
  })
}
