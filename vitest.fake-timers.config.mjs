import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["wasm-tests/fake-timers/*.test.ts"],
    testTimeout: 30_000
  }
})
