// `npm run soak -- --seeds 100000 [--from 0]`: the simulation over many seeds. Says what it has met after every ten
// thousand, and ends with the first seed that breaks an invariant, its last steps and how to replay it.

import { parseArgs } from "node:util"
import { Failure, run, script, seconds, step } from "./lib/run.mjs"
import { buildSimulation } from "./simulation.mjs"

const AT_A_TIME = 10_000

await script(async () => {
  const { values } = parseArgs({ options: { seeds: { type: "string" }, from: { type: "string", default: "0" } } })
  const [from, count] = [wholeNumber("from", values.from), wholeNumber("seeds", values.seeds ?? "10000")]
  let program
  await step("building the simulation", async () => {
    program = await buildSimulation()
  })
  const began = performance.now()
  for (let done = 0; done < count; done += AT_A_TIME) {
    const seeds = Math.min(AT_A_TIME, count - done)
    const env = { SIMULATION_FROM: String(from + done), SIMULATION_SEEDS: String(seeds) }
    const { code, output } = await run(program, ["no_seed_breaks_an_invariant", "--nocapture"], { env })
    if (code !== 0) throw new Failure("an invariant does not hold", output)
    console.log(/^\d+ seeds from[^]*?(?=^test )/m.exec(output)?.[0].trimEnd() ?? output)
    console.log(`${done + seeds} seeds, and every invariant holds (${seconds(began)})`)
  }
})

function wholeNumber(name, text) {
  if (!/^\d+$/.test(text)) throw new Failure(`--${name} must be a whole number, got ${text}`)
  return Number(text)
}
