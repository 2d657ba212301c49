import { open } from "alkstore-wasm"
import sinon from "sinon"
import { afterEach, beforeEach, describe, test } from "vitest"
import { facts } from "./scenario.cjs"

describe("under Sinon's fake timers", () => {
  let clock: sinon.SinonFakeTimers
  beforeEach(() => void (clock = sinon.useFakeTimers()))
  afterEach(() => clock.restore())

  for (const [fact, check] of Object.entries(facts)) {
    test(fact, () => check({ open, advance: (ms) => clock.tickAsync(ms) }))
  }
})
