// Tabs of one browser on one storage.

import assert from "node:assert/strict"
import { inEachEngine } from "./harness/each.mjs"

const JOBS = 60

inEachEngine(({ test }) => {
  test("a job that one tab enqueues ends the wait of another, which delivers it", async ({ open }) => {
    const [first, second] = [await open("pages/tab"), await open("pages/tab")]
    await second.evaluate(async () => {
      const store = await alkstore.open({ storage: indexeddb.indexedDb("wakes") })
      globalThis.outbox = store.outbox("orders")
      globalThis.waiting = outbox.wait()
    })
    await first.evaluate(async () => {
      globalThis.store = await alkstore.open({ storage: indexeddb.indexedDb("wakes") })
      await store.outbox("orders").enqueue({ order: 7 })
    })
    const delivered = await second.evaluate(async () => {
      const delivered = []
      if (await waiting) await outbox.runOnce("second", (job) => void delivered.push(job.payload))
      return delivered
    })
    assert.deepEqual(delivered, [{ order: 7 }])
    assert.deepEqual(await first.evaluate(() => store.outbox("orders").list()), [])
  })

  test("two tabs drain a queue together: each job is handed out once, none is lost", async ({ open }) => {
    const tabs = [await open("pages/tab"), await open("pages/tab")]
    await tabs[0].evaluate(async (jobs) => {
      const store = await alkstore.open({ storage: indexeddb.indexedDb("drained") })
      await store.transaction(async (tx) => {
        for (let n = 0; n < jobs; n++) await tx.enqueue("mail", n)
      })
    }, JOBS)
    const drain = async (workerId) => {
      const store = await alkstore.open({ storage: indexeddb.indexedDb("drained") })
      const queue = store.queue("mail")
      const got = []
      for (let job = await queue.claimOne(workerId); job !== null; job = await queue.claimOne(workerId)) {
        got.push(job.payload)
        if (!(await job.ack())) throw new Error("the claim was another's")
      }
      return got
    }
    const got = await Promise.all(tabs.map((tab, at) => tab.evaluate(drain, `tab ${at}`)))
    assert.deepEqual(got.flat().sort((a, b) => a - b), Array.from({ length: JOBS }, (_, n) => n))
  })

  test("a tab's failure comes out where it was asked", async ({ open }) => {
    const tab = await open("pages/tab")
    const refused = tab.evaluate(async () => {
      const store = await alkstore.open()
      await store.queue("mail").enqueue(null, { delay: "soon" })
    })
    await assert.rejects(refused, { name: "AlkstoreError", code: "InvalidArgument", message: /delay/ })
    await assert.rejects(tab.evaluate("Promise.reject(7)"), { message: "7" })
    assert.deepEqual(await tab.evaluate((a, b) => ({ a, b }), 1, "two"), { a: 1, b: "two" })
    assert.equal(await tab.evaluate(() => {}), undefined)
  })
})
