const { open } = require("alkstore-wasm")
const { facts } = require("./scenario.cjs")

describe("under Jest's fake timers", () => {
  beforeEach(() => jest.useFakeTimers())
  afterEach(() => jest.useRealTimers())

  for (const [fact, check] of Object.entries(facts)) {
    test(fact, () => check({ open, advance: (ms) => jest.advanceTimersByTimeAsync(ms) }))
  }
})
