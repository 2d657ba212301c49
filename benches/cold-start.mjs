// What import + open + enqueue cost in a fresh Node process, over an empty script.
//
//   node benches/cold-start.mjs [--check] [--runs N]
//
// Both scripts are started by turns; the figure is the median of the pairs' differences. With --check the exit code
// is 1 if it is over COLD_START_MS_MAX.

import { spawnSync } from "node:child_process"
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
const cwd = fileURLToPath(new URL(".", import.meta.url))   // from where the package is found

function time(script) {
  const start = performance.now()
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    cwd,
    encoding: "utf8",
  })
  const ms = performance.now() - start
  if (status !== 0) throw new Error(`the script failed:\n${stderr}`)
  return ms
}

function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.round((sorted.length - 1) * q)]
}

for (let i = 0; i < WARM_UPS; i++) for (const script of Object.values(SCRIPTS)) time(script)
const empty = []
const ours = []
for (let i = 0; i < Number(flags.runs); i++) {
  for (const side of i % 2 ? ["empty", "ours"] : ["ours", "empty"])
    (side === "ours" ? ours : empty).push(time(SCRIPTS[side]))
}
const differences = ours.map((ms, i) => ms - empty[i])
const cost = quantile(differences, 0.5)
const spread = [0.25, 0.75].map((q) => quantile(differences, q).toFixed(1)).join(" to ")
console.log(`Node ${process.versions.node}, ${flags.runs} pairs, medians:`)
console.log(`  empty script              ${quantile(empty, 0.5).toFixed(1)} ms`)
console.log(`  import + open + enqueue   ${quantile(ours, 0.5).toFixed(1)} ms`)
console.log(`  difference                ${cost.toFixed(1)} ms (quartiles ${spread}), at most ${COLD_START_MS_MAX}`)
process.exitCode = flags.check && cost > COLD_START_MS_MAX ? 1 : 0
