import { describe, expect, test } from "vitest"
import type { Stats } from "../support.js"
import { MINUTE, START, claim, fieldsOf, follow, ids, must, payloads, start, startQueue } from "../support.js"

describe("get", () => {
  test("reads a job of this queue in any state", async () => {
    const { queue } = await startQueue()
    const id = await queue.enqueue(null)
    expect(await queue.get(id)).toMatchObject({ id, state: "pending" })
    const job = await claim(queue)
    expect(await queue.get(id)).toMatchObject({ id, state: "processing" })
    await job.fail()
    expect(await queue.get(id)).toMatchObject({ id, state: "dead" })
  })

  test("does not read another queue's job", async () => {
    const { store, queue } = await startQueue()
    const id = await queue.enqueue(null)
    expect(await store.queue("other").get(id)).toBe(null)
    expect(await store.outbox("mail").get(id)).toBe(null)
  })
})

describe("list", () => {
  test("goes by id, whatever the claim order, and shows what get shows", async () => {
    const { queue } = await startQueue()
    const given = [
      await queue.enqueue(1, { priority: -1 }),
      await queue.enqueue(2, { priority: 9 }),
      await queue.enqueue(3, { delay: -9 }),
    ]
    await claim(queue)
    const listed = await queue.list()
    expect(ids(listed)).toEqual(given)
    for (const job of listed) expect(fieldsOf(job)).toEqual(fieldsOf(must(await queue.get(job.id))))
  })

  test("has a limit, 100 unless told, and goes on after an id, exclusive", async () => {
    const { queue } = await startQueue()
    const given: number[] = []
    for (let i = 0; i < 250; i++) given.push(await queue.enqueue(i))
    expect(ids(await queue.list())).toEqual(given.slice(0, 100))
    expect(ids(await queue.list({ after: must(given[99]) }))).toEqual(given.slice(100, 200))
    expect(ids(await queue.list({ after: must(given[199]) }))).toEqual(given.slice(200))
    expect(await queue.list({ after: must(given[249]) })).toEqual([])
    expect(ids(await queue.list({ limit: 3, after: must(given[4]) }))).toEqual(given.slice(5, 8))
    expect(ids(await queue.list({ limit: 1e9 }))).toEqual(given)
    expect(ids(await queue.list({ after: -5, limit: 1 }))).toEqual(given.slice(0, 1))
  })

  test("can be kept to one state, within limit and after", async () => {
    const { queue } = await startQueue<number>()
    for (let i = 0; i < 9; i++) await queue.enqueue(i)
    const claimed = await queue.claimBatch("w1", 6)
    for (const job of claimed.slice(0, 3)) await job.fail()
    expect(payloads(await queue.list({ state: "dead" }))).toEqual([0, 1, 2])
    expect(payloads(await queue.list({ state: "processing" }))).toEqual([3, 4, 5])
    expect(payloads(await queue.list({ state: "pending" }))).toEqual([6, 7, 8])
    expect(payloads(await queue.list({ state: "pending", limit: 1, after: must(claimed[5]).id + 1 }))).toEqual([7])
  })
})

describe("stats", () => {
  const NONE: Stats = { pending: 0, ready: 0, processing: 0, dead: 0, nextDeadline: null }

  test("follow a job through its life", async () => {
    const { queue, clock } = await startQueue({ visibilityTimeout: 1000 })
    expect(await queue.stats()).toEqual(NONE)
    await queue.enqueue(null, { delay: 500 })
    expect(await queue.stats()).toEqual({ ...NONE, pending: 1, nextDeadline: START + 500 })
    clock.set(START + 500)
    expect(await queue.stats()).toEqual({ ...NONE, pending: 1, ready: 1, nextDeadline: START + 500 })
    clock.set(START + 600)
    expect(await queue.stats()).toEqual({ ...NONE, pending: 1, ready: 1, nextDeadline: START + 600 })
    const job = await claim(queue)
    expect(await queue.stats()).toEqual({ ...NONE, processing: 1, nextDeadline: START + 1601 })
    clock.set(START + 1601)
    expect(await queue.stats()).toEqual({ ...NONE, processing: 1, ready: 1, nextDeadline: START + 1601 })
    clock.set(START + 1600)
    await job.retry(null, 400)
    expect(await queue.stats()).toEqual({ ...NONE, pending: 1, nextDeadline: START + 2000 })
    clock.set(START + 2000)
    await (await claim(queue)).fail()
    expect(await queue.stats()).toEqual({ ...NONE, dead: 1 })
  })

  test("do not call ready what can never be claimed again: expired, or without attempts left", async () => {
    const { queue } = await startQueue()
    await queue.enqueue("last attempt", { maxAttempts: 1 })
    await claim(queue)
    await queue.enqueue("expired", { expires: 0 })
    await queue.enqueue("expires before it is ready", { delay: 2000, expires: 1000 })
    await queue.enqueue("exhausted", { maxAttempts: 0 })
    expect(await queue.stats()).toEqual({ ...NONE, pending: 3, processing: 1, nextDeadline: null })
  })

  test("name the earliest of many deadlines", async () => {
    const { queue, clock } = await startQueue({ visibilityTimeout: 700 })
    await queue.enqueue(null, { delay: 1100 })
    await queue.enqueue(null, { delay: 300 })
    const middle = await queue.enqueue(null, { delay: 800 })
    expect(await queue.stats()).toMatchObject({ nextDeadline: START + 300 })
    clock.set(START + 300)
    await claim(queue)
    expect(await queue.stats()).toMatchObject({ nextDeadline: START + 800 })
    await queue.cancel(middle)
    expect(await queue.stats()).toMatchObject({ nextDeadline: START + 1001 })
  })

  test("keep to their queue, outboxes included", async () => {
    const { store } = await start()
    await store.queue("mail").enqueue(null)
    await store.outbox("mail").enqueue(null)
    await store.outbox("mail").enqueue(null)
    expect(await store.queue("mail").stats()).toEqual({ ...NONE, pending: 1, ready: 1, nextDeadline: START })
    expect(await store.outbox("mail").stats()).toEqual({ ...NONE, pending: 2, ready: 2, nextDeadline: START })
    expect(await store.queue("other").stats()).toEqual(NONE)
  })
})

describe("wait", () => {
  test("resolves at once where a job is claimable, a lapsed one included", async () => {
    const { queue, clock } = await startQueue({ visibilityTimeout: 1000 })
    await queue.enqueue(null)
    expect(await queue.wait()).toBe(true)
    await claim(queue)
    clock.set(START + 1001)
    expect(await queue.wait()).toBe(true)
  })

  test("waits for an enqueue", async () => {
    const { queue, clock } = await startQueue()
    const waiting = follow(queue.wait())
    await clock.advance("1h")
    expect(waiting.state).toBe("waiting")
    await queue.enqueue(null)
    await clock.settle()
    expect(waiting).toMatchObject({ state: "resolved", value: true })
  })

  test("waits for the ready time of a delayed job, and not a millisecond less", async () => {
    const { queue, clock } = await startQueue()
    await queue.enqueue(null, { delay: "10m" })
    const waiting = follow(queue.wait())
    await clock.advance(10 * MINUTE - 1)
    expect(waiting.state).toBe("waiting")
    await clock.advance(1)
    expect(waiting).toMatchObject({ state: "resolved", value: true })
  })

  test("is woken by an earlier job than the one it waits for", async () => {
    const { queue, clock } = await startQueue()
    await queue.enqueue(null, { delay: "1d" })
    const waiting = follow(queue.wait())
    await clock.settle()
    await queue.enqueue(null, { delay: "10s" })
    await clock.advance("10s")
    expect(waiting).toMatchObject({ state: "resolved", value: true })
  })

  test("wakes when a claim lapses, after a retry's delay, and after a redrive", async () => {
    const { queue, clock } = await startQueue({ visibilityTimeout: "30s" })
    await queue.enqueue(null)
    await claim(queue)
    let waiting = follow(queue.wait())
    await clock.advance(30_001)
    expect(waiting.state).toBe("resolved")

    const job = await claim(queue)
    waiting = follow(queue.wait())
    await job.retry(null, "5s")
    await clock.advance(4999)
    expect(waiting.state).toBe("waiting")
    await clock.advance(1)
    expect(waiting.state).toBe("resolved")

    await (await claim(queue)).fail()
    waiting = follow(queue.wait())
    await clock.advance("1h")
    expect(waiting.state).toBe("waiting")
    await queue.redrive()
    await clock.settle()
    expect(waiting).toMatchObject({ state: "resolved", value: true })
  })

  test.each<[by: string, enqueue: (fixture: Awaited<ReturnType<typeof start>>) => Promise<unknown>]>([
    ["another store on the storage", async ({ reopen }) => (await reopen()).queue("mail").enqueue(null)],
    ["another handle", ({ store }) => store.queue("mail", { maxAttempts: 1 }).enqueue(null)],
    ["a transaction's commit", ({ store }) => store.transaction((tx) => tx.enqueue("mail", null))],
    ["a schedule that fires", async ({ store, clock }) => {
      await store.schedule("report", "@every 1s", "mail", null)
      const stop = new AbortController()
      const run = store.runSchedules(stop.signal)
      await clock.advance("1s")
      stop.abort()
      await run
    }],
  ])("is woken by %s", async (_, enqueue) => {
    const fixture = await start()
    const waiting = follow(fixture.store.queue("mail").wait())
    await fixture.clock.settle()
    expect(waiting.state).toBe("waiting")
    await enqueue(fixture)
    await fixture.clock.settle()
    expect(waiting).toMatchObject({ state: "resolved", value: true })
  })

  test("is not ended by what happens in another queue", async () => {
    const { store, queue, clock } = await startQueue()
    const waiting = follow(queue.wait())
    await store.queue("other").enqueue(null)
    await store.outbox("mail").enqueue(null)
    await clock.settle()
    expect(waiting.state).toBe("waiting")
  })

  test("gives false when its signal aborts, and when it had aborted before", async () => {
    const { queue, clock } = await startQueue()
    const stop = new AbortController()
    const waiting = follow(queue.wait(stop.signal))
    await clock.settle()
    expect(waiting.state).toBe("waiting")
    stop.abort()
    await clock.settle()
    expect(waiting).toMatchObject({ state: "resolved", value: false })
    expect(await queue.wait(AbortSignal.abort())).toBe(false)
  })

  test("wakes every waiter", async () => {
    const { store, queue, clock } = await startQueue()
    const waiting = Array.from({ length: 20 }, () => follow(queue.wait()))
    const outbox = follow(store.outbox("mail").wait())
    await clock.settle()
    await queue.enqueue(null)
    await clock.settle()
    expect(waiting.every((fate) => fate.value === true)).toBe(true)
    expect(outbox.state).toBe("waiting")
  })

  test("waits for a time weeks ahead in slices of what a timer can hold", async () => {
    const { queue, clock } = await startQueue()
    const slices: number[] = []
    const sleep = clock.sleep.bind(clock)
    clock.sleep = (ms, signal) => {
      slices.push(ms)
      return sleep(ms, signal)
    }
    await queue.enqueue(null, { runAt: START + 60 * 86_400_000 })
    const stop = new AbortController()
    const waiting = follow(queue.wait(stop.signal))
    await clock.advance("1h")
    expect(waiting.state).toBe("waiting")
    expect(slices.length).toBeGreaterThan(0)
    expect(slices.every((ms) => ms >= 0 && ms <= 2 ** 31 - 1)).toBe(true)
    stop.abort()
    await clock.settle()
    expect(waiting.value).toBe(false)
  })

  test("leaves no timer behind, however it ends", async () => {
    const { queue, clock } = await startQueue()
    await queue.enqueue(null, { delay: "1h" })
    const stop = new AbortController()
    const aborted = queue.wait(stop.signal)
    await clock.settle()
    expect(clock.pending).toBeGreaterThan(0)
    stop.abort()
    expect(await aborted).toBe(false)
    await clock.settle()
    expect(clock.pending).toBe(0)
    const woken = queue.wait()
    await clock.settle()
    await queue.enqueue(null)
    expect(await woken).toBe(true)
    await clock.settle()
    expect(clock.pending).toBe(0)
  })

  test("never leaves a worker asleep over work, nor spinning without any", async () => {
    const { store, clock } = await start()
    const outbox = store.outbox<number>("mail")
    const delivered: number[] = []
    const stop = new AbortController()
    let rounds = 0
    const worker = (async () => {
      while (await outbox.wait(stop.signal)) {
        rounds++
        await outbox.runOnce("w1", (job) => {
          if (job.attempts < 3) throw new Error("try again")
          delivered.push(job.payload)
        })
      }
    })()
    for (let i = 0; i < 10; i++) await outbox.enqueue(i, { delay: i * 1000 })
    await clock.advance("5m")
    expect([...delivered].sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(rounds).toBeLessThanOrEqual(60)
    stop.abort()
    await worker
    expect(await outbox.list()).toEqual([])
  })
})
