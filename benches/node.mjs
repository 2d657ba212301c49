// The package against a plain JavaScript heap with the same semantics (heap.mjs), in one process, by turns.
//
//   node benches/node.mjs [--check] [--rounds N]
//
// Every case runs in slices that alternate between the two, so that whatever the machine does besides hits both.
// With --check the exit code is 1 if single cycles of small jobs fall below CYCLE_RATIO_MIN of the heap's speed.

import { parseArgs } from "node:util"
import { open } from "alkstore-wasm"
import { HeapStore } from "./heap.mjs"

const CYCLE_RATIO_MIN = 0.8
const SLICES = 10
const BATCH = 32
const HOUR = 3_600_000

const small = (i) => ({ id: i, to: "somebody@example.org", subject: "Your order is ready" })
const large = (i) => ({ ...small(i), body: "lorem ipsum ".repeat(335) })

const CASES = [
  { name: "cycle, 64 B", jobs: 100_000, payload: small, work: cycles, gate: true },
  { name: "cycle, 4 KB", jobs: 50_000, payload: large, work: cycles },
  { name: "cycle, 64 B, 1k waiting", jobs: 50_000, payload: small, work: cycles, depth: 1_000 },
  { name: "cycle, 64 B, 100k waiting", jobs: 50_000, payload: small, work: cycles, depth: 100_000 },
  { name: `batches of ${BATCH}, 64 B`, jobs: 96_000, payload: small, work: batches },
  { name: `batches of ${BATCH}, 64 B, 100k waiting`, jobs: 96_000, payload: small, work: batches, depth: 100_000 },
]

const { values: flags } = parseArgs({
  options: { check: { type: "boolean" }, rounds: { type: "string", default: "5" } },
})
const rounds = Number(flags.rounds)

/** Enqueues, claims and acks `jobs` jobs, one after another, each call awaited. */
async function cycles(queue, jobs, payload) {
  for (let i = 0; i < jobs; i++) {
    await queue.enqueue(payload(i))
    const job = await queue.claimOne("worker")
    await job.ack()
  }
}

/** The same by the batch: what is enqueued together is claimed and acked together. */
async function batches(queue, jobs, payload) {
  for (let i = 0; i < jobs; i += BATCH) {
    const enqueued = []
    for (let k = 0; k < BATCH; k++) enqueued.push(queue.enqueue(payload(i + k)))
    await Promise.all(enqueued)
    const claimed = await queue.claimBatch("worker", BATCH)
    await queue.ackBatch(claimed.map((job) => job.id))
  }
}

/** A third each: claimed, ready, delayed at a higher priority. */
async function fill(queue, depth) {
  const third = Math.floor(depth / 3)
  for (let i = 0; i < third; i++) await queue.enqueue(small(i))
  for (let left = third; left > 0; left -= 100) await queue.claimBatch("holder", Math.min(left, 100))
  for (let i = 0; i < third; i++) await queue.enqueue(small(i))
  for (let i = 2 * third; i < depth; i++) await queue.enqueue(small(i), { delay: HOUR, priority: i % 10 })
}

async function elapsed(work) {
  const start = performance.now()
  await work()
  return performance.now() - start
}

async function measure({ work, jobs, payload, depth = 0 }) {
  const store = await open()
  const sides = [
    store.queue("bench", { visibilityTimeout: HOUR }),
    new HeapStore().queue("bench", { visibilityTimeout: HOUR }),
  ]
  for (const queue of sides) {
    await fill(queue, depth)
    await work(queue, jobs / SLICES, payload)   // warm
  }
  const results = []
  for (let round = 0; round < rounds; round++) {
    const ms = [0, 0]
    for (let slice = 0; slice < SLICES; slice++) {
      for (const side of slice % 2 === 0 ? [0, 1] : [1, 0]) {
        ms[side] += await elapsed(() => work(sides[side], jobs / SLICES, payload))
      }
    }
    results.push({ ours: jobs / ms[0], heap: jobs / ms[1], ratio: ms[1] / ms[0] })
  }
  await store.close()
  return results
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

const row = (name, ours, heap, ratio, all) =>
  console.log([name.padEnd(38), ours.padStart(10), heap.padStart(10), ratio.padStart(10), `  ${all}`].join(""))

console.log(`Node ${process.versions.node}, ${rounds} rounds, thousands of jobs a second (median), ratio ours / heap\n`)
row("", "ours", "heap", "ratio", "each round")
let failed = false
for (const bench of CASES) {
  const results = await measure(bench)
  const ratio = median(results.map((result) => result.ratio))
  const speed = (side) => median(results.map((result) => result[side])).toFixed(1)
  row(
    bench.name,
    speed("ours"),
    speed("heap"),
    ratio.toFixed(2),
    results.map((result) => result.ratio.toFixed(2)).join(" "),
  )
  if (bench.gate && ratio < CYCLE_RATIO_MIN) failed = true
}
if (failed) console.log(`\nsingle cycles are below ${CYCLE_RATIO_MIN} of the heap's speed`)
process.exitCode = flags.check && failed ? 1 : 0
