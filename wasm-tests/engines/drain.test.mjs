// All contexts of an origin at work on one queue.

import assert from "node:assert/strict"
import { inEachEngine } from "./harness/each.mjs"
import { startWorker } from "./harness/workers.mjs"

// The others are slower, and drain as much with less.
const JOBS = { chromium: 5_000, firefox: 1_000, webkit: 1_000 }
const TABS = 4

inEachEngine(({ engine, test }) => {
  const jobs = JOBS[engine.name]
  const name = `${TABS} tabs and a service worker drain ${jobs} jobs: each is handed out once, none is lost`
  test(name, async ({ t, open }) => {
    const tabs = await Promise.all(Array.from({ length: TABS }, () => open("pages/tab")))
    const contexts = [...tabs, await startWorker("service", tabs[0])]

    const share = jobs / contexts.length
    const shares = contexts.map((_, at) => Array.from({ length: share }, (_, n) => at * share + n))
    const began = performance.now()
    const enqueued = await Promise.all(contexts.map((context, at) => context.evaluate(enqueue, shares[at])))
    assert.equal(new Set(enqueued.flat()).size, jobs, "an id is given once")
    t.diagnostic(`enqueued in ${Math.round(performance.now() - began)} ms`)

    // Large batches, small ones, and one job at a time, against one another.
    const batches = [32, 32, 10, 1, 32]
    const drained = await Promise.all(contexts.map((context, at) => context.evaluate(drain, `w${at}`, batches[at])))
    t.diagnostic(`drained after ${Math.round(performance.now() - began)} ms, ${drained.map(({ ids }) => ids.length)}`)

    assert.deepEqual(sorted(drained.flatMap(({ ids }) => ids)), sorted(enqueued.flat()), "handed out once")
    assert.deepEqual(sorted(drained.flatMap(({ payloads }) => payloads)), Array.from({ length: jobs }, (_, n) => n))
    assert.equal(sum(drained.map(({ acked }) => acked)), jobs, "all are acked")
    assert.ok(drained.every(({ ids }) => ids.length > 0), "all contexts took part")
    const left = { pending: 0, ready: 0, processing: 0, dead: 0, nextDeadline: null }
    assert.deepEqual(await contexts.at(-1).evaluate(() => queue.stats()), left)
  })
})

async function enqueue(payloads) {
  globalThis.store = await alkstore.open({ storage: indexeddb.indexedDb("drained") })
  globalThis.queue = store.queue("mail")
  return Promise.all(payloads.map((n) => queue.enqueue(n)))
}

async function drain(workerId, size) {
  const [ids, payloads] = [[], []]
  let acked = 0
  for (;;) {
    const claimed = await queue.claimBatch(workerId, size)
    if (claimed.length === 0) return { ids, payloads, acked }
    ids.push(...claimed.map((job) => job.id))
    payloads.push(...claimed.map((job) => job.payload))
    if (size < 32) for (const landed of await Promise.all(claimed.map((job) => job.ack()))) acked += Number(landed)
    else acked += await queue.ackBatch(claimed.map((job) => job.id))
  }
}

const sorted = (numbers) => [...numbers].sort((a, b) => a - b)
const sum = (numbers) => numbers.reduce((total, n) => total + n, 0)
