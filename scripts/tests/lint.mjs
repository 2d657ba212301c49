// Formatting, lints, documentation, types and dependencies: each check counts as one test.

import { npmAudit } from "../audit.mjs"
import { WASM_TARGET } from "../setup.mjs"
import { bin, check, nodeTests, sum } from "./suite.mjs"

const FUZZ = "tools/fuzz/Cargo.toml"

export async function lint({ skip }) {
  const clippy = ["clippy", "--locked", "--target-dir", "target", "--all-features"]
  const deny = ["--", "-D", "warnings"]
  const doc = ["doc", "--locked", "--no-deps", "--target-dir", "target"]
  return sum([
    await check("cargo fmt", "cargo", ["fmt", "--all", "--check"]),
    await check("cargo fmt of the fuzz targets", "cargo", ["fmt", "--check", "--manifest-path", FUZZ]),
    await check("TypeScript and type tests", process.execPath, [bin("typescript", "bin/tsc"), "-p", "tsconfig.json"]),
    await check("clippy", "cargo", [...clippy, "--all-targets", "--test", "simulation", ...deny]),
    // In the profile of the package, for which the macros that it needs have been compiled already.
    await check("clippy for wasm32", "cargo", [...clippy, "--release", "--workspace", "--lib", "--target", WASM_TARGET, ...deny]),
    await check("wasm32 without JavaScript", "cargo", ["check", "--locked", "--target-dir", "target", "--no-default-features", "--target", WASM_TARGET]),
    await check("cargo doc", "cargo", doc, { RUSTDOCFLAGS: "-D warnings" }),
    await nodeTests("dependencies", ["scripts/tests/dependencies.test.mjs"]),
    // What it finds is news of the day: no test of this tree, and so CI's alone.
    ...(process.env.CI ? [await audit({ skip })] : [])
  ])
}

// A registry that answers no audits is nobody's failure.
async function audit({ skip }) {
  const { findings, unanswered } = await npmAudit()
  if (unanswered !== null) return skip("npm audit", unanswered, { allowed: true })
  for (const finding of findings) console.log(`- npm audit: ${finding}`)
  return { passed: findings.length === 0 ? 1 : 0, failed: findings.length }
}
