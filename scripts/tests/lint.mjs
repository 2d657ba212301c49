// Formatting, lints, documentation and types: each check counts as one test.

import { WASM_TARGET } from "../setup.mjs"
import { bin, check, sum } from "./suite.mjs"
import { wasmTestTargets } from "./wasm.mjs"

export async function lint() {
  const clippy = ["clippy", "--locked", "--target-dir", "target", "--all-features"]
  const deny = ["--", "-D", "warnings"]
  const doc = ["doc", "--locked", "--no-deps", "--target-dir", "target"]
  const wasmTests = (await wasmTestTargets()).flatMap(({ name }) => ["--test", name])
  return sum([
    await check("cargo fmt", "cargo", ["fmt", "--check"]),
    await check("TypeScript and type tests", process.execPath, [bin("typescript", "bin/tsc"), "-p", "tsconfig.json"]),
    await check("clippy", "cargo", [...clippy, "--all-targets", ...deny]),
    await check("clippy for wasm32", "cargo", [...clippy, "--target", WASM_TARGET, "--lib", ...wasmTests, ...deny]),
    await check("cargo doc", "cargo", doc, { RUSTDOCFLAGS: "-D warnings" })
  ])
}
