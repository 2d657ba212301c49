// What must hold under any fake timers, each with its default settings: a store opened with the default clock is driven
// by them, and operations settle although `queueMicrotask` may be faked.

const assert = require("node:assert/strict")

/** Each fact is a function of `{ open, advance }`; `advance(ms)` lets fake time pass and started work settle. */
exports.facts = {
  "operations settle": async ({ open }) => {
    const store = await open()
    const queue = store.queue("mail")
    const id = await queue.enqueue({ n: 1 })
    const job = await queue.claimOne("w")
    assert.equal(job.id, id)
    assert.equal(job.claimedAt, Date.now())
    assert.equal(await job.ack(), true)
    assert.deepEqual(await queue.list(), [])
    await store.transaction(async (tx) => {
      await tx.enqueue("mail", "in a transaction")
    })
    assert.equal((await queue.stats()).ready, 1)
    await store.close()
  },

  "a delayed job becomes claimable, and ends a wait": async ({ open, advance }) => {
    const store = await open()
    const outbox = store.outbox("hooks")
    await outbox.enqueue("later", { delay: "10s" })
    let ready = null
    const waiting = outbox.wait().then((value) => (ready = value))
    await advance(9_999)
    assert.equal(ready, null)
    await advance(1)
    assert.equal(ready, true)
    await waiting
    const delivered = []
    assert.equal(await outbox.runOnce("w", (job) => delivered.push(job.payload)), true)
    assert.deepEqual(delivered, ["later"])
    await store.close()
  },

  "a failed delivery comes again after its backoff": async ({ open, advance }) => {
    const store = await open()
    const outbox = store.outbox("hooks")
    await outbox.enqueue("flaky")
    assert.equal(await outbox.runOnce("w", () => Promise.reject(new Error("503"))), true)
    assert.equal(await outbox.runOnce("w", () => assert.fail("too early")), false)
    const waiting = outbox.wait()
    await advance(5_000)
    assert.equal(await waiting, true)
    let attempts = 0
    assert.equal(await outbox.runOnce("w", (job) => void (attempts = job.attempts)), true)
    assert.equal(attempts, 2)
    await store.close()
  },

  "a wait longer than a timer's longest sleep ends on time": async ({ open, advance }) => {
    const store = await open()
    const queue = store.queue("mail")
    await queue.enqueue("next month", { delay: 10 * 60_000 })
    let ready = null
    const waiting = queue.wait().then((value) => (ready = value))
    for (let minute = 0; minute < 9; minute++) await advance(60_000)
    assert.equal(ready, null)
    await advance(60_000)
    assert.equal(await waiting, true)
    await store.close()
  },

  "a schedule fires at each boundary, and stops with its signal": async ({ open, advance }) => {
    const store = await open()
    await store.schedule("tick", "@every 1s", "ticks", "tick")
    const stop = new AbortController()
    const running = store.runSchedules(stop.signal)
    for (let second = 1; second <= 5; second++) {
      await advance(1_000)
      assert.equal((await store.queue("ticks").stats()).pending, second)
    }
    stop.abort()
    await running
    await advance(5_000)
    assert.equal((await store.queue("ticks").stats()).pending, 5)
    await store.close()
  },

  "closing ends what waits": async ({ open }) => {
    const store = await open()
    const waiting = store.queue("mail").wait()
    const running = store.runSchedules()
    await store.close()
    assert.equal(await waiting, false)
    await running
  }
}
