import { describe, expect, test } from "vitest"
import { open } from "alkstore-wasm"
import type { ClaimedJob, Store } from "alkstore-wasm"
import { START, claim, follow, must, start, startQueue } from "./support.js"

const STORE_CALLS = ["queue", "outbox", "tryLock", "schedule", "unschedule", "schedules", "runSchedules", "transaction"]
const READS = ["enqueue", "cancel", "get", "list", "stats", "redrive", "purge", "sweepExpired", "wait"]
const QUEUE_CALLS = [...READS, "claimOne", "claimBatch", "ackBatch"]
const OUTBOX_CALLS = [...READS, "runOnce"]
const JOB_CALLS = ["ack", "retry", "fail", "heartbeat"]
const TRANSACTION_CALLS = ["enqueue", "outboxEnqueue", "get"]
const LOCK_CALLS = ["renew", "release"]

describe("re-entrancy: a delivery may call anything on its own store", () => {
  /** Calls every method there is, and notes which. */
  async function everyCall(store: Store, own: ClaimedJob<unknown>): Promise<Set<string>> {
    const called = new Set<string>()
    const noting = <T extends object>(kind: string, target: T): T =>
      new Proxy(target, {
        get(_, key) {
          const value: unknown = Reflect.get(target, key, target)
          if (typeof value !== "function") return value
          called.add(`${kind}.${String(key)}`)
          return value.bind(target) as unknown
        },
      })
    const s = noting("store", store)
    const queue = noting("queue", s.queue("inner"))
    const outbox = noting("outbox", s.outbox("orders"))
    for (let i = 0; i < 6; i++) await queue.enqueue(i)
    const job = noting("job", must(await queue.claimOne("w1")))
    expect(await job.heartbeat(1000)).toBe(true)
    expect(await job.retry("again", 0)).toBe(true)
    const [first, second, third] = await queue.claimBatch("w1", 3)
    expect(await noting("job", must(first)).ack()).toBe(true)
    expect(await noting("job", must(second)).fail("no")).toBe(true)
    expect(await queue.ackBatch([must(third).id])).toBe(1)
    expect(await queue.redrive()).toBe(1)
    await (await claim(queue)).fail()
    expect(await queue.purge()).toBe(1)
    const [listed] = await queue.list()
    expect(await queue.get(must(listed).id)).toMatchObject({ queue: "inner" })
    expect(await queue.wait()).toBe(true)
    expect(await queue.cancel(must(listed).id)).toBe(true)
    expect(await queue.sweepExpired()).toBe(0)
    expect(await queue.stats()).toMatchObject({ dead: 0 })

    const lock = noting("lock", must(await s.tryLock("report", "tab", 1000)))
    expect(await lock.renew(1000)).toBe(true)
    expect(await lock.release()).toBe(true)
    await s.schedule("nightly", "@every 1d", "inner", null)
    expect(await s.schedules()).toHaveLength(1)
    expect(await s.unschedule("nightly")).toBe(true)
    const stop = new AbortController()
    const run = s.runSchedules(stop.signal)
    await queue.stats()
    stop.abort()
    await run
    await s.transaction(async (tx) => {
      const t = noting("transaction", tx)
      const id = await t.enqueue("inner", "staged")
      await t.outboxEnqueue("orders", "staged")
      expect(await t.get("inner", id)).not.toBe(null)
      expect(await queue.stats()).toMatchObject({ processing: 0 })
    })

    const id = await outbox.enqueue("nested", { priority: 9 })
    expect(await outbox.get(id)).toMatchObject({ state: "pending" })
    expect(await outbox.get(own.id)).toMatchObject({ state: "processing" })
    let nested: unknown
    expect(await outbox.wait()).toBe(true)
    expect(await outbox.runOnce("w2", async (inner) => {
      nested = inner.payload
      await queue.enqueue("from deeper")
    })).toBe(true)
    expect(nested).toBe("nested")
    expect(await outbox.cancel(must((await outbox.list({ state: "pending" }))[0]).id)).toBe(true)
    expect(await outbox.stats()).toMatchObject({ processing: 1 })
    expect(await outbox.redrive()).toBe(0)
    expect(await outbox.purge()).toBe(0)
    expect(await outbox.sweepExpired()).toBe(0)
    return called
  }

  test("every method of it, its own runOnce included", async () => {
    const { store } = await start()
    const outbox = store.outbox("orders")
    const id = await outbox.enqueue("outer")
    let called = new Set<string>()
    expect(await outbox.runOnce("w1", async (job) => {
      called = await everyCall(store, job)
      expect(await job.heartbeat("1m")).toBe(true)
    })).toBe(true)
    const all: [kind: string, calls: string[]][] = [
      ["store", STORE_CALLS], ["queue", QUEUE_CALLS], ["outbox", OUTBOX_CALLS], ["job", JOB_CALLS],
      ["transaction", TRANSACTION_CALLS], ["lock", LOCK_CALLS],
    ]
    expect([...called].sort()).toEqual(all.flatMap(([kind, calls]) => calls.map((call) => `${kind}.${call}`)).sort())
    expect(await outbox.get(id)).toBe(null)
  })

  test("its own runOnce, fifty deep", async () => {
    const { store } = await start()
    const outbox = store.outbox<number>("orders")
    for (let i = 0; i < 50; i++) await outbox.enqueue(i)
    const delivered: number[] = []
    const deliver = async (job: ClaimedJob<number>): Promise<void> => {
      await outbox.runOnce("w1", deliver)
      delivered.push(job.payload)
    }
    expect(await outbox.runOnce("w1", deliver)).toBe(true)
    expect(delivered).toEqual(Array.from({ length: 50 }, (_, i) => 49 - i))
    expect(await outbox.list()).toEqual([])
  })

  test("without awaiting, before its first turn ends", async () => {
    const { store, queue, clock } = await startQueue()
    const outbox = store.outbox("orders")
    await outbox.enqueue("outer")
    const inner: Promise<unknown>[] = []
    await outbox.runOnce("w1", (job) => {
      inner.push(
        outbox.enqueue("inner"),
        job.heartbeat("1m"),
        queue.enqueue(1),
        outbox.runOnce("w2", () => {}),
        store.schedules(),
      )
    })
    await clock.settle()
    expect(await Promise.all(inner)).toMatchObject([expect.any(Number), true, expect.any(Number), true, []])
    expect(await outbox.list()).toEqual([])
  })
})

describe("code of the caller's that runs inside a call may call the store", () => {
  test("a payload's getter", async () => {
    const { queue } = await startQueue()
    const inner: Promise<number>[] = []
    const payload = {
      get to() {
        inner.push(queue.enqueue("from the getter"))
        return "a"
      },
    }
    const id = await queue.enqueue(payload)
    await Promise.all(inner)
    expect(await queue.get(id)).toMatchObject({ payload: { to: "a" } })
    expect(inner.length).toBeGreaterThan(0)
    expect(await queue.stats()).toMatchObject({ pending: 1 + inner.length })
  })

  test("an error's toString", async () => {
    const { queue } = await startQueue()
    await queue.enqueue(null)
    const job = await claim(queue)
    const inner: Promise<number>[] = []
    const error = {
      toString() {
        inner.push(queue.enqueue("from toString"))
        return "odd"
      },
    }
    expect(await job.fail(error)).toBe(true)
    await Promise.all(inner)
    expect(await queue.get(job.id)).toMatchObject({ state: "dead", lastError: "odd" })
    expect(await queue.stats()).toMatchObject({ pending: inner.length })
  })

  test("an option's getter", async () => {
    const { queue } = await startQueue()
    const inner: Promise<number>[] = []
    const options = {
      get delay() {
        inner.push(queue.enqueue("from the getter"))
        return 5
      },
    }
    expect(await queue.get(await queue.enqueue(null, options))).toMatchObject({ runAt: START + 5 })
    await Promise.all(inner)
    expect(await queue.stats()).toMatchObject({ pending: 1 + inner.length })
  })

  test("a clock's now()", async () => {
    const inner: Promise<unknown>[] = []
    let opened: Store | undefined
    let busy = false
    const now = (): number => {
      if (opened && !busy && inner.length < 20) {
        busy = true
        inner.push(opened.queue("inner").enqueue("from now()"))
        busy = false
      }
      return START
    }
    opened = await open({ clock: { now, sleep: () => Promise.resolve() } })
    const queue = opened.queue("mail")
    const given: number[] = []
    for (let i = 0; i < 5; i++) given.push(await queue.enqueue(i))
    await Promise.all(inner)
    expect(new Set(given).size).toBe(5)
    expect(await queue.stats()).toMatchObject({ pending: 5 })
    await opened.close()
  })
})

describe("overlapping calls", () => {
  test("a thousand enqueues, claims and acks at once lose nothing and double nothing", async () => {
    const { queue } = await startQueue<number>()
    const given = await Promise.all(Array.from({ length: 1000 }, (_, i) => queue.enqueue(i)))
    expect(new Set(given).size).toBe(1000)
    const claimed = (await Promise.all(Array.from({ length: 1000 }, (_, i) => queue.claimOne(`w${i}`)))).map((job) =>
      must(job),
    )
    expect(claimed.map((job) => job.id)).toEqual(given)
    expect(claimed.map((job) => job.payload)).toEqual(given.map((_, i) => i))
    expect(await Promise.all(claimed.map((job) => job.ack()))).toEqual(claimed.map(() => true))
    expect(await queue.stats()).toMatchObject({ pending: 0, processing: 0, dead: 0 })
  })

  test("a thousand mixed ones all settle", async () => {
    const { store, queue } = await startQueue<number>()
    const outbox = store.outbox<number>("orders")
    const kinds: (() => Promise<unknown>)[] = [
      () => queue.enqueue(1), () => queue.claimOne("w1"),
      () => queue.claimBatch("w1", 3).then((jobs) => Promise.all(jobs.map((job) => job.ack()))),
      () => queue.stats(), () => queue.list(), () => queue.sweepExpired(), () => outbox.enqueue(2),
      () => outbox.runOnce("w1", () => {}),
      () => store.transaction((tx) => tx.enqueue("mail", 3)), () => store.tryLock("report", "tab", 1000),
      () => store.schedules(),
      () => queue.enqueue(4, { delay: NaN }).catch(() => {}), () => queue.get(1), () => queue.cancel(7),
    ]
    const settled = await Promise.allSettled(Array.from({ length: 1000 }, (_, i) => must(kinds[i % kinds.length])()))
    expect(settled.filter((outcome) => outcome.status === "rejected")).toEqual([])
  })

  test("twenty thousand at once overflow no stack", async () => {
    const { queue } = await startQueue<number>()
    const given = await Promise.all(Array.from({ length: 20_000 }, (_, i) => queue.enqueue(i)))
    expect(new Set(given).size).toBe(20_000)
    expect(await queue.claimBatch("w1", 20_000)).toHaveLength(20_000)
  })

  test("waits by the hundred are woken and leave nothing", async () => {
    const { queue, clock } = await startQueue()
    const waits = Array.from({ length: 500 }, () => follow(queue.wait()))
    await clock.settle()
    await queue.enqueue(null)
    await clock.settle()
    expect(waits.every((wait) => wait.value === true)).toBe(true)
    expect(clock.pending).toBe(0)
  })
})

describe("what a dead letter keeps of an error", () => {
  const odd = new Error("odd")
  Object.defineProperty(odd, "message", {
    get() {
      throw new Error("no")
    },
  })

  test.each<[what: string, value: unknown, text: RegExp]>([
    ["an Error", new Error("boom"), /^boom$/],
    ["a DOMException", new DOMException("gone", "AbortError"), /^gone$/],
    ["an AggregateError", new AggregateError([1, 2], "many"), /^many$/],
    ["an Error whose message throws", odd, /^object$/],
  ])("%s", async (_, value, text) => {
    const { store } = await start()
    const outbox = store.outbox("orders")
    const id = await outbox.enqueue(null, { maxAttempts: 1 })
    expect(await outbox.runOnce("w1", () => Promise.reject(value))).toBe(true)
    expect(must(await outbox.get(id)).lastError).toMatch(text)
  })
})
