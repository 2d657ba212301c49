// The parts of `npm test`. Each resolves to `{ passed, failed }`.

import { readdirSync } from "node:fs"
import { join } from "node:path"
import { browser as findBrowser, browserNames } from "../browsers.mjs"
import { root } from "../lib/run.mjs"
import { lint } from "./lint.mjs"
import { simulation } from "./simulation.mjs"
import { cargoTests, jest, nodeTests, sum, vitest } from "./suite.mjs"

/**
 * The parts of a row go one after the other, and the rows beside each other. Those in the background compile and compute,
 * and get the processor that the others leave, which drive browsers; two, so that at the end there is something for each
 * core. Those that need the least come first. Two browsers at a time: with a third, tests meet their deadlines.
 */
export const rows = {
  background: [{ simulation, lint }, { core }],
  foreground: [
    { packaging, node, "fake-timers": fakeTimers, wasm, browser, firefox: storageIn("firefox") },
    { chromium: storageIn("chromium"), webkit: storageIn("webkit") }
  ]
}

/** What has to be built for a part, if it is less than everything: see scripts/test.mjs. */
export const needsOf = { simulation: "nothing", packaging: "package" }

/** The browsers that a part needs, by their names. */
export const browsersOf = {
  wasm: ["chromium"],
  browser: ["chromium"],
  ...Object.fromEntries(browserNames.map((name) => [name, [name]]))
}

// The contract twice: on memory, and on rows under keys as durable storages have them.
async function core() {
  const again = ["contract", "conformance", "model"].flatMap((name) => ["--test", name])
  return sum([
    await cargoTests("native Rust", ["--no-fail-fast"]),
    await cargoTests("native Rust on rows under keys", ["--no-fail-fast", ...again], { ALKSTORE_TEST_STORAGE: "keyed" })
  ])
}

async function wasm({ skip }) {
  const { title, programs, missing } = await findBrowser("chromium")
  if (missing) return skip(`Rust in ${title}`, missing)
  const tests = files("wasm-tests/script-in-indexeddb", ".test.mjs")
  return nodeTests(`Rust in ${title}`, tests, { ...programs, ENGINES: "chromium" })
}

async function node() {
  return sum([
    await vitest("JavaScript in Node", "vitest.config.mjs"),
    await nodeTests("examples", files("examples/webhook-relay", ".test.mjs")),
    await nodeTests("soak on memory", files("wasm-tests/soak", ".test.mjs"))
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
  const { title, programs, missing } = await findBrowser("chromium")
  if (missing) return skip(`JavaScript in ${title}`, missing)
  return sum([
    await vitest(`JavaScript in ${title}`, "vitest.browser.config.mjs", programs),
    await nodeTests(`field notes in ${title}`, files("wasm-tests/field-notes", ".test.mjs"), programs)
  ])
}

function storageIn(name) {
  return async ({ skip }) => {
    const { title, programs, missing } = await findBrowser(name)
    if (missing) return skip(`storage in ${title}`, missing)
    return nodeTests(`storage in ${title}`, ["wasm-tests/engines/all.mjs"], { ...programs, ENGINES: name })
  }
}

function packaging() {
  return nodeTests("packed tarball", files("wasm-tests/packaging", ".test.mjs"))
}

function files(folder, ending) {
  const names = readdirSync(join(root, folder)).filter((name) => name.endsWith(ending))
  return names.map((name) => join(folder, name))
}
