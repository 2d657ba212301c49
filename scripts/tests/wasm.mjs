// The Rust tests of wasm-tests/: compiled to wasm, run in Node and in Chromium. One that is configured to
// `run_in_browser` runs in Chromium only.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { browser } from "../browsers.mjs"
import { must, root } from "../lib/run.mjs"
import { setupTarget, WASM_TARGET, WASM_TEST_RUNNER } from "../setup.mjs"
import { cargoTests, sum } from "./suite.mjs"

export async function wasm({ skip }) {
  await setupTarget()
  const targets = await wasmTestTargets()
  const anywhere = targets.filter(({ src_path }) => !readFileSync(src_path, "utf8").includes("run_in_browser"))
  const results = anywhere.length > 0 ? [await cargoTests("wasm in Node", args(anywhere), runner)] : []
  const { title, programs, missing } = await browser("chromium")
  if (missing) return sum([...results, skip(`wasm in ${title}`, missing)])
  const inChromium = { ...runner, ...programs, WASM_BINDGEN_USE_BROWSER: "1" }
  results.push(await cargoTests(`wasm in ${title}`, args(targets), inChromium))
  return sum(results)
}

/** The test targets of the crate that lie in wasm-tests/. */
export async function wasmTestTargets() {
  const output = await must("cargo", ["metadata", "--locked", "--no-deps", "--format-version", "1"])
  // Cargo says beforehand that it waits for another one, if it does.
  const metadata = JSON.parse(output.slice(output.indexOf("{")))
  return metadata.packages[0].targets.filter(
    ({ kind, src_path }) => kind.includes("test") && src_path.startsWith(join(root, "wasm-tests"))
  )
}

const runner = { CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER: join(root, WASM_TEST_RUNNER) }

function args(targets) {
  return ["--no-fail-fast", "--target", WASM_TARGET, ...targets.flatMap(({ name }) => ["--test", name])]
}
