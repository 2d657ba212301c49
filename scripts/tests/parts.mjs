// The parts of `npm test`, in their order. Each resolves to `{ passed, failed }`.

import { readdirSync } from "node:fs"
import { join } from "node:path"
import { chromium } from "../chromium.mjs"
import { root } from "../lib/run.mjs"
import { lint } from "./lint.mjs"
import { cargoTests, jest, nodeTests, sum, vitest } from "./suite.mjs"
import { wasm } from "./wasm.mjs"

export const parts = {
  lint,
  core: () => cargoTests("native Rust", ["--no-fail-fast"]),
  wasm,
  node,
  "fake-timers": fakeTimers,
  browser,
  packaging: () => nodeTests("packed tarball", files("wasm-tests/packaging", ".test.mjs"))
}

async function node() {
  return sum([
    await vitest("JavaScript in Node", "vitest.config.mjs"),
    await nodeTests("examples", files("examples/webhook-relay", ".test.mjs"))
  ])
}

async function fakeTimers() {
  return sum([
    await vitest("fake timers of Vitest and Sinon", "vitest.fake-timers.config.mjs"),
    await jest("fake timers of Jest", "jest.fake-timers.config.cjs"),
    await nodeTests("fake timers of node:test", files("wasm-tests/fake-timers", ".test.mjs"))
  ])
}

async function browser({ skip }) {
  const { missing, browser, version } = await chromium()
  if (missing) return skip("JavaScript in Chromium", missing)
  return vitest(`JavaScript in Chromium ${version}`, "vitest.browser.config.mjs", { CHROMIUM: browser })
}

function files(folder, ending) {
  const names = readdirSync(join(root, folder)).filter((name) => name.endsWith(ending))
  return names.map((name) => join(folder, name))
}
