// What import + open + enqueue cost in a fresh Node process, over an empty script.
//
//   node benches/cold-start.mjs [--check] [--runs N]
//
// Both scripts are started by turns; the figure is the median of the pairs' differences. With --check the exit code
// is 1 if it is over COLD_START_MS_MAX.

import { spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

const COLD_START_MS_MAX = 15
const WARM_UPS = 3

const SCRIPTS = {
  empty: "",
  ours: `
    import { open } from "alkstore-wasm"
    const store = await open()
    await store.queue("mail").enqueue({ to: "a" })
  `,
}

const { values: flags } = parseArgs({
  options: { check: { type: "boolean" }, runs: { type: "string", default: "31" } },
})
// In the project, from where the package is found.
const folder = fileURLToPath(new URL("../target/cold-start/", import.meta.url))
mkdirSync(folder, { recursive: true })
for (const [name, script] of Object.entries(SCRIPTS)) writeFileSync(join(folder, `${name}.mjs`), script)

// With certificates of one's own Node starts by reading all that it has, on another thread: a start of twice the length,
// beside which the package would look faster than it is.
const { NODE_EXTRA_CA_CERTS, NODE_OPTIONS, ...env } = process.env

function time(name) {
  const start = performance.now()
  const { status, stderr } = spawnSync(process.execPath, [join(folder, `${name}.mjs`)], { env, encoding: "utf8" })
  const ms = performance.now() - start
  if (status !== 0) throw new Error(`the script failed:\n${stderr}`)
  return ms
}

function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.round((sorted.length - 1) * q)]
}

for (let i = 0; i < WARM_UPS; i++) for (const name of Object.keys(SCRIPTS)) time(name)
const empty = []
const ours = []
for (let i = 0; i < Number(flags.runs); i++) {
  for (const side of i % 2 ? ["empty", "ours"] : ["ours", "empty"])
    (side === "ours" ? ours : empty).push(time(side))
}
const differences = ours.map((ms, i) => ms - empty[i])
const cost = quantile(differences, 0.5)
const spread = [0.25, 0.75].map((q) => quantile(differences, q).toFixed(1)).join(" to ")
console.log(`Node ${process.versions.node}, ${flags.runs} pairs, medians:`)
console.log(`  empty script              ${quantile(empty, 0.5).toFixed(1)} ms`)
console.log(`  import + open + enqueue   ${quantile(ours, 0.5).toFixed(1)} ms`)
console.log(`  difference                ${cost.toFixed(1)} ms (quartiles ${spread}), at most ${COLD_START_MS_MAX}`)
process.exitCode = flags.check && cost > COLD_START_MS_MAX ? 1 : 0
