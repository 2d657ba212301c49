import { describe, expect, test } from "vitest"
import { memory, open } from "alkstore-wasm"
import type { ClaimedJob, Lock, Outbox, Queue, Store, Transaction } from "alkstore-wasm"
import { START, claim, follow, gate, must, rejection, start, startQueue, thrown } from "../support.js"
import type { Gate } from "../support.js"

interface Handles {
  store: Store
  queue: Queue<unknown>
  outbox: Outbox<unknown>
  job: ClaimedJob<unknown>
  lock: Lock
}

describe("after close every call is Closed", () => {
  test.each<[what: string, call: (handles: Handles) => Promise<unknown>]>([
    ["tryLock", ({ store }) => store.tryLock("report", "tab", 1000)],
    ["schedule", ({ store }) => store.schedule("report", "@every 1s", "mail", null)],
    ["unschedule", ({ store }) => store.unschedule("report")],
    ["schedules", ({ store }) => store.schedules()],
    ["runSchedules", ({ store }) => store.runSchedules()],
    ["transaction", ({ store }) => store.transaction(() => {})],
    ["enqueue", ({ queue }) => queue.enqueue(null)],
    ["claimOne", ({ queue }) => queue.claimOne("w1")],
    ["claimBatch", ({ queue }) => queue.claimBatch("w1", 2)],
    ["ackBatch", ({ queue }) => queue.ackBatch([1])],
    ["cancel", ({ queue }) => queue.cancel(1)],
    ["get", ({ queue }) => queue.get(1)],
    ["list", ({ queue }) => queue.list()],
    ["stats", ({ queue }) => queue.stats()],
    ["redrive", ({ queue }) => queue.redrive()],
    ["purge", ({ queue }) => queue.purge()],
    ["sweepExpired", ({ queue }) => queue.sweepExpired()],
    ["wait", ({ queue }) => queue.wait()],
    ["an outbox's enqueue", ({ outbox }) => outbox.enqueue(null)],
    ["runOnce", ({ outbox }) => outbox.runOnce("w1", () => {})],
    ["a job's ack", ({ job }) => job.ack()],
    ["a job's retry", ({ job }) => job.retry()],
    ["a job's fail", ({ job }) => job.fail()],
    ["a job's heartbeat", ({ job }) => job.heartbeat(1000)],
    ["a lock's renew", ({ lock }) => lock.renew(1000)],
    ["a lock's release", ({ lock }) => lock.release()],
  ])("%s", async (_, call) => {
    const { store, queue } = await startQueue()
    await queue.enqueue(null)
    const handles = {
      store,
      queue,
      outbox: store.outbox("mail"),
      job: await claim(queue),
      lock: must(await store.tryLock("l", "tab", 1000)),
    }
    await store.close()
    expect(await rejection(() => call(handles))).toMatchObject({ code: "Closed" })
  })

  test("queue() and outbox(), which throw it", async () => {
    const { store } = await start()
    await store.close()
    expect(thrown(() => store.queue("mail")).code).toBe("Closed")
    expect(thrown(() => store.outbox("mail")).code).toBe("Closed")
  })

  test("but closing again, which has nothing to do", async () => {
    const { store } = await start()
    await Promise.all([store.close(), store.close()])
    await store.close()
    await store[Symbol.asyncDispose]()
  })
})

test("what was called before close takes effect", async () => {
  const { store, queue, reopen } = await startQueue()
  const enqueued = queue.enqueue("letter")
  const closed = store.close()
  const id = await enqueued
  await closed
  expect(await (await reopen()).queue("mail").list()).toMatchObject([{ id, payload: "letter" }])
})

test("`await using` closes at the end of its block", async () => {
  let store: Store | undefined
  {
    await using opened = await open()
    store = opened
    await opened.queue("mail").enqueue(null)
  }
  expect(await rejection(() => must(store).schedules())).toMatchObject({ code: "Closed" })
})

describe("close", () => {
  test("lets a running runSchedules resolve, its lock released", async () => {
    const { store, clock, reopen } = await start()
    const runs = [
      follow(store.runSchedules()),
      follow(store.runSchedules(new AbortController().signal, { standby: true })),
    ]
    await clock.settle()
    await store.close()
    await clock.settle()
    for (const run of runs) expect(run).toMatchObject({ state: "resolved", value: undefined })
    expect(clock.pending).toBe(0)
    const other = await reopen()
    const next = follow(other.runSchedules())
    await clock.settle()
    expect(next.state).toBe("waiting")
  })

  test("rolls back a transaction that is open, with Closed", async () => {
    const { store, clock, reopen } = await start()
    const hold = gate()
    let late: unknown
    const open = follow(store.transaction(async (tx: Transaction) => {
      await tx.enqueue("mail", "staged")
      await hold.opened
      late = await tx.enqueue("mail", "late").catch((error: unknown) => error)
    }))
    await clock.settle()
    await store.close()
    hold.open()
    await clock.settle()
    expect(open).toMatchObject({ state: "rejected", error: { code: "Closed" } })
    expect(late).toMatchObject({ code: "Closed" })
    expect(await (await reopen()).queue("mail").list()).toEqual([])
  })

  test.each<[ends: string, end: (hold: Gate<void>) => void]>([
    ["succeeds", (hold) => hold.open()],
    ["fails", (hold) => hold.fail(new Error("boom"))],
  ])("waits for no delivery: its job stays claimed, and runOnce is Closed when it %s", async (_, end) => {
    const { store, clock, reopen } = await start()
    const hold = gate()
    const id = await store.outbox("orders").enqueue(null)
    const run = follow(store.outbox("orders").runOnce("w1", () => hold.opened))
    await clock.settle()
    await store.close()
    expect(run.state).toBe("waiting")
    end(hold)
    await clock.settle()
    expect(run).toMatchObject({ state: "rejected", error: { code: "Closed" } })
    const outbox = (await reopen()).outbox("orders")
    expect(await outbox.get(id)).toMatchObject({ state: "processing", workerId: "w1", attempts: 1 })
    clock.set(START + 60_001)
    expect(await outbox.runOnce("w2", () => {})).toBe(true)
    expect(await outbox.get(id)).toBe(null)
  })

  test("from within a delivery ends like any other", async () => {
    const { store } = await start()
    await store.outbox("orders").enqueue(null)
    expect(await rejection(() => store.outbox("orders").runOnce("w1", () => store.close()))).toMatchObject({
      code: "Closed",
    })
  })

  test("does not release locks", async () => {
    const { store, clock, reopen } = await start()
    await store.tryLock("report", "tab a", 10_000)
    await store.close()
    const other = await reopen()
    expect(await other.tryLock("report", "tab b", 10_000)).toBe(null)
    clock.set(START + 10_000)
    expect(await other.tryLock("report", "tab b", 10_000)).not.toBe(null)
  })

  test("ends every wait with false, and leaves no timer", async () => {
    const { store, queue, clock } = await startQueue()
    await queue.enqueue(null, { delay: "1h" })
    const waits = [
      follow(queue.wait()),
      follow(queue.wait(new AbortController().signal)),
      follow(store.outbox("mail").wait()),
    ]
    await clock.settle()
    await store.close()
    await clock.settle()
    for (const wait of waits) expect(wait).toMatchObject({ state: "resolved", value: false })
    expect(clock.pending).toBe(0)
  })

  test("leaves the other stores of the storage running", async () => {
    const { store, clock, reopen } = await start()
    const other = await reopen()
    const wait = follow(other.queue("mail").wait())
    await clock.settle()
    await store.close()
    await clock.settle()
    expect(wait.state).toBe("waiting")
    await other.queue("mail").enqueue(null)
    await clock.settle()
    expect(wait).toMatchObject({ value: true })
  })
})

describe("an open store", () => {
  test("holds no timer", async () => {
    const { store, queue, clock } = await startQueue()
    await queue.enqueue(null, { delay: "1h", expires: "2h" })
    await queue.enqueue(null)
    await claim(queue)
    await store.tryLock("report", "tab", 1000)
    await store.schedule("report", "@every 1s", "mail", null)
    await clock.settle()
    expect(clock.pending).toBe(0)
  })

  test("shares its state with another on the same adapter, and with no other", async () => {
    const storage = memory()
    const [first, second, apart] = [await open({ storage }), await open({ storage }), await open({ storage: memory() })]
    const [lone, another] = [await open(), await open()]
    const id = await first.queue("mail").enqueue("letter")
    expect(await second.queue("mail").get(id)).toMatchObject({ payload: "letter" })
    expect(await apart.queue("mail").list()).toEqual([])
    await lone.queue("mail").enqueue("alone")
    expect(await another.queue("mail").list()).toEqual([])
    for (const store of [first, second, apart, lone, another]) await store.close()
  })

  test("keeps what is in its adapter for the next one", async () => {
    const { store, queue, reopen } = await startQueue({ maxAttempts: 9 })
    await queue.enqueue("letter")
    await claim(queue)
    await store.schedule("report", "@every 1s", "mail", { to: "a" })
    await store.close()
    const next = await reopen()
    expect(await next.queue("mail").list()).toMatchObject([{ payload: "letter", state: "processing", maxAttempts: 9 }])
    expect(await next.schedules()).toMatchObject([{ name: "report", nextFireAt: START + 1000 }])
  })
})
