// The package in Node, on memory, beside a plain JavaScript heap with the same semantics (heap.mjs) and what people use.
//
//   node benches/node.mjs [--check] [--rounds N]
//
// Each side is a process of its own, and all work by turns, in slices. With --check the exit code is 1 if a limit is
// missed.

import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { build } from "esbuild"
import { byTurns, limits, median, ratios, table } from "./lib/figures.mjs"

/** Faster than the heap, which copies by structured clone. */
const HEAP_RATIO_MIN = 1.5
/** Of the speed of that heap with the package's own copy of plain data. */
const COPYING_HEAP_RATIO_MIN = 0.8
/** Of the heap's bytes for a job that waits. */
const BYTES_RATIO_MAX = 0.7

const DEPTHS = [0, 1_000, 100_000, 1_000_000]
const JOBS = 4_800
/** Beside queues that wait for a timer between two jobs. */
const JOBS_BESIDE_PEERS = 480
const JOBS_MEASURED = 1_000_000
/** A function of wasm's is compiled by the optimising compiler after some twenty thousand calls. */
const WARM_UP_MS = 500
const KINDS = { cycles: "one by one", batches: "in 32s" }
const PAYLOADS = ["64 B", "4 KB"]
const HEAPS = ["heap", "heap, our copy"]
const PEERS = ["better-queue", "p-queue", "fastq.promise"]

const { values: flags } = parseArgs({
  options: { check: { type: "boolean" }, rounds: { type: "string", default: "7" } }
})
const rounds = Number(flags.rounds)
const { atLeast, atMost, end } = limits(flags.check)

const root = fileURLToPath(new URL("..", import.meta.url))
await build({ absWorkingDir: root, entryPoints: ["js/codec.ts"], outfile: "target/bench/codec.mjs", bundle: true,
  format: "esm", target: "es2022", minify: true })

class Side {
  #process

  static async start(name) {
    const side = new Side()
    side.#process = fork(fileURLToPath(new URL("lib/node-side.mjs", import.meta.url)), [name], { execArgv: ["--expose-gc"] })
    await once(side.#process, "message")
    return side
  }

  async ask(what, about) {
    this.#process.send({ what, ...about })
    const [answer] = await once(this.#process, "message")
    return answer
  }

  stop() {
    this.#process.kill()
  }
}

async function withSides(names, work) {
  const sides = await Promise.all(names.map((name) => Side.start(name)))
  try {
    return await work(Object.fromEntries(names.map((name, at) => [name, sides[at]])))
  } finally {
    for (const side of sides) side.stop()
  }
}

/** Thousands of jobs a second, of each side, round by round; and how many full collections all of it took. */
async function speeds(sides, kind, payload, jobs = JOBS) {
  const collections = {}
  for (const side of Object.values(sides)) await side.ask("warmUp", { kind, payload, jobs, ms: WARM_UP_MS })
  const turns = Object.entries(sides).map(([name, side]) => {
    const turn = async () => {
      const { ms, collections: full } = await side.ask("work", { kind, payload, jobs })
      collections[name] = (collections[name] ?? 0) + full
      return jobs / ms
    }
    return [name, turn]
  })
  return { figures: await byTurns(Object.fromEntries(turns), rounds), collections }
}

const speed = (figures) => median(figures).toFixed(1)
const ratio = (figures, beside) => median(ratios(figures, beside))

console.log(`Node ${process.versions.node}, ${rounds} rounds of ${JOBS} jobs; thousands of jobs a second (medians), and how`)
console.log("many times as fast as each heap. A job is enqueued, claimed under a lease, and acked.\n")
const promises = []
for (const depth of DEPTHS) {
  const rows = [[`${depth.toLocaleString("en")} waiting`, "ours", ...HEAPS, ...HEAPS.map((name) => `ours / ${name}`)]]
  await withSides(["ours", ...HEAPS], async (sides) => {
    const fills = {}
    for (const [name, side] of Object.entries(sides)) fills[name] = await side.ask("fill", { depth })
    const full = {}
    for (const payload of PAYLOADS) {
      for (const kind of Object.keys(KINDS)) {
        const { figures, collections } = await speeds(sides, kind, payload)
        const beside = HEAPS.map((name) => ratio(figures.ours, figures[name]))
        const title = `${payload}, ${KINDS[kind]}`
        rows.push([title, ...["ours", ...HEAPS].map((name) => speed(figures[name])), ...beside.map((each) => each.toFixed(2))])
        promises.push(() => atLeast(`${rows[0][0]}, ${title}: of the heap's speed`, beside[0], HEAP_RATIO_MIN))
        promises.push(() => atLeast(`${rows[0][0]}, ${title}: of that heap's with our copy`, beside[1], COPYING_HEAP_RATIO_MIN))
        for (const name of Object.keys(sides)) full[name] = (full[name] ?? 0) + (collections[name] ?? 0)
      }
    }
    table(rows)
    const counts = Object.keys(sides).map((name) => `${name} ${fills[name].collections} + ${full[name]}`)
    console.log(`full collections, while it was filled and then: ${counts.join(", ")}\n`)
  })
}

console.log("\nBeside queues in memory that have no leases: what they took is gone with the process that took it. They run a")
console.log("function as soon as there is room, copy no payload, and keep nothing that could be claimed again.\n")
await withSides(["ours", ...PEERS], async (sides) => {
  const rows = [["64 B", "ours", ...PEERS, ...PEERS.map((name) => `ours / ${name}`)]]
  for (const kind of Object.keys(KINDS)) {
    const { figures } = await speeds(sides, kind, "64 B", JOBS_BESIDE_PEERS)
    const beside = PEERS.map((name) => ratio(figures.ours, figures[name]))
    rows.push([KINDS[kind], ...["ours", ...PEERS].map((name) => speed(figures[name])), ...beside.map((each) => each.toFixed(2))])
    PEERS.forEach((name, at) => promises.push(() => atLeast(`${KINDS[kind]}: of ${name}'s speed`, beside[at], 1)))
  }
  table(rows)
})

console.log(`\nBytes for each of ${JOBS_MEASURED.toLocaleString("en")} jobs of 64 B that wait, of the whole process, wasm's memory included:`)
const bytes = {}
for (const name of ["payloads", "ours", "heap"]) {
  bytes[name] = await withSides([name], async (sides) => (await sides[name].ask("bytes", { jobs: JOBS_MEASURED })) / JOBS_MEASURED)
}
table([["", "ours", "heap", "the payloads alone"], ["bytes", ...["ours", "heap", "payloads"].map((name) => bytes[name].toFixed(0))]])
promises.push(() => atMost("bytes for a job that waits, of the heap's", bytes.ours / bytes.heap, BYTES_RATIO_MAX))

console.log("")
for (const promise of promises) promise()
end()
