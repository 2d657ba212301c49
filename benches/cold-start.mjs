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
import { byTurns, median, spread } from "./lib/figures.mjs"

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

const { empty, ours } = await byTurns(
  { empty: () => time("empty"), ours: () => time("ours") },
  Number(flags.runs),
  { warmUps: WARM_UPS }
)
const differences = ours.map((ms, i) => ms - empty[i])
const cost = median(differences)
console.log(`Node ${process.versions.node}, ${flags.runs} pairs, milliseconds, medians (quartiles):`)
console.log(`  empty script              ${spread(empty, 1)}`)
console.log(`  import + open + enqueue   ${spread(ours, 1)}`)
console.log(`  difference                ${spread(differences, 1)}, at most ${COLD_START_MS_MAX}`)
process.exitCode = flags.check && cost > COLD_START_MS_MAX ? 1 : 0
