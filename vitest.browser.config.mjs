import { playwright } from "@vitest/browser-playwright"
import { defineConfig } from "vitest/config"
import { chromiumLaunch } from "./scripts/browsers.mjs"

export default defineConfig({
  envPrefix: ["VITE_", "FUZZ_"],
  test: {
    include: ["wasm-tests/{browser,shared}/**/*.test.ts"],
    testTimeout: 30_000,
    // A frame for each file loads the package, and all that the tests need, forty times.
    isolate: false,
    browser: {
      enabled: true,
      headless: true,
      screenshotFailures: false,
      provider: playwright({ launchOptions: chromiumLaunch() }),
      instances: [{ browser: "chromium" }]
    }
  }
})
