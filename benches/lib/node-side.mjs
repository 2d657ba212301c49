// One side of node.mjs, in a process of its own, so that no side's garbage is another's: told to work, it says how long
// it took, and how many full collections there were.
//
//   node --expose-gc benches/lib/node-side.mjs SIDE

import { createRequire } from "node:module"
import { constants, PerformanceObserver } from "node:perf_hooks"
import { setTimeout } from "node:timers/promises"

const BATCH = 32
const HOUR = 3_600_000

const PAYLOADS = {
  "64 B": (i) => ({ id: i, to: "somebody@example.org", subject: "Your order is ready" }),
  "4 KB": (i) => ({ id: i, to: "somebody@example.org", subject: "Your order is ready", body: "lorem ipsum ".repeat(335) })
}

/** As it comes out of a request: with strings of its own. */
const parsed = (i) => JSON.parse(`{"id":${i},"to":"somebody${i}@example.org","subject":"Your order ${i} is ready"}`)

const SIDES = {
  ours: async () => {
    const { open } = await import("alkstore-wasm")
    return leased((await open()).queue("bench", { visibilityTimeout: HOUR }))
  },
  heap: () => heap({}),
  // The same heap with the package's own copy of plain data.
  "heap, our copy": async () => heap(await import("../../target/bench/codec.mjs")),
  "better-queue": async () => {
    const BetterQueue = createRequire(import.meta.url)("better-queue")
    const queue = new BetterQueue((task, done) => done(null, task), { concurrent: BATCH })
    return unleased((payload) => new Promise((resolve) => queue.push(payload, resolve)))
  },
  "p-queue": async () => {
    const { default: PQueue } = await import("p-queue")
    const queue = new PQueue({ concurrency: BATCH })
    return unleased((payload) => queue.add(async () => payload))
  },
  "fastq.promise": async () => {
    const { default: fastq } = await import("fastq")
    const queue = fastq.promise(async (payload) => payload, BATCH)
    return unleased((payload) => queue.push(payload))
  },
  // What the payloads take by themselves.
  payloads: () => {
    const kept = []
    return {
      async wait(jobs) {
        for (let i = 0; i < jobs; i++) kept.push(parsed(i))
      }
    }
  }
}

async function heap(copies) {
  const { HeapStore } = await import("../heap.mjs")
  return leased(new HeapStore(copies).queue("bench", { visibilityTimeout: HOUR }))
}

function leased(queue) {
  return {
    /** Enqueues, claims and acks, one after another, each call awaited. */
    async cycles(jobs, payload) {
      for (let i = 0; i < jobs; i++) {
        await queue.enqueue(payload(i))
        const job = await queue.claimOne("worker")
        await job.ack()
      }
    },
    /** What is enqueued together is claimed and acked together. */
    async batches(jobs, payload) {
      for (let i = 0; i < jobs; i += BATCH) {
        const enqueued = []
        for (let k = 0; k < BATCH; k++) enqueued.push(queue.enqueue(payload(i + k)))
        await Promise.all(enqueued)
        const claimed = await queue.claimBatch("worker", BATCH)
        await queue.ackBatch(claimed.map((job) => job.id))
      }
    },
    /** A third each: claimed, ready, delayed at a higher priority. */
    async fill(depth) {
      const payload = PAYLOADS["64 B"]
      const third = Math.floor(depth / 3)
      for (let i = 0; i < third; i++) await queue.enqueue(payload(i))
      for (let left = third; left > 0; left -= 100) await queue.claimBatch("holder", Math.min(left, 100))
      for (let i = 0; i < third; i++) await queue.enqueue(payload(i))
      for (let i = 2 * third; i < depth; i++) await queue.enqueue(payload(i), { delay: HOUR, priority: i % 10 })
    },
    async wait(jobs) {
      for (let i = 0; i < jobs; i++) await queue.enqueue(parsed(i))
    }
  }
}

function unleased(run) {
  return {
    async cycles(jobs, payload) {
      for (let i = 0; i < jobs; i++) await run(payload(i))
    },
    async batches(jobs, payload) {
      for (let i = 0; i < jobs; i += BATCH) {
        await Promise.all(Array.from({ length: BATCH }, (_, k) => run(payload(i + k))))
      }
    }
  }
}

let collections = 0
new PerformanceObserver((list) => {
  for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) collections++
}).observe({ entryTypes: ["gc"] })

/** Milliseconds and full collections of `work`; the observer is told late. */
async function measured(work) {
  await setTimeout(20)
  const before = collections
  const start = performance.now()
  await work()
  const ms = performance.now() - start
  await setTimeout(20)
  return { ms, collections: collections - before }
}

/** Bytes that the process holds on to, wasm's memory included. */
async function held() {
  for (let i = 0; i < 3; i++) {
    globalThis.gc()
    await setTimeout(10)
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const side = await SIDES[process.argv[2]]()
const answers = {
  async warmUp({ kind, jobs, payload, ms }) {
    const start = performance.now()
    do await side[kind](jobs, PAYLOADS[payload])
    while (performance.now() - start < ms)
  },
  work: ({ kind, jobs, payload }) => measured(() => side[kind](jobs, PAYLOADS[payload])),
  fill: ({ depth }) => measured(() => side.fill(depth)),
  async bytes({ jobs }) {
    const before = await held()
    await side.wait(jobs)
    return (await held()) - before
  }
}
process.on("message", async (message) => process.send((await answers[message.what](message)) ?? "done"))
process.send("ready")
