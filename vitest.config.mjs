import { defineConfig } from "vitest/config"

// A process for each file loads the package, and all that the tests need, fifty times.
const together = (name, ...include) => ({ test: { name, include, isolate: false, testTimeout: 30_000 } })

export default defineConfig({
  test: {
    projects: [
      together("shared", "wasm-tests/shared/**/*.test.ts"),
      // With an `indexedDB` that stays.
      together("indexeddb", "wasm-tests/node/indexeddb/*.test.ts"),
      // These watch or replace what is global.
      { test: { name: "node", include: ["wasm-tests/node/*.test.ts"], testTimeout: 30_000 } }
    ]
  }
})
