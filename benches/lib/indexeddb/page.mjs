// What the page of the IndexedDB bench runs: each side's slices of work, timed here.

import { open } from "alkstore-wasm"
import { indexedDb } from "alkstore-wasm/indexeddb"
import { dexie, tanstack, workbox } from "./peers.mjs"
import { Bare, Ordered } from "./raw.mjs"

const FILL_BATCH = 2_000

/** How many distinct priorities the delayed jobs of a full queue have. */
const PRIORITIES = 200

const payload = (n) => ({ id: n, to: "somebody@example.org", subject: "Your order is ready" })
const payloads = (count) => Array.from({ length: count }, (_, n) => payload(n))
const sides = {}

/** Opens every side: those that are compared with jobs stored also on a full database, the peers only on empty ones. */
async function openAll(jobs, withPeers) {
  sides.empty = { ours: await alkstore("ours", 0), raw: await raw(Ordered, "raw", 0), bare: await raw(Bare, "bare", 0) }
  if (jobs > 0) {
    sides.full = { ours: await alkstore("ours-full", jobs), raw: await raw(Ordered, "raw-full", jobs) }
  }
  if (!withPeers) return
  sides.empty.workbox = workbox()
  sides.empty.dexie = dexie("dexie")
  sides.empty["dexie, strict"] = dexie("dexie-strict", "strict")
  sides.empty.tanstack = await tanstack()
}

async function alkstore(name, jobs) {
  await fill(name, jobs)
  const store = await open({ storage: indexedDb(name) })
  const queue = store.queue("mail")
  return {
    enqueue: (payload) => queue.enqueue(payload),
    enqueueAll: (payloads) => Promise.all(payloads.map((payload) => queue.enqueue(payload))),
    claim: async (n) => (n === 1 ? [await queue.claimOne("worker")] : queue.claimBatch("worker", n)),
    ack: (jobs) => (jobs.length === 1 ? jobs[0].ack() : queue.ackBatch(jobs.map(({ id }) => id))),
    ackEach: (jobs) => Promise.all(jobs.map((job) => job.ack())),
    async deliver(payload) {
      await queue.enqueue(payload)
      const job = await queue.claimOne("worker")
      await job.ack()
    }
  }
}

// Half of them ready, half delayed at many priorities, all higher.
async function fill(name, jobs) {
  const store = await open({ storage: indexedDb(name, { durability: "relaxed" }) })
  const queue = store.queue("mail")
  const options = (n) => (n % 2 === 0 ? { delay: "1d", priority: 1 + (n % (2 * PRIORITIES)) / 2 } : {})
  for (let first = 0; first < jobs; first += FILL_BATCH) {
    const count = Math.min(FILL_BATCH, jobs - first)
    await Promise.all(payloads(count).map((payload, n) => queue.enqueue(payload, options(first + n))))
  }
  await store.close()
}

async function raw(Kind, name, jobs) {
  const side = await Kind.open(name)
  await side.fill(jobs, payload)
  return side
}

/** What a slice does, over and over, with `n` jobs at a time. */
const work = {
  enqueue: (side) => side.enqueue(payload(0)),
  enqueueAll: (side, n) => side.enqueueAll(payloads(n)),
  claimAck: async (side, n) => (side.claim === undefined ? side.take(n) : side.ack(await side.claim(n))),
  claimAckEach: async (side, n) => side[side.ackEach ? "ackEach" : "ack"](await side.claim(n)),
  deliver: (side) => side.deliver(payload(0))
}

/** Milliseconds for each time. */
async function measure(depth, side, line, times, n) {
  const start = performance.now()
  for (let time = 0; time < times; time++) await work[line](sides[depth][side], n)
  return (performance.now() - start) / times
}

Object.assign(globalThis, { openAll, measure })
