// `npm run bench`: builds the package, installs the peers, runs every bench of benches/, or those that are named, and
// shows what they print. With `-- --check` it exits non-zero if one misses a limit of its own.

import { browser } from "./browsers.mjs"
import { build } from "./build.mjs"
import { Failure, must, run, script, step } from "./lib/run.mjs"
import { cached } from "./lib/stamp.mjs"

/** Each is a program of its own, in this order, and may need a browser. */
const benches = {
  native: ["cargo", ["bench", "--locked", "--bench", "engine", "--"]],
  peers: ["cargo", ["run", "--locked", "--release", "--manifest-path", "benches/peers/Cargo.toml", "--"]],
  node: ["node", ["benches/node.mjs"]],
  "cold-start": ["node", ["benches/cold-start.mjs"]],
  "indexeddb-open": ["node", ["benches/indexeddb-open.mjs"], "chromium"],
  indexeddb: ["node", ["benches/indexeddb.mjs"], "chromium"],
  "page-start": ["node", ["benches/page-start.mjs"], "chromium"],
  latency: ["node", ["benches/latency.mjs"], "chromium"],
  "tab-memory": ["node", ["benches/tab-memory.mjs"], "chromium"],
  bytes: ["node", ["benches/bytes.mjs"]],
  schedulers: ["node", ["benches/schedulers.mjs"]]
}

const named = process.argv.slice(2).filter((argument) => !argument.startsWith("--"))
const flags = process.argv.slice(2).filter((argument) => argument.startsWith("--"))

await script(async () => {
  const unknown = named.filter((name) => !(name in benches))
  if (unknown.length > 0) throw new Error(`no such bench: ${unknown}; there are ${Object.keys(benches).join(", ")}`)
  const chosen = named.length > 0 ? named : Object.keys(benches)
  await build()
  await setupPeers()
  for (const needed of new Set(chosen.flatMap((name) => benches[name][2] ?? []))) {
    const { title, missing } = await browser(needed)
    if (missing !== undefined) throw new Failure(`no ${title}: ${missing}`)
  }
  const missed = []
  for (const name of chosen) {
    const [program, args] = benches[name]
    console.log(`\n== ${name}`)
    const { code } = await run(program, [...args, ...flags], { live: true })
    if (code !== 0) missed.push(name)
  }
  if (missed.length > 0) throw new Failure(`failed, or missed a limit: ${missed.join(", ")}`)
})

// What others have built is installed for the benches alone: nothing else needs it.
function setupPeers() {
  const inputs = ["benches/package.json", "benches/package-lock.json"]
  return cached("benches/node_modules/.setup", { inputs, outputs: ["benches/node_modules"] }, () =>
    step("installing the peers", () =>
      must("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", "benches"])
    )
  )
}
