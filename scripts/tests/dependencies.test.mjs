// What the package is made of, read off the lock files and the crates' own manifests. `npm run audit` asks others.

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { verdict } from "../audit.mjs"
import { root } from "../lib/run.mjs"
import { WASM_TARGET } from "../setup.mjs"

const BYTES_MAX = 64_000_000

const read = (path) => readFileSync(join(root, path), "utf8")
const deny = read("deny.toml")
const strings = (text) => [...text.matchAll(/"([^"]+)"/g)].map(([, value]) => value)

const wanted = ["metadata", "--locked", "--offline", "--format-version", "1", "--filter-platform", WASM_TARGET]
// What it says beside its answer, that it waits for another cargo for example, is not looked at.
const answer = execFileSync("cargo", wanted, { cwd: root, maxBuffer: BYTES_MAX, stdio: ["ignore", "pipe", "ignore"] })
const { packages } = JSON.parse(answer)
const crates = packages.filter(({ source }) => source !== null)

test("every crate of the engine has a licence that deny.toml allows", () => {
  const allowed = new Set(strings(/^allow = \[(.*)\]$/m.exec(deny)[1]))
  // Such as "MIT OR Apache-2.0", "MIT/Apache-2.0" and "(MIT OR Apache-2.0) AND Unicode-3.0".
  const isOne = (choice) => choice.replace(/[()]/g, "").split(/ OR |\//).some((id) => allowed.has(id.trim()))
  const isAllowed = (licence) => licence.split(" AND ").every(isOne)
  assert.ok(crates.length > 10)
  const others = crates.filter(({ license }) => !isAllowed(license ?? "none"))
  assert.deepEqual(others.map(({ name, license }) => `${name}: ${license}`), [])
})

test("no crate is there in two versions, but for those that deny.toml names", () => {
  const skipped = [...deny.matchAll(/crate = "([^@"]+)/g)].map(([, name]) => name)
  const names = crates.map(({ name }) => name)
  const twice = names.filter((name, at) => names.indexOf(name) !== at && !skipped.includes(name))
  assert.deepEqual(twice, [])
})

test("every crate is of the one registry, and has a checksum", () => {
  for (const lock of ["Cargo.lock", "tools/wb/Cargo.lock", "tools/fuzz/Cargo.lock", "benches/peers/Cargo.lock"]) {
    const entries = read(lock).split("[[package]]").slice(1).filter((entry) => entry.includes("source ="))
    const sources = new Set(entries.map((entry) => /^source = "(.*)"$/m.exec(entry)[1]))
    assert.ok(entries.length > 10 && entries.every((entry) => /^checksum = "[0-9a-f]{64}"$/m.test(entry)), lock)
    assert.deepEqual([...sources].map((source) => source.split("+")[0]), ["registry"], lock)
  }
})

test("the tests pin what they depend on, and the engine leaves a choice to those who depend on it", () => {
  const engine = packages.find(({ name }) => name === "alkstore-wasm")
  const isAsMeant = ({ kind, req }) => req.startsWith(kind === "dev" ? "=" : "^")
  assert.deepEqual(engine.dependencies.filter((each) => !isAsMeant(each)).map(({ name, req }) => `${name} ${req}`), [])
})

test("without its feature for JavaScript the crate has no dependencies, on wasm32 neither", () => {
  const tree = ["tree", "--locked", "--offline", "--no-default-features", "--edges", "normal", "--prefix", "none"]
  const named = execFileSync("cargo", [...tree, "--target", WASM_TARGET, "--package", "alkstore-wasm"], { cwd: root, encoding: "utf8" })
  assert.match(named.trim(), /^alkstore-wasm v\S+ \(.*\)$/)
})

test("every npm package is pinned by its content, is for development, and has its scripts not run", () => {
  const { packages: locked } = JSON.parse(read("package-lock.json"))
  const others = Object.entries(locked).filter(([path, { link }]) => path.startsWith("node_modules/") && !link)
  assert.ok(others.length > 100)
  const isPinned = ({ integrity, inBundle, dev }) => dev === true && (inBundle === true || /^sha512-/.test(integrity))
  assert.deepEqual(others.filter(([, entry]) => !isPinned(entry)).map(([path]) => path), [])
  assert.match(read("scripts/setup.mjs"), /"npm", \["ci", "--ignore-scripts"/)
})

test("an audit's verdict: what is grave counts, unless there is a reason, and no answer is no verdict", () => {
  const advisory = (name, severity) => ({ name, severity, range: "<9", title: "reads files", url: `https://x/${name}-1` })
  const vulnerabilities = {
    a: { severity: "high", via: [advisory("a", "high"), "b"] },
    b: { severity: "critical", via: [advisory("b", "critical"), advisory("b2", "moderate")] },
    c: { severity: "low", via: [advisory("c", "low")] }
  }
  const told = `npm notice\n${JSON.stringify({ auditReportVersion: 2, vulnerabilities })}\n`
  const [a, b] = ["a <9: high: reads files (https://x/a-1)", "b <9: critical: reads files (https://x/b-1)"]
  assert.deepEqual(verdict(told, {}), { findings: [a, b], unanswered: null })
  assert.deepEqual(verdict(told, { "b-1": "never given files" }), { findings: [a], unanswered: null })
  assert.deepEqual(verdict('{"message": "405 Not Allowed"}'), { findings: [], unanswered: "405 Not Allowed" })
  assert.match(verdict("no JSON").unanswered, /no JSON/)
})
