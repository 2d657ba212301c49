import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["wasm-tests/fake-timers/*.test.ts"],
    // Sinon fakes `process.nextTick`, on which Node hands out what arrives from a parent process: a message of the test
    // runner that came in just then would be lost, and the run never end. Ports of threads do without.
    pool: "threads",
    testTimeout: 30_000
  }
})
