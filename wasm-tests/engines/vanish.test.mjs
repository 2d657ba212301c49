// Contexts that go away in mid-delivery.

import assert from "node:assert/strict"
import { inEachEngine } from "./harness/each.mjs"
import { stopServices, waysIn, withTabs } from "./harness/vanish.mjs"
import { startWorker } from "./harness/workers.mjs"

const LEASE_MS = 1_000

inEachEngine(({ engine, test }) => {
  for (const [how, way] of Object.entries(waysIn(engine))) {
    test(`the job of a tab that is ${how} in mid-delivery goes to another when its lease ends`, (context) =>
      withTabs(way, context, async (open) => {
        const [holder, other] = [await open("pages/tab"), await open("pages/tab")]
        await holder.evaluate(noteLifecycle)
        const vanish = () => way.vanish(holder)
        const finish = await redelivered({ name: `held by a tab that is ${how}`, holder, other, vanish })
        if (way.thaw) {
          await way.thaw(holder)
          assert.deepEqual(await holder.evaluate("lifecycle"), ["freeze", "resume"])
          const refused = { ack: false, retry: false, fail: false, heartbeat: false, delivered: true }
          assert.deepEqual(await holder.evaluate(settleLate), refused, "a late holder changes nothing")
        }
        await finish()
      })
    )
  }

  test("the job of a tab that is closed goes to a service worker", async ({ open }) => {
    const [holder, tab] = [await open("pages/tab"), await open("pages/tab")]
    const other = await startWorker("service", tab)
    const vanish = () => holder.close()
    const finish = await redelivered({ name: "waited for by a service worker", holder, other, vanish })
    await finish()
  })

  // The others cannot be told to.
  if (engine.name !== "chromium") return

  test("the job of a service worker that is stopped in mid-delivery goes to a tab", async ({ open }) => {
    const other = await open("pages/tab")
    const holder = await startWorker("service", other)
    const stop = async () => {
      await stopServices(other)
      assert.equal(await holder.evaluate("typeof job"), "undefined", "the worker is another one now")
    }
    const finish = await redelivered({ name: "held by a service worker", holder, other, vanish: stop })
    await finish()
  })
})

/**
 * `holder` begins a delivery and vanishes; `other`, which waits, is handed the job out when the lease has ended.
 * Resolves to a function that lets `other` finish.
 */
async function redelivered({ name, holder, other, vanish }) {
  const held = await holder.evaluate(enqueueAndDeliver, name, LEASE_MS)
  assert.deepEqual([held.attempts, held.workerId], [1, "holder"])
  const row = await other.evaluate(beginWait, name)
  assert.deepEqual([row.state, row.workerId], ["processing", "holder"])
  await vanish()
  const again = await other.evaluate(deliverAfterWait)
  assert.deepEqual([again.id, again.attempts, again.workerId], [held.id, 2, "other"])
  assert.ok(again.claimedAt > row.claimExpiresAt, "not before the lease has ended")
  return async () => {
    assert.deepEqual(await other.evaluate(finishDelivery), { delivered: true, left: [] })
  }
}

// From here on: what is evaluated in contexts.

function noteLifecycle() {
  globalThis.lifecycle = []
  for (const type of ["freeze", "resume"]) document.addEventListener(type, () => lifecycle.push(type))
}

/** Resolves to the job when its delivery is under way, which goes on until `finish` is called. */
async function enqueueAndDeliver(name, leaseMs) {
  const store = await alkstore.open({ storage: indexeddb.indexedDb(name) })
  const outbox = store.outbox("orders")
  await outbox.enqueue({ order: 7 })
  return new Promise((resolve) => {
    globalThis.delivering = outbox.runOnce("holder", async (claimed) => {
      globalThis.job = claimed
      const finished = new Promise((finish) => (globalThis.finish = finish))
      // The outbox's own lease would be a minute.
      await claimed.heartbeat(leaseMs)
      const { id, attempts, workerId } = claimed
      resolve({ id, attempts, workerId })
      await finished
    })
  })
}

/** Begins to wait; resolves to the job as it is then. */
async function beginWait(name) {
  const store = await alkstore.open({ storage: indexeddb.indexedDb(name) })
  globalThis.outbox = store.outbox("orders")
  globalThis.waiting = outbox.wait()
  return (await outbox.list())[0]
}

/** Resolves to the job, like `enqueueAndDeliver`, when it is handed out. */
async function deliverAfterWait() {
  if (!(await waiting)) throw new Error("nothing came")
  return new Promise((resolve, reject) => {
    globalThis.delivering = outbox.runOnce("other", (claimed) => {
      const { id, attempts, workerId, claimedAt } = claimed
      resolve({ id, attempts, workerId, claimedAt })
      return new Promise((finish) => (globalThis.finish = finish))
    })
    delivering.then((was) => was || reject(new Error("there was no job")), reject)
  })
}

async function settleLate() {
  const settled = {
    ack: await job.ack(),
    retry: await job.retry("late"),
    fail: await job.fail("late"),
    heartbeat: await job.heartbeat("1m")
  }
  finish()
  return { ...settled, delivered: await delivering }
}

async function finishDelivery() {
  finish()
  return { delivered: await delivering, left: await outbox.list() }
}
