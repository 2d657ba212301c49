// What import + open + enqueue cost in a fresh Node process, over an empty script, beside what others need for the first
// thing of their kind, and the least that is possible.
//
//   node benches/cold-start.mjs [--check] [--runs N]
//
// All are started by turns; a figure is the median of the differences to the empty script of the same round. The least
// possible says how quick the machine is at this just now. With --check the exit code is 1 if ours is over
// COLD_START_MS_MAX.

import { spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { byTurns, limits, median, spread, table } from "./lib/figures.mjs"

const COLD_START_MS_MAX = 15
const WARM_UPS = 3

// @tanstack/offline-transactions and Workbox store nothing in Node.
const SIDES = {
  empty: { title: "an empty script", code: "" },
  nothing: { title: "import of a package that does nothing", code: 'import "nothing"' },
  least: {
    title: "the same, and our engine read and compiled",
    code: `
      import "nothing"
      const { readFileSync } = process.getBuiltinModule("node:fs")
      new WebAssembly.Module(readFileSync(${JSON.stringify(path("../pkg/dist/engine.wasm"))}))`
  },
  ours: {
    title: "alkstore-wasm: import, open, enqueue",
    code: `
      import { open } from "alkstore-wasm"
      const store = await open()
      await store.queue("mail").enqueue({ to: "a" })`
  },
  jsquash: {
    title: "@jsquash/jpeg: encodes 8 × 8",
    code: `
      import encode, { init } from "@jsquash/jpeg/encode.js"
      import { readFileSync } from "node:fs"
      await init(new WebAssembly.Module(readFileSync(${JSON.stringify(path("node_modules/@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm"))})))
      await encode({ data: new Uint8ClampedArray(8 * 8 * 4), width: 8, height: 8 })`
  },
  sqlite: {
    title: "@sqlite.org/sqlite-wasm, memory: one row",
    code: `
      import init from "@sqlite.org/sqlite-wasm"
      const database = new (await init()).oo1.DB(":memory:")
      database.exec("CREATE TABLE jobs (id INTEGER PRIMARY KEY, payload TEXT)")
      database.exec({ sql: "INSERT INTO jobs (payload) VALUES (?)", bind: ['{ "to": "a" }'] })`
  }
}

const { values: flags } = parseArgs({
  options: { check: { type: "boolean" }, runs: { type: "string", default: "31" } }
})

// Where all the packages are found.
const folder = path("node_modules/.cold-start/")
const nothing = join(folder, "node_modules/nothing")
mkdirSync(nothing, { recursive: true })
writeFileSync(join(nothing, "package.json"), '{ "name": "nothing", "type": "module", "exports": "./index.js" }')
writeFileSync(join(nothing, "index.js"), "")
for (const [name, { code }] of Object.entries(SIDES)) writeFileSync(join(folder, `${name}.mjs`), code)

// With certificates of one's own Node starts by reading all that it has, on another thread: a start of twice the length,
// beside which the package would look faster than it is.
const { NODE_EXTRA_CA_CERTS, NODE_OPTIONS, ...env } = process.env

function time(name) {
  const start = performance.now()
  const { status, stderr } = spawnSync(process.execPath, [join(folder, `${name}.mjs`)], { env, encoding: "utf8" })
  const ms = performance.now() - start
  if (status !== 0) throw new Error(`the script ${name} failed:\n${stderr}`)
  return ms
}

function path(beside) {
  return fileURLToPath(new URL(beside, import.meta.url))
}

const starts = Object.fromEntries(Object.keys(SIDES).map((name) => [name, () => time(name)]))
const times = await byTurns(starts, Number(flags.runs), { warmUps: WARM_UPS })
const over = (name) => times[name].map((ms, round) => ms - times.empty[round])
console.log(`Node ${process.versions.node}, ${flags.runs} rounds, milliseconds, medians (quartiles)\n`)
table([
  ["", "in all", "over an empty script"],
  ...Object.entries(SIDES).map(([name, { title }]) => [title, spread(times[name], 1), name === "empty" ? "" : spread(over(name), 1)])
])
console.log()
const held = limits(flags.check)
held.atMost("import, open and enqueue over an empty script, ms", median(over("ours")), COLD_START_MS_MAX)
held.end()
