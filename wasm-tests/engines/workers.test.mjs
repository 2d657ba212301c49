// Every kind of context is the equal of a page.

import assert from "node:assert/strict"
import { inEachEngine } from "./harness/each.mjs"
import { startWorker } from "./harness/workers.mjs"

const KINDS = ["dedicated", "shared", "service"]

inEachEngine(({ test }) => {
  test("a tab and a dedicated, a shared and a service worker: each enqueues, wakes and delivers", async ({ open }) => {
    const tab = await open("pages/tab")
    const contexts = [["tab", tab]]
    for (const kind of KINDS) contexts.push([kind, await startWorker(kind, tab)])

    // Each waits for its own outbox, and enqueues for all others.
    for (const [name, context] of contexts) await context.evaluate(beginWait, name)
    const others = contexts.length - 1
    const names = contexts.map(([name]) => name)
    for (const [name, context] of contexts) {
      await context.evaluate(enqueueFor, name, names.filter((other) => other !== name))
    }
    for (const [name, context] of contexts) {
      const delivered = await context.evaluate(deliver, name, others)
      assert.deepEqual(delivered.sort(), names.filter((other) => other !== name).sort(), name)
    }
    for (const [name, context] of contexts) {
      assert.equal(await context.evaluate(() => store.durability()), await tab.evaluate(() => store.durability()), name)
    }
  })
})

// From here on: what is evaluated in contexts.

async function beginWait(name) {
  globalThis.store = await alkstore.open({ storage: indexeddb.indexedDb("every context") })
  globalThis.outbox = store.outbox(name)
  globalThis.waiting = outbox.wait()
  await outbox.stats()
}

/** In one transaction. */
async function enqueueFor(name, others) {
  await store.transaction(async (tx) => {
    for (const other of others) await tx.outboxEnqueue(other, name)
  })
}

/** Delivers so many; resolves to their payloads. */
async function deliver(name, count) {
  const delivered = []
  if (!(await waiting)) throw new Error("nothing came")
  while (delivered.length < count) {
    if (await outbox.wait()) await outbox.runOnce(name, (job) => void delivered.push(job.payload))
  }
  if ((await outbox.list()).length > 0) throw new Error("something is left")
  return delivered
}
