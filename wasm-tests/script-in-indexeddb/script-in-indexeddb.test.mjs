// Runs the tests that lib.rs exports, each in a tab of its own.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { inEachEngine } from "../engines/harness/each.mjs"

const source = readFileSync(new URL("lib.rs", import.meta.url), "utf8")
const names = Array.from(source.matchAll(/^#\[wasm_bindgen\]\npub async fn (\w+)/gm), ([, name]) => name)
assert.ok(names.length > 0)

inEachEngine(({ test }) => {
  for (const name of names) {
    test(name.replaceAll("_", " "), async ({ open }) => {
      const tab = await open("pages/tab")
      assert.equal(await tab.evaluate(run, name), "passed")
    })
  }
})

// In the page. A panic settles no promise: the engine's hook says what it was.
async function run(name) {
  const tests = await import("/wasm/script_in_indexeddb.js")
  const panic = new Promise((resolve) => (globalThis.alkstorePanicked = resolve))
  await tests.default({ module_or_path: "/wasm/script_in_indexeddb_bg.wasm" })
  return Promise.race([panic, tests[name]().then(() => "passed", String)])
}
