import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["wasm-tests/{node,shared}/**/*.test.ts"],
    testTimeout: 30_000
  }
})
