import { describe, expect, test } from "vitest"
import { START, claim, fieldsOf, must, start, startQueue } from "../support.js"

describe("a sweep moves what has expired to dead", () => {
  test.each<[expires: number, after: number, swept: number]>([
    [1000, 999, 0],
    [1000, 1000, 1],
    [1000, 5000, 1],
    [0, 0, 1],
    [-1, 0, 1],
  ])("expires %d, %d ms on: %d", async (expires, after, swept) => {
    const { queue, clock } = await startQueue()
    const id = await queue.enqueue(null, { expires })
    clock.set(START + after)
    expect(await queue.sweepExpired()).toBe(swept)
    if (swept) expect(await queue.get(id)).toMatchObject({ state: "dead", lastError: "expired", diedAt: START + after })
    else expect(await queue.get(id)).toMatchObject({ state: "pending", lastError: null, diedAt: null })
  })

  test("pending ones keep their fields", async () => {
    const { queue } = await startQueue()
    const id = await queue.enqueue("letter", { expires: -5, delay: "1h", priority: 2 })
    const before = must(await queue.get(id))
    await queue.sweepExpired()
    expect(fieldsOf(must(await queue.get(id)))).toEqual({
      ...fieldsOf(before),
      state: "dead",
      lastError: "expired",
      diedAt: START,
    })
  })

  test("processing ones lose the holder and the deadline, and the holder's ack answers false", async () => {
    const { queue, clock } = await startQueue()
    await queue.enqueue(null, { expires: 1000 })
    const job = await claim(queue)
    clock.set(START + 1000)
    expect(await queue.sweepExpired()).toBe(1)
    expect(fieldsOf(must(await queue.get(job.id)))).toEqual({
      ...fieldsOf(job), state: "dead", workerId: null, claimExpiresAt: null, lastError: "expired", diedAt: START + 1000,
    })
    expect(await job.ack()).toBe(false)
  })

  test("exhausted ones too", async () => {
    const { queue } = await startQueue()
    await queue.enqueue(null, { expires: -1, maxAttempts: 0 })
    expect(await queue.sweepExpired()).toBe(1)
    expect(await queue.list()).toMatchObject([{ lastError: "expired" }])
  })

  test("dead ones stay as they are", async () => {
    const { queue, clock } = await startQueue()
    await queue.enqueue(null, { expires: 1000 })
    const job = await claim(queue)
    await job.fail("no such user")
    clock.set(START + 5000)
    expect(await queue.sweepExpired()).toBe(0)
    expect(await queue.get(job.id)).toMatchObject({ lastError: "no such user", diedAt: START })
  })
})

describe("a sweep deletes dead jobs past their retention", () => {
  test.each<[retention: number | null, after: number, deleted: number]>([
    [1000, 999, 0], [1000, 1000, 1], [1000, 5000, 1], [0, 0, 1], [-1, 0, 1], [null, 1e12, 0],
  ])("of %s ms, %d ms after the death: %d", async (deadLetterRetention, after, deleted) => {
    const { queue, clock } = await startQueue({ deadLetterRetention })
    await queue.enqueue(null)
    await (await claim(queue)).fail()
    clock.set(START + after)
    expect(await queue.sweepExpired()).toBe(deleted)
    expect(await queue.list()).toHaveLength(1 - deleted)
  })

  test("counting from the death, not from the enqueue", async () => {
    const { queue, clock } = await startQueue({ deadLetterRetention: 1000 })
    await queue.enqueue(null)
    clock.set(START + 5000)
    await (await claim(queue)).fail()
    expect(await queue.sweepExpired()).toBe(0)
    clock.set(START + 6000)
    expect(await queue.sweepExpired()).toBe(1)
  })
})

test("what is moved and at once deleted counts twice", async () => {
  const { queue } = await startQueue({ deadLetterRetention: 0 })
  await queue.enqueue("gone", { expires: -1 })
  await queue.enqueue("stays")
  expect(await queue.sweepExpired()).toBe(2)
  expect(await queue.list()).toMatchObject([{ payload: "stays" }])
})

test("one sweep takes all there is, moved and deleted", async () => {
  const { queue, clock } = await startQueue<number>({ deadLetterRetention: 1000 })
  for (let i = 0; i < 150; i++) await queue.enqueue(i)
  for (const job of await queue.claimBatch("w1", 150)) await job.fail()
  clock.set(START + 1000)
  for (let i = 0; i < 150; i++) await queue.enqueue(i, { expires: 0 })
  expect(await queue.sweepExpired()).toBe(300)
  expect(await queue.stats()).toMatchObject({ pending: 0, dead: 150 })
  expect(await queue.sweepExpired()).toBe(0)
})

test("a sweep keeps to its own queue", async () => {
  const { store } = await start()
  await store.queue("mail").enqueue(null, { expires: -1 })
  await store.outbox("mail").enqueue(null, { expires: -1 })
  expect(await store.queue("other").sweepExpired()).toBe(0)
  expect(await store.outbox("mail").sweepExpired()).toBe(1)
  expect(await store.queue("mail").list()).toMatchObject([{ state: "pending" }])
  expect(await store.outbox("mail").list()).toMatchObject([{ state: "dead", lastError: "expired" }])
})

test("it needs no leader, and works beside one", async () => {
  const { store, queue, clock } = await startQueue()
  await queue.enqueue(null, { expires: -1 })
  const stop = new AbortController()
  const run = store.runSchedules(stop.signal)
  await clock.settle()
  expect(await queue.sweepExpired()).toBe(1)
  stop.abort()
  await run
})

test("nothing else sweeps: expired jobs and aged dead ones stay until asked for", async () => {
  const { store, queue, clock } = await startQueue({ deadLetterRetention: 0 })
  await queue.enqueue("expired", { expires: 10 })
  await queue.enqueue("dead", { priority: 1 })
  await (await claim(queue)).fail()
  const stop = new AbortController()
  const run = store.runSchedules(stop.signal)
  await clock.advance("1m")
  await queue.claimBatch("w1", 5)
  await queue.stats()
  stop.abort()
  await run
  expect((await queue.list()).map((job) => [job.payload, job.state])).toEqual([
    ["expired", "pending"],
    ["dead", "dead"],
  ])
})
