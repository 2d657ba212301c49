import { describe, expect, test } from "vitest"
import type { Job, QueueOptions, Store } from "alkstore-wasm"
import { DAY, SECOND, START, claim, must, start } from "../support.js"

const PLAIN = { visibilityTimeout: 300 * SECOND, maxAttempts: 3, backoffBase: 5 * SECOND, deadLetterRetention: null }
const OUTBOX = { visibilityTimeout: 60 * SECOND, maxAttempts: 5, backoffBase: 5 * SECOND, deadLetterRetention: null }
const OWN: QueueOptions = { visibilityTimeout: 1000, maxAttempts: 7, backoffBase: 2000, deadLetterRetention: DAY }

describe("a job carries the stamps of where it came from", () => {
  const only = async (jobs: Promise<Job<unknown>[]>): Promise<Job<unknown>> => must((await jobs)[0])

  test.each<[from: string, stamps: object, enqueue: (store: Store) => Promise<Job<unknown>>]>([
    ["a plain queue", PLAIN, async (store) => {
      await store.queue("mail").enqueue(null)
      return only(store.queue("mail").list())
    }],
    ["a queue with options", OWN, async (store) => {
      await store.queue("mail", OWN).enqueue(null)
      return only(store.queue("mail").list())
    }],
    ["a queue with one option", { ...PLAIN, backoffBase: 9 }, async (store) => {
      await store.queue("mail", { backoffBase: 9 }).enqueue(null)
      return only(store.queue("mail").list())
    }],
    ["a job with maxAttempts of its own", { ...OWN, maxAttempts: 2 }, async (store) => {
      await store.queue("mail", OWN).enqueue(null, { maxAttempts: 2 })
      return only(store.queue("mail").list())
    }],
    ["a transaction, whatever the queue's handles say", PLAIN, async (store) => {
      store.queue("mail", OWN)
      await store.transaction((tx) => tx.enqueue("mail", null))
      return only(store.queue("mail").list())
    }],
    ["a transaction, with maxAttempts", { ...PLAIN, maxAttempts: 1 }, async (store) => {
      await store.transaction((tx) => tx.enqueue("mail", null, { maxAttempts: 1 }))
      return only(store.queue("mail").list())
    }],
    ["an outbox", OUTBOX, async (store) => {
      await store.outbox("mail").enqueue(null)
      return only(store.outbox("mail").list())
    }],
    ["an outbox, with maxAttempts", { ...OUTBOX, maxAttempts: 1 }, async (store) => {
      await store.outbox("mail").enqueue(null, { maxAttempts: 1 })
      return only(store.outbox("mail").list())
    }],
    ["an outbox inside a transaction", OUTBOX, async (store) => {
      await store.transaction((tx) => tx.outboxEnqueue("mail", null))
      return only(store.outbox("mail").list())
    }],
  ])("%s", async (_, stamps, enqueue) => {
    const { store } = await start()
    expect(await enqueue(store)).toMatchObject(stamps)
  })

  test.each<[what: string, maxAttempts: number | undefined, expected: number]>([
    ["a schedule", undefined, 3],
    ["a schedule with maxAttempts", 9, 9],
  ])("%s", async (_, maxAttempts, expected) => {
    const { store, clock } = await start()
    store.queue("mail", OWN)
    await store.schedule("report", "@every 1s", "mail", null, maxAttempts === undefined ? {} : { maxAttempts })
    const stop = new AbortController()
    const run = store.runSchedules(stop.signal)
    await clock.advance("1s")
    stop.abort()
    await run
    expect(await store.queue("mail").list()).toMatchObject([{ ...PLAIN, maxAttempts: expected }])
  })
})

describe("the job's own copy counts", () => {
  test("changed options touch only later jobs", async () => {
    const { store } = await start()
    await store.queue("mail", { maxAttempts: 1 }).enqueue("old")
    await store.queue("mail", { maxAttempts: 2 }).enqueue("new")
    expect(await store.queue("mail").list()).toMatchObject([{ maxAttempts: 1 }, { maxAttempts: 2 }])
  })

  test("a claim through another handle takes the job's visibility timeout", async () => {
    const { store } = await start()
    await store.queue("mail", { visibilityTimeout: "10s" }).enqueue(null)
    expect(await claim(store.queue("mail", { visibilityTimeout: "1h" }))).toMatchObject({
      claimExpiresAt: START + 10_000,
    })
  })

  test("a retry takes the job's backoff base", async () => {
    const { store } = await start()
    await store.queue("mail", { backoffBase: 0 }).enqueue(null)
    const job = await claim(store.queue("mail", { backoffBase: "1h" }))
    await job.retry()
    expect(await store.queue("mail").get(job.id)).toMatchObject({ runAt: START })
  })

  test("a sweep takes the job's retention", async () => {
    const { store } = await start()
    await store.queue("mail", { deadLetterRetention: 0 }).enqueue("aged")
    await store.queue("mail", { deadLetterRetention: "1d" }).enqueue("kept")
    const handle = store.queue("mail", { deadLetterRetention: 0 })
    for (const job of await handle.claimBatch("w1", 2)) await job.fail()
    expect(await handle.sweepExpired()).toBe(1)
    expect(await handle.list()).toMatchObject([{ payload: "kept" }])
  })
})

describe("only the sign of queue options is trusted", () => {
  test("a negative visibility timeout makes claims lapse at once", async () => {
    const { store } = await start()
    const queue = store.queue("mail", { visibilityTimeout: -1 })
    await queue.enqueue(null)
    const job = await claim(queue)
    expect(job.claimExpiresAt).toBe(START - 1)
    expect(await job.ack()).toBe(false)
    expect(await queue.claimOne("w2")).toMatchObject({ id: job.id, attempts: 2 })
  })

  test("with a visibility timeout of 0 a claim lives until the clock moves", async () => {
    const { store, clock } = await start()
    const queue = store.queue("mail", { visibilityTimeout: 0 })
    await queue.enqueue("quick")
    await queue.enqueue("slow")
    const [quick, slow] = await queue.claimBatch("w1", 2)
    expect(await queue.claimOne("w2")).toBe(null)
    expect(await must(quick).ack()).toBe(true)
    clock.set(START + 1)
    expect(await must(slow).ack()).toBe(false)
    expect(await queue.claimOne("w2")).toMatchObject({ payload: "slow" })
  })

  test.each([0, -1])(
    "maxAttempts of %d make a job that is never handed out and dies at the next claim",
    async (maxAttempts) => {
      const { store } = await start()
      const queue = store.queue("mail", { maxAttempts })
      const id = await queue.enqueue(null)
      expect(await queue.get(id)).toMatchObject({ state: "pending" })
      expect(await queue.claimOne("w1")).toBe(null)
      expect(await queue.get(id)).toMatchObject({
        state: "dead",
        attempts: 0,
        lastError: "max attempts exceeded",
        diedAt: START,
      })
    },
  )

  test("a backoff base of 0 retries at once", async () => {
    const { store } = await start()
    const queue = store.queue("mail", { backoffBase: 0 })
    await queue.enqueue(null)
    await (await claim(queue)).retry()
    expect(await queue.claimOne("w1")).toMatchObject({ attempts: 2 })
  })

  test("a negative retention drops a dead job at the next sweep", async () => {
    const { store } = await start()
    const queue = store.queue("mail", { deadLetterRetention: -1 })
    await queue.enqueue(null)
    await (await claim(queue)).fail()
    expect(await queue.sweepExpired()).toBe(1)
    expect(await queue.list()).toEqual([])
  })
})
