import { describe, expect, test } from "vitest"
import type { Job, Store } from "alkstore-wasm"
import type { ManualClock } from "alkstore-wasm/testing"
import { HOUR, MINUTE, SECOND, START, claim, follow, ids, must, start, startQueue } from "../support.js"

const BACK = 5 * HOUR
/** How exactly the storage remembers the latest instant: what a correction may make late, at most. */
const MEMORY = 10 * SECOND
const NOW = START - BACK

/** Sets the clock back, and lets an operation find out. */
async function setBack(store: Store, clock: ManualClock, by = BACK): Promise<void> {
  clock.set(clock.now() - by)
  await store.queue("elsewhere").enqueue(null)
}

/** What was due at `deadline` is due as far from the corrected clock, at most 10 s later and never earlier. */
function expectMoved(actual: number | null, deadline: number, by = BACK): void {
  expect(actual).toBeGreaterThanOrEqual(deadline - by)
  expect(actual).toBeLessThanOrEqual(deadline - by + MEMORY)
}

describe("a clock set back by hours takes every derived deadline with it", () => {
  type Field = "runAt" | "claimExpiresAt" | "expiresAt"

  test.each<[what: string, field: Field, deadline: number, prepare: (store: Store) => Promise<unknown>]>([
    ["the ready time of an enqueue", "runAt", START, (store) => store.queue("mail").enqueue(null)],
    ["a delay", "runAt", START + 10_000, (store) => store.queue("mail").enqueue(null, { delay: "10s" })],
    [
      "an enqueue of a transaction",
      "runAt",
      START + 5000,
      (store) => store.transaction((tx) => tx.enqueue("mail", null, { delay: "5s" })),
    ],
    ["the ready time of a retry with a delay", "runAt", START + 10_000, async (store) => {
      await store.queue("mail").enqueue(null)
      await (await claim(store.queue("mail"))).retry(null, "10s")
    }],
    ["the ready time of a backoff", "runAt", START, async (store) => {
      const queue = store.queue("mail", { backoffBase: 0 })
      await queue.enqueue(null)
      await (await claim(queue)).retry()
    }],
    ["the delay of a retry, of a job that was given for an instant", "runAt", START + 10_000, async (store) => {
      await store.queue("mail").enqueue(null, { runAt: START - HOUR })
      await (await claim(store.queue("mail"))).retry(null, "10s")
    }],
    ["the ready time of a redrive", "runAt", START, async (store) => {
      await store.queue("mail").enqueue(null, { runAt: START - HOUR })
      await (await claim(store.queue("mail"))).fail()
      await store.queue("mail").redrive()
    }],
    ["a claim's deadline", "claimExpiresAt", START + 300_000, async (store) => {
      await store.queue("mail").enqueue(null)
      await claim(store.queue("mail"))
    }],
    ["a heartbeat's deadline", "claimExpiresAt", START + 20_000, async (store) => {
      await store.queue("mail").enqueue(null)
      await (await claim(store.queue("mail"))).heartbeat("20s")
    }],
    ["an expiry", "expiresAt", START + HOUR, (store) => store.queue("mail").enqueue(null, { expires: "1h" })],
    [
      "the expiry of a job given for an instant",
      "expiresAt",
      START + HOUR,
      (store) => store.queue("mail").enqueue(null, { runAt: 5, expires: "1h" }),
    ],
    ["the expiry of a claimed job", "expiresAt", START + HOUR, async (store) => {
      await store.queue("mail").enqueue(null, { expires: "1h" })
      await claim(store.queue("mail"))
    }],
  ])("%s", async (_, field, deadline, prepare) => {
    const { store, clock } = await start()
    await prepare(store)
    const [before] = await store.queue("mail").list()
    expect(must(before)[field]).toBe(deadline)
    await setBack(store, clock)
    const [after] = await store.queue("mail").list()
    expectMoved(must(after)[field], deadline)
  })

  test("an outbox's deadlines", async () => {
    const { store, clock } = await start()
    await store.outbox("orders").enqueue(null, { delay: "10s" })
    await setBack(store, clock)
    expectMoved(must((await store.outbox("orders").list())[0]).runAt, START + 10_000)
  })

  test("a lock's", async () => {
    const { store, clock } = await start()
    const lock = must(await store.tryLock("report", "tab a", MINUTE))
    await setBack(store, clock)
    clock.set(NOW + MINUTE - 1)
    expect(await store.tryLock("report", "tab b", 1)).toBe(null)
    clock.set(NOW + MINUTE + MEMORY)
    expect(await lock.renew(MINUTE)).toBe(false)
    expect(await store.tryLock("report", "tab b", 1)).not.toBe(null)
  })

  test("a schedule's boundary", async () => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 1m", "mail", null)
    await setBack(store, clock)
    expectMoved(must((await store.schedules())[0]).nextFireAt, START + MINUTE)
  })

  test("a dead letter's retention, while diedAt goes on telling history", async () => {
    const { store, queue, clock } = await startQueue({ deadLetterRetention: "1h" })
    await queue.enqueue(null)
    const job = await claim(queue)
    await job.fail()
    await setBack(store, clock)
    expect(await queue.get(job.id)).toMatchObject({ diedAt: START, claimedAt: START, createdAt: START })
    clock.set(NOW + HOUR - 1)
    expect(await queue.sweepExpired()).toBe(0)
    clock.set(NOW + HOUR + MEMORY)
    expect(await queue.sweepExpired()).toBe(1)
  })
})

describe("what a set-back clock leaves alone", () => {
  test("an instant that the user gave", async () => {
    const { store, queue, clock } = await startQueue()
    await queue.enqueue(null, { runAt: START + 10_000 })
    await queue.enqueue(null, { runAt: new Date(START - 10_000) })
    await setBack(store, clock)
    expect((await queue.list()).map((job) => job.runAt)).toEqual([START + 10_000, START - 10_000])
  })

  test("history: createdAt and claimedAt", async () => {
    const { store, queue, clock } = await startQueue()
    await queue.enqueue(null)
    await claim(queue)
    await setBack(store, clock)
    expect(await queue.list()).toMatchObject([{ createdAt: START, claimedAt: START }])
  })

  test("everything but the instants", async () => {
    const { store, queue, clock } = await startQueue()
    for (let i = 0; i < 3; i++) await queue.enqueue(i, { priority: i, expires: "1d" })
    await (await claim(queue)).fail("no")
    await claim(queue, "w2")
    const strip = (job: Job<unknown>): object => ({ ...job, runAt: 0, claimExpiresAt: 0, expiresAt: 0 })
    const before = (await queue.list()).map(strip)
    await setBack(store, clock)
    expect(JSON.stringify((await queue.list()).map(strip))).toBe(JSON.stringify(before))
  })
})

describe("after the correction life goes on as if nothing had happened", () => {
  test("a retry due in ten seconds is due in ten seconds, at most ten late", async () => {
    const { store, queue, clock } = await startQueue()
    await queue.enqueue(null)
    await (await claim(queue)).retry(null, "10s")
    await setBack(store, clock)
    clock.set(NOW + 9_999)
    expect(await queue.claimOne("w1")).toBe(null)
    clock.set(NOW + 10_000 + MEMORY)
    expect(await queue.claimOne("w1")).not.toBe(null)
  })

  test("the holder of a claim still settles it, and nobody else gets it meanwhile", async () => {
    const { store, queue, clock } = await startQueue()
    await queue.enqueue(null)
    const job = await claim(queue)
    await setBack(store, clock)
    expect(await queue.claimOne("w2")).toBe(null)
    clock.set(NOW + 299_999)
    expect(await job.ack()).toBe(true)
  })

  test("a claim that nobody settles lapses after its timeout, not hours later", async () => {
    const { store, queue, clock } = await startQueue()
    await queue.enqueue(null)
    await claim(queue)
    await setBack(store, clock)
    clock.set(NOW + 300_001 + MEMORY)
    expect(await queue.claimOne("w2")).toMatchObject({ attempts: 2 })
  })

  test("it happens once: later operations move nothing further", async () => {
    const { store, queue, clock } = await startQueue()
    await queue.enqueue(null, { delay: "1h" })
    await setBack(store, clock)
    const moved = must((await queue.list())[0]).runAt
    for (let i = 1; i <= 5; i++) {
      clock.set(NOW + i * 1000)
      await store.queue("elsewhere").enqueue(null)
    }
    expect(must((await queue.list())[0]).runAt).toBe(moved)
  })

  test("a second correction is a correction too", async () => {
    const { store, queue, clock } = await startQueue()
    await queue.enqueue(null, { delay: "1h" })
    await setBack(store, clock, 2 * HOUR)
    await setBack(store, clock, 3 * HOUR)
    const { runAt } = must((await queue.list())[0])
    expect(runAt).toBeGreaterThanOrEqual(START + HOUR - BACK)
    expect(runAt).toBeLessThanOrEqual(START + HOUR - BACK + 2 * MEMORY)
  })

  test("the storage remembers: the next store finds the clock set back", async () => {
    const { store, queue, clock, reopen } = await startQueue()
    await queue.enqueue(null, { delay: "10s" })
    await store.close()
    clock.set(NOW)
    const next = await reopen()
    await next.queue("elsewhere").enqueue(null)
    expectMoved(must((await next.queue("mail").list())[0]).runAt, START + 10_000)
  })

  test("any claim finds out by itself", async () => {
    const { queue, clock } = await startQueue()
    const id = await queue.enqueue(null)
    clock.set(NOW)
    await queue.claimOne("w1")
    clock.set(NOW + MEMORY)
    const claimed = await queue.claimOne("w1")
    expect([claimed?.id, ...ids(await queue.list({ state: "processing" }))]).toContain(id)
  })

  test("a waiter wakes in time", async () => {
    const { queue, clock } = await startQueue()
    await queue.enqueue(null, { delay: "10s" })
    const waiting = follow(queue.wait())
    await clock.settle()
    clock.set(NOW)
    await clock.advance(10 * SECOND + MEMORY)
    expect(waiting).toMatchObject({ state: "resolved", value: true })
    expect(await queue.claimOne("w1")).not.toBe(null)
  })

  test("a running leader goes on leading, and firing within an interval", async () => {
    const { store, clock, reopen } = await start()
    await store.schedule("report", "@every 30s", "mail", null)
    const run = follow(store.runSchedules())
    await clock.advance("65s")
    expect(await store.queue("mail").stats()).toMatchObject({ pending: 2 })
    clock.set(clock.now() - BACK)
    await clock.advance(30 * SECOND + MEMORY)
    expect((await store.queue("mail").stats()).pending).toBeGreaterThanOrEqual(3)
    await clock.advance("10m")
    const fired = (await store.queue("mail").stats()).pending
    expect(fired).toBeGreaterThanOrEqual(22)
    expect(fired).toBeLessThanOrEqual(24)
    expect(run.state).toBe("waiting")
    const rival = follow((await reopen()).runSchedules())
    await clock.settle()
    expect(rival).toMatchObject({ state: "rejected", error: { code: "LeadershipLost" } })
  })
})

describe("a smaller step back only makes things late by that much", () => {
  test.each([1, 1000, 30_000, 59_999, 60_000])("%d ms move nothing", async (by) => {
    const { store, queue, clock } = await startQueue()
    await queue.enqueue(null, { delay: "10s", expires: "1h" })
    await store.schedule("report", "@every 1h", "mail", null)
    await setBack(store, clock, by)
    expect(await queue.list()).toMatchObject([{ runAt: START + 10_000, expiresAt: START + HOUR }])
    expect(await store.schedules()).toMatchObject([{ nextFireAt: START + HOUR }])
    clock.set(START + 9_999)
    expect(await queue.claimOne("w1")).toBe(null)
    clock.set(START + 10_000)
    expect(await queue.claimOne("w1")).not.toBe(null)
  })

  test("of more than a minute and the memory's grain is a set-back clock", async () => {
    const { store, queue, clock } = await startQueue()
    await queue.enqueue(null, { delay: "10s" })
    const by = MINUTE + MEMORY + 1
    await setBack(store, clock, by)
    expectMoved(must((await queue.list())[0]).runAt, START + 10_000, by)
  })

  test("hides a job that had become ready, until the clock is there again", async () => {
    const { queue, clock } = await startQueue()
    await queue.enqueue(null, { delay: 1000 })
    clock.set(START + 1000)
    expect(await queue.stats()).toMatchObject({ ready: 1 })
    clock.set(START + 500)
    expect(await queue.stats()).toMatchObject({ ready: 0, nextDeadline: START + 1000 })
    expect(await queue.claimOne("w1")).toBe(null)
    clock.set(START + 1000)
    expect(await queue.claimOne("w1")).not.toBe(null)
  })

  test("revives a claim that had lapsed, as long as nobody took it", async () => {
    const { queue, clock } = await startQueue({ visibilityTimeout: 1000 })
    await queue.enqueue(null)
    const job = await claim(queue)
    clock.set(START + 1001)
    expect(await queue.stats()).toMatchObject({ ready: 1 })
    clock.set(START + 1000)
    expect(await queue.claimOne("w2")).toBe(null)
    expect(await job.ack()).toBe(true)
  })

  test("revives a job that had expired, as long as nobody swept it", async () => {
    const { queue, clock } = await startQueue()
    await queue.enqueue(null, { expires: 1000 })
    clock.set(START + 1000)
    expect(await queue.claimOne("w1")).toBe(null)
    clock.set(START + 999)
    expect(await queue.claimOne("w1")).not.toBe(null)
  })

  test("does not leave a boundary more than one interval ahead: the next tick pulls it in", async () => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 5s", "mail", null)
    void store.runSchedules()
    await clock.advance("2s")
    clock.set(clock.now() - 50_000)
    await clock.advance("2s")
    expect(must((await store.schedules())[0]).nextFireAt).toBeLessThanOrEqual(clock.now() + 5000)
    await clock.advance("5s")
    expect((await store.queue("mail").stats()).pending).toBeGreaterThanOrEqual(1)
  })
})

describe("a step forwards makes things due", () => {
  test("claims lapse, delays end, locks lapse", async () => {
    const { store, queue, clock } = await startQueue()
    await queue.enqueue("held")
    const job = await claim(queue)
    await queue.enqueue("delayed", { delay: "1h" })
    const lock = must(await store.tryLock("report", "tab", HOUR))
    clock.set(START + BACK)
    expect(await job.ack()).toBe(false)
    expect(await lock.renew(HOUR)).toBe(false)
    expect(await queue.claimBatch("w2", 5)).toMatchObject([{ payload: "held", attempts: 2 }, { payload: "delayed" }])
  })

  test("boundaries are caught up within the cap", async () => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 1s", "mail", null)
    void store.runSchedules()
    await clock.settle()
    clock.set(START + BACK)
    await clock.advance("2s")
    const { pending } = await store.queue("mail").stats()
    expect(pending).toBeGreaterThanOrEqual(64)
    expect(pending).toBeLessThanOrEqual(67)
    expect(must((await store.schedules())[0]).nextFireAt % SECOND).toBe(START % SECOND)
  })

  test("a waiter notices within a minute", async () => {
    const { queue, clock } = await startQueue()
    await queue.enqueue(null, { delay: "1h" })
    const waiting = follow(queue.wait())
    await clock.settle()
    clock.set(START + HOUR)
    await clock.advance("1m")
    expect(waiting).toMatchObject({ state: "resolved", value: true })
  })

  test("hours ahead and corrected a minute later: nothing lost, nothing doubled, nothing silent", async () => {
    const { store, queue, clock } = await startQueue<string>()
    await queue.enqueue("before", { delay: "10s" })
    clock.set(START + BACK)
    await queue.enqueue("ahead", { delay: "10s" })
    expect(await (await claim(queue)).ack()).toBe(true)
    await clock.advance("5s")
    clock.set(START + 5000)
    await store.queue("elsewhere").enqueue(null)
    clock.set(START + 5000 + 4999)
    expect(await queue.claimOne("w1")).toBe(null)
    clock.set(START + 5000 + 5000 + MEMORY)
    expect(await queue.claimBatch("w1", 5)).toMatchObject([{ payload: "ahead" }])
  })
})
