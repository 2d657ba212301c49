import { describe, expect, test } from "vitest"
import { open } from "alkstore-wasm"
import type { EnqueueOptions } from "alkstore-wasm"
import { JOB_FIELDS, MAX, START, claim, fieldsOf, must, start, startQueue } from "../support.js"

test("a fresh job has these values, and null for what is absent", async () => {
  const { queue } = await startQueue()
  const id = await queue.enqueue({ to: "a" })
  const job = must(await queue.get(id))
  expect(fieldsOf(job)).toEqual({
    id, queue: "mail", state: "pending", payload: { to: "a" }, priority: 0, runAt: START, attempts: 0, maxAttempts: 3,
    workerId: null, claimedAt: null, claimExpiresAt: null, createdAt: START, expiresAt: null,
    visibilityTimeout: 300_000, backoffBase: 5000, deadLetterRetention: null, lastError: null, diedAt: null,
  })
})

describe("the ready time", () => {
  test.each<[options: EnqueueOptions, runAt: number]>([
    [{}, START],
    [{ delay: 10 }, START + 10],
    [{ runAt: START + 20 }, START + 20],
    [{ runAt: 20 }, 20],
    [{ delay: 10, runAt: START + 20 }, START + 10],
    [{ delay: 0, runAt: START + 20 }, START],
    [{ delay: -10, runAt: START + 20 }, START - 10],
  ])("of %o is %d", async (options, runAt) => {
    const { queue } = await startQueue()
    expect(await queue.get(await queue.enqueue(null, options))).toMatchObject({ runAt, createdAt: START })
  })

  test.each<[where: string]>([["an outbox"], ["a transaction"], ["an outbox in a transaction"]])(
    "follows the same rule in %s",
    async (where) => {
      const { store } = await start()
      const options = { delay: 10, runAt: START + 20, expires: 30, priority: 4, maxAttempts: 2 }
      if (where === "an outbox") await store.outbox("mail").enqueue(null, options)
      else if (where === "a transaction") await store.transaction((tx) => tx.enqueue("mail", null, options))
      else await store.transaction((tx) => tx.outboxEnqueue("mail", null, options))
      const source = where === "a transaction" ? store.queue("mail") : store.outbox("mail")
      expect(await source.list()).toMatchObject([
        { runAt: START + 10, expiresAt: START + 30, priority: 4, maxAttempts: 2, createdAt: START },
      ])
    },
  )
})

test("expires counts from the enqueue, not from the ready time", async () => {
  const { queue } = await startQueue()
  expect(await queue.get(await queue.enqueue(null, { delay: 100, expires: 30 }))).toMatchObject({
    runAt: START + 100,
    expiresAt: START + 30,
  })
})

test("one call reads the clock once", async () => {
  let now = START
  const store = await open({ clock: { now: () => now++, sleep: () => Promise.resolve() } })
  const queue = store.queue("mail")
  for (let i = 0; i < 20; i++) {
    const job = must(await queue.get(await queue.enqueue(i, { delay: 1000, expires: 2000 })))
    expect(job.runAt - job.createdAt).toBe(1000)
    expect(must(job.expiresAt) - job.createdAt).toBe(2000)
  }
  for (let i = 0; i < 20; i++) await store.queue("batch").enqueue(i)
  const claimed = await store.queue("batch").claimBatch("w1", 20)
  expect(claimed).toHaveLength(20)
  expect(new Set(claimed.map((job) => job.claimedAt)).size).toBe(1)
  expect(new Set(claimed.map((job) => job.claimExpiresAt)).size).toBe(1)
  await store.close()
})

describe("ids", () => {
  test("are positive integers that grow with every enqueue, over all queues, outboxes and transactions", async () => {
    const { store } = await start()
    const given = [
      await store.queue("mail").enqueue(null),
      await store.outbox("mail").enqueue(null),
      await store.transaction((tx) => tx.enqueue("other", null)),
      await store.transaction((tx) => tx.outboxEnqueue("other", null)),
      ...(await Promise.all([1, 2, 3].map(() => store.queue("mail").enqueue(null)))),
      await store.queue("other").enqueue(null),
    ]
    expect(given.every((id) => Number.isSafeInteger(id) && id > 0)).toBe(true)
    expect(given).toEqual([...given].sort((a, b) => a - b))
    expect(new Set(given).size).toBe(given.length)
  })

  test("are never reused: not after an ack, a cancel, a purge or a sweep", async () => {
    const { store, queue } = await startQueue()
    let last = 0
    const next = async (): Promise<number> => {
      const id = await queue.enqueue(null, { expires: 1000 })
      expect(id).toBeGreaterThan(last)
      return (last = id)
    }
    await next()
    await (await claim(queue)).ack()
    await queue.cancel(await next())
    await next()
    await (await claim(queue)).fail()
    await queue.purge()
    await store.queue("mail", { deadLetterRetention: -1 }).enqueue(null, { expires: -1 })
    await queue.sweepExpired()
    await next()
  })

  test("go on growing for the next store on the same storage", async () => {
    const { store, queue, reopen } = await startQueue()
    const first = await queue.enqueue(null)
    await queue.cancel(first)
    const other = await reopen()
    const second = await other.queue("mail").enqueue(null)
    expect(second).toBeGreaterThan(first)
    expect(await store.queue("mail").enqueue(null)).toBeGreaterThan(second)
  })
})

describe("the payload", () => {
  test("is copied in: changing the object afterwards changes nothing", async () => {
    const { store, queue } = await startQueue<{ to: string[] }>()
    const payload = { to: ["a"] }
    const pending = queue.enqueue(payload)
    payload.to.push("b")
    const id = await pending
    payload.to.push("c")
    expect(await queue.get(id)).toMatchObject({ payload: { to: ["a"] } })
    const staged = store.transaction(async (tx) => {
      const inside = tx.enqueue("mail", payload)
      payload.to.push("d")
      return inside
    })
    expect(await queue.get(await staged)).toMatchObject({ payload: { to: ["a", "b", "c"] } })
  })

  test("is copied out: every hand-out and read gets a fresh one", async () => {
    const { queue } = await startQueue<{ to: string[] }>()
    const id = await queue.enqueue({ to: ["a"] })
    must(await queue.get(id)).payload.to.push("get")
    must((await queue.list())[0]).payload.to.push("list")
    const job = await claim(queue)
    expect(job.payload).toEqual({ to: ["a"] })
    job.payload.to.push("claim")
    await job.retry("again", 0)
    expect((await claim(queue)).payload).toEqual({ to: ["a"] })
  })

  test.each([undefined, null, 0, -0, "", false, NaN, Infinity, 10n ** 30n, "\ud800"])(
    "%s is a payload like any other",
    async (payload) => {
      const { queue } = await startQueue()
      const id = await queue.enqueue(payload)
      expect(must(await queue.get(id)).payload).toBe(payload)
      expect((await claim(queue)).payload).toBe(payload)
    },
  )
})

test("a job shows all its fields as own properties, wherever it comes from", async () => {
  const { store, queue } = await startQueue()
  await queue.enqueue(null, { priority: MAX })
  const [listed] = await queue.list()
  const claimed = await claim(queue)
  const got = await queue.get(claimed.id)
  let delivered: object = {}
  await store.outbox("mail").enqueue(null)
  await store.outbox("mail").runOnce("w1", (job) => void (delivered = job))
  for (const job of [listed, claimed, got, delivered]) {
    expect(Object.keys(must(job))).toEqual(expect.arrayContaining([...JOB_FIELDS]))
  }
})
