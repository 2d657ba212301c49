// The simulation: two thousand seeds of which none may break an invariant, and bugs of which each must be found.

import { run, seconds } from "../lib/run.mjs"
import { bugs, buildPlanted, buildSimulation } from "../simulation.mjs"
import { countCargo, suite, sum } from "./suite.mjs"

/** How many seeds a bug may survive. */
const SEEDS = 500

export async function simulation() {
  const began = performance.now()
  console.log("- building the simulation, as it is and with bugs planted ...")
  const [asItIs, planted] = await Promise.all([buildSimulation(), buildPlanted()])
  console.log(`- building the simulation: ${seconds(began)}`)
  const found = []
  const seeds = await suite("simulation", asItIs, [], { count: countCargo })
  for (const bug of bugs()) found.push(await find(bug, planted))
  return sum([seeds, ...found])
}

// Only the invariant that the bug is known to break counts: others may not hold either.
async function find({ name, breaks }, program) {
  const began = performance.now()
  const env = { SIMULATION_BUG: name, SIMULATION_WANTED: breaks, SIMULATION_SEEDS: String(SEEDS) }
  const { output } = await run(program, ["no_seed_breaks_an_invariant"], { env })
  const found = /^seed (\d+) breaks "([^"]+)"/m.exec(output)
  const isFound = found?.[2] === breaks
  const how = isFound ? `found by seed ${found[1]}` : `not found by ${SEEDS} seeds, which should break "${breaks}"`
  console.log(`- planted ${name}: ${how} (${seconds(began)})`)
  return { passed: isFound ? 1 : 0, failed: isFound ? 0 : 1 }
}
