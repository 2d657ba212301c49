// What a fresh clone lacks: the wasm target, the packages of package-lock.json, the pinned wasm-bindgen. Plain Node,
// because nothing is installed yet when this runs.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { must, root, step } from "./lib/run.mjs"
import { cached } from "./lib/stamp.mjs"

export const WASM_TARGET = "wasm32-unknown-unknown"
export const WBG = "tools/wb/target/debug/wbg"

/** Installs the packages of package-lock.json, without running their scripts. */
export function setupPackages() {
  const inputs = ["package-lock.json", ".npmrc"]
  const outputs = ["node_modules/alkstore-wasm", "node_modules/esbuild"]
  return cached("node_modules/.setup", { inputs, outputs }, () =>
    step("installing npm packages", () => must("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"]))
  )
}

let toolchain
/**
 * Lets rustup install the toolchain of rust-toolchain.toml, if it is to do that by itself. Before anything else: rustup
 * cannot do it for two of its programs at once.
 */
export function setupToolchain() {
  return (toolchain ??= must("cargo", ["--version"]))
}

/** Adds the wasm target to the toolchain of rust-toolchain.toml. */
export async function setupTarget() {
  const installed = await must("rustup", ["target", "list", "--installed"])
  if (installed.split(/\s+/).includes(WASM_TARGET)) return
  await step(`adding the target ${WASM_TARGET}`, () => must("rustup", ["target", "add", WASM_TARGET]))
}

/** Builds the wasm-bindgen command line at exactly the version that the crate uses. */
export function setupWasmBindgen() {
  const inputs = ["tools/wb/Cargo.toml", "tools/wb/Cargo.lock", "tools/wb/src", "rust-toolchain.toml"]
  const cargo = ["build", "--locked", "--manifest-path", "tools/wb/Cargo.toml", "--target-dir", "tools/wb/target"]
  assertSameVersion()
  return cached("tools/wb/target/.setup", { inputs, outputs: [WBG] }, () =>
    step("building wasm-bindgen", () => must("cargo", cargo))
  )
}

// The generated glue and the crate must come from one version: another one fails late and obscurely.
function assertSameVersion() {
  const versionOf = (name, lock) =>
    new RegExp(`name = "${name}"\nversion = "([^"]+)"`).exec(readFileSync(join(root, lock), "utf8"))?.[1]
  const crate = versionOf("wasm-bindgen", "Cargo.lock")
  const tool = versionOf("wasm-bindgen-cli-support", "tools/wb/Cargo.lock")
  if (crate === tool) return
  throw new Error(`Cargo.lock has wasm-bindgen ${crate}, tools/wb/Cargo.lock has ${tool}: make them agree`)
}
