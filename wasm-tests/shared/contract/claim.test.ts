import { describe, expect, test } from "vitest"
import type { EnqueueOptions } from "alkstore-wasm"
import { START, claim, fieldsOf, ids, must, payloads, startQueue } from "../support.js"

const AT = START + 1000

describe("a pending job is claimable once it is ready, and until it expires", () => {
  test.each<[options: EnqueueOptions, claimable: boolean]>([
    [{}, true],
    [{ delay: 999 }, true],
    [{ delay: 1000 }, true],
    [{ delay: 1001 }, false],
    [{ runAt: AT }, true],
    [{ runAt: AT + 1 }, false],
    [{ runAt: -1 }, true],
    [{ expires: 1001 }, true],
    [{ expires: 1000 }, false],
    [{ expires: -5 }, false],
    [{ delay: 1001, expires: 2000 }, false],
    [{ maxAttempts: 1 }, true],
    [{ maxAttempts: 0 }, false],
  ])("a second after %o: %s", async (options, claimable) => {
    const { queue, clock } = await startQueue()
    const id = await queue.enqueue(null, options)
    clock.set(AT)
    const job = await queue.claimOne("w1")
    expect(job?.id).toBe(claimable ? id : undefined)
  })
})

test("a claim sets the holder, the instant and the deadline, and counts the attempt", async () => {
  const { queue, clock } = await startQueue({ visibilityTimeout: "30s" })
  const id = await queue.enqueue("letter")
  const before = fieldsOf(must(await queue.get(id)))
  clock.set(AT)
  const job = await claim(queue, "worker 7")
  expect(fieldsOf(job)).toEqual({
    ...before, state: "processing", workerId: "worker 7", claimedAt: AT, claimExpiresAt: AT + 30_000, attempts: 1,
  })
  expect(fieldsOf(must(await queue.get(id)))).toEqual(fieldsOf(job))
})

describe("a claimed job is claimable again once its claim has lapsed", () => {
  test.each<[after: number, claimable: boolean]>([
    [0, false],
    [29_999, false],
    [30_000, false],
    [30_001, true],
    [99_999_999, true],
  ])("%d ms after a claim of 30 s: %s", async (after, claimable) => {
    const { queue, clock } = await startQueue({ visibilityTimeout: "30s" })
    await queue.enqueue(null)
    await claim(queue, "w1")
    clock.set(START + after)
    const again = await queue.claimOne("w2")
    expect(again !== null).toBe(claimable)
    if (claimable)
      expect(again).toMatchObject({
        attempts: 2,
        workerId: "w2",
        claimedAt: START + after,
        claimExpiresAt: START + after + 30_000,
      })
  })

  test("a heartbeat moves that instant", async () => {
    const { queue, clock } = await startQueue({ visibilityTimeout: "30s" })
    await queue.enqueue(null)
    const job = await claim(queue)
    clock.set(START + 10_000)
    await job.heartbeat("60s")
    clock.set(START + 70_000)
    expect(await queue.claimOne("w2")).toBe(null)
    clock.set(START + 70_001)
    expect(await queue.claimOne("w2")).toMatchObject({ attempts: 2 })
  })

  test("one that expired meanwhile is not", async () => {
    const { queue, clock } = await startQueue({ visibilityTimeout: "30s" })
    await queue.enqueue(null, { expires: "31s" })
    await claim(queue)
    clock.set(START + 31_000)
    expect(await queue.claimOne("w2")).toBe(null)
    expect(await queue.list()).toMatchObject([{ state: "processing", workerId: "w1" }])
  })
})

describe("the order is priority, then ready time, then id", () => {
  test("over pending jobs", async () => {
    const { queue, clock } = await startQueue<string>()
    await queue.enqueue("late", { delay: 20 })
    await queue.enqueue("early 1", { delay: 10 })
    await queue.enqueue("early 2", { delay: 10 })
    await queue.enqueue("urgent but last", { delay: 30, priority: 5 })
    await queue.enqueue("urgent", { delay: 29, priority: 5 })
    await queue.enqueue("least", { delay: -1000, priority: -1 })
    await queue.enqueue("not yet", { delay: 2000, priority: 9 })
    clock.set(AT)
    expect(payloads(await queue.claimBatch("w1", 10))).toEqual([
      "urgent",
      "urgent but last",
      "early 1",
      "early 2",
      "late",
      "least",
    ])
  })

  test("a lapsed claim keeps its place by its own ready time and id", async () => {
    const { queue, clock } = await startQueue<string>({ visibilityTimeout: 100 })
    await queue.enqueue("first")
    await queue.enqueue("second")
    await claim(queue)
    clock.set(AT)
    await queue.enqueue("third")
    await queue.enqueue("urgent", { priority: 1 })
    expect(payloads(await queue.claimBatch("w2", 9))).toEqual(["urgent", "first", "second", "third"])
  })

  test("a retried job goes by its new ready time", async () => {
    const { queue } = await startQueue<string>()
    await queue.enqueue("retried")
    await queue.enqueue("second")
    await (await claim(queue)).retry(null, 0)
    await queue.enqueue("third", { delay: -1 })
    expect(payloads(await queue.claimBatch("w1", 9))).toEqual(["third", "retried", "second"])
  })

  test("delayed jobs of high priority hide none of the ready ones", async () => {
    const { queue } = await startQueue<number>()
    for (let i = 0; i < 200; i++) await queue.enqueue(i, { priority: i % 7, delay: i % 2 ? 0 : "1h" })
    const claimed = await queue.claimBatch("w1", 200)
    expect(claimed).toHaveLength(100)
    expect(claimed.map((job) => job.priority)).toEqual(claimed.map((job) => job.priority).sort((a, b) => b - a))
  })
})

describe("a batch", () => {
  test("hands out up to n, the first ones", async () => {
    const { queue } = await startQueue()
    const given = [await queue.enqueue(1), await queue.enqueue(2), await queue.enqueue(3)]
    expect(ids(await queue.claimBatch("w1", 2))).toEqual(given.slice(0, 2))
    expect(ids(await queue.claimBatch("w1", 2))).toEqual(given.slice(2))
    expect(await queue.claimBatch("w1", 2)).toEqual([])
  })

  test("hands out jobs that settle one by one", async () => {
    const { queue } = await startQueue()
    for (let i = 0; i < 3; i++) await queue.enqueue(i)
    const [first, second, third] = await queue.claimBatch("w1", 3)
    expect(await must(first).ack()).toBe(true)
    expect(await must(second).fail()).toBe(true)
    expect(await must(third).retry(null, 0)).toBe(true)
    expect(await queue.stats()).toMatchObject({ pending: 1, processing: 0, dead: 1 })
  })

  test.each([0, -1, 0.9])("of %d touches nothing, not even what has no attempts left", async (n) => {
    const { queue } = await startQueue({ maxAttempts: 0 })
    await queue.enqueue(null)
    expect(await queue.claimBatch("w1", n)).toEqual([])
    expect(await queue.list()).toMatchObject([{ state: "pending" }])
  })
})

test("each job goes to one claimant only, however many ask at once", async () => {
  const { queue, reopen } = await startQueue<number>()
  const other = (await reopen()).queue<number>("mail")
  for (let i = 0; i < 60; i++) await queue.enqueue(i)
  const claims = await Promise.all(
    Array.from({ length: 30 }, (_, i) => (i % 2 ? queue : other).claimBatch(`w${i}`, 3)),
  )
  const handed = claims.flat().map((job) => job.id)
  expect(handed).toHaveLength(60)
  expect(new Set(handed).size).toBe(60)
})

test("a queue hands out its own jobs only", async () => {
  const { store, queue } = await startQueue()
  await store.queue("other").enqueue(null)
  await store.outbox("mail").enqueue(null)
  expect(await queue.claimBatch("w1", 9)).toEqual([])
})

describe("jobs without attempts left die at a claim", () => {
  test("all of the queue that would be claimable, whatever n", async () => {
    const { queue, clock } = await startQueue<string>({ visibilityTimeout: 100, maxAttempts: 1 })
    await queue.enqueue("lapsed 1")
    await queue.enqueue("lapsed 2")
    await queue.enqueue("never tried", { maxAttempts: 0, priority: -5 })
    await queue.claimBatch("w1", 2)
    clock.set(START + 500)
    await queue.enqueue("held")
    await claim(queue)
    expect(await queue.claimOne("w2")).toBe(null)
    expect((await queue.list()).map((job) => [job.payload, job.state, job.lastError])).toEqual([
      ["lapsed 1", "dead", "max attempts exceeded"],
      ["lapsed 2", "dead", "max attempts exceeded"],
      ["never tried", "dead", "max attempts exceeded"],
      ["held", "processing", null],
    ])
  })

  test("keeping their fields, but for the holder and the deadline", async () => {
    const { queue, clock } = await startQueue({ visibilityTimeout: 100, maxAttempts: 1 })
    await queue.enqueue(null)
    const job = await claim(queue)
    clock.set(AT)
    await queue.claimOne("w2")
    expect(fieldsOf(must(await queue.get(job.id)))).toEqual({
      ...fieldsOf(job), state: "dead", workerId: null, claimExpiresAt: null, lastError: "max attempts exceeded",
      diedAt: AT,
    })
  })

  test("but not those that are not due, that expired, or that belong to another queue", async () => {
    const { store, queue, clock } = await startQueue<string>({ maxAttempts: 0 })
    await queue.enqueue("delayed", { delay: 2000 })
    await queue.enqueue("expired", { expires: 10 })
    await store.queue("other", { maxAttempts: 0 }).enqueue("other")
    await store.outbox("mail").enqueue("outbox", { maxAttempts: 0 })
    clock.set(AT)
    expect(await queue.claimBatch("w1", 5)).toEqual([])
    for (const source of [queue, store.queue("other"), store.outbox("mail")]) {
      for (const job of await source.list()) expect(job).toMatchObject({ state: "pending" })
    }
  })

  test("and do not use up the number asked for", async () => {
    const { queue } = await startQueue<string>()
    await queue.enqueue("hopeless", { maxAttempts: 0, priority: 9 })
    await queue.enqueue("good")
    expect(await queue.claimOne("w1")).toMatchObject({ payload: "good" })
  })
})

test("an expired job is left to the sweep: a claim neither hands it out nor buries it", async () => {
  const { queue, clock } = await startQueue()
  const id = await queue.enqueue(null, { expires: 1000, maxAttempts: 0 })
  clock.set(AT)
  expect(await queue.claimOne("w1")).toBe(null)
  expect(await queue.get(id)).toMatchObject({ state: "pending", lastError: null })
})
