// `npm run soak:year`: a year of mixed load under a manual clock, on memory in Node and on IndexedDB in Chromium.
//
//   npm run soak:year -- --on memory --days 365 --minutes 30 --seed 1
//
// Without `--on` one after the other, each for at most half an hour. Prints a line for each simulated week and ends
// with a summary; exits non-zero if something grew or did not add up.

import { parseArgs } from "node:util"
import { soakOnMemory } from "../wasm-tests/soak/bundle.mjs"
import { soakOnIndexedDb } from "../wasm-tests/soak/chromium.mjs"
import { drive, report } from "../wasm-tests/soak/drive.mjs"
import { build } from "./build.mjs"
import { browser } from "./browsers.mjs"
import { Failure, script } from "./lib/run.mjs"

const SPECS = ["@every 20s", "@every 7m", "@every 1d", "@every 7d"]
const LOADS = {
  memory: { sessions: 2, stepsPerSession: 40, actionsPerStep: 20, specs: SPECS },
  indexeddb: { sessions: 1, stepsPerSession: 6, actionsPerStep: 12, specs: SPECS }
}

const OPTIONS = { durability: "strict", sessionsPerErrand: 1 }

const places = {
  async memory(load, seed, soak) {
    const { begin } = await soakOnMemory()
    return soak(await begin(load, seed))
  },

  async indexeddb(load, seed, soak) {
    const { missing, title } = await browser("chromium")
    if (missing) throw new Failure(`there is no ${title}: ${missing}`)
    // They start processes that end with this one.
    const { launch } = await import("../wasm-tests/engines/harness/chromium.mjs")
    const { removeFolder, temporaryFolder } = await import("../wasm-tests/engines/harness/processes.mjs")
    const { serve } = await import("../wasm-tests/engines/harness/server.mjs")
    const profile = temporaryFolder({ onDisk: true })
    const server = await serve()
    const chromium = await launch({ profile })
    try {
      const { url, reports } = server.page("soak/tab")
      const tab = await chromium.open(url)
      await tab.evaluate("loading")
      const result = await soak(await soakOnIndexedDb(tab, { load, seed, name: "soak", options: OPTIONS, profile }))
      const beside = reports.rest().map(({ failed }) => `beside it: ${failed}`)
      return { ...result, violations: [...result.violations, ...beside] }
    } finally {
      await chromium.kill()
      await server.close()
      removeFolder(profile)
    }
  }
}

await script(async () => {
  const { values } = parseArgs({
    options: {
      on: { type: "string", multiple: true, default: Object.keys(places) },
      days: { type: "string", default: "365" },
      minutes: { type: "string", default: "30" },
      seed: { type: "string", default: "1" }
    }
  })
  for (const name of ["days", "minutes", "seed"]) {
    if (!(Number(values[name]) > 0)) throw new Failure(`--${name} is a positive number, got ${values[name]}`)
  }
  const unknown = values.on.find((name) => !(name in places))
  if (unknown) throw new Failure(`--on is one of ${Object.keys(places).join(", ")}, got ${unknown}`)
  const [days, minutes, seed] = [values.days, values.minutes, values.seed].map(Number)
  await build()
  for (const name of values.on) {
    const log = (line) => console.log(`${name}: ${line}`)
    log(`${days} days, ${JSON.stringify(LOADS[name])}, seed ${seed}`)
    const result = await places[name](LOADS[name], seed, (subject) => drive(subject, { days, minutes, log }))
    console.log(`\n${name}: ${report(result)}\n`)
    if (result.violations.length > 0) process.exitCode = 1
  }
})
