// A device's clock is set hours ahead and corrected later, with jobs delayed, leased and backing off: two contexts with
// connections of their own, and one clock.

import { open } from "alkstore-wasm"
import type { ClaimedJob, Job, Queue, Store } from "alkstore-wasm"
import { ManualClock } from "alkstore-wasm/testing"
import { claim, follow, HOUR, MINUTE, must, payloads, SECOND, START } from "../../shared/support.js"
import { newStorages } from "../page/storage.js"
import { expect, onTestFinished, test } from "../page/test.js"

const AHEAD = START + 5 * HOUR
/** A minute later, on the right clock. */
const CORRECTED = START + MINUTE
const BACK = AHEAD - CORRECTED
/** How exactly the latest instant is remembered: what a correction may make late, at most. */
const MEMORY = 10 * SECOND
const OPTIONS = { visibilityTimeout: "2m", backoffBase: "40s", maxAttempts: 5 } as const

interface World {
  clock: ManualClock
  stores: [Store, Store]
  queues: [Queue<string>, Queue<string>]
  /** A third context, opened when it is asked for. */
  another(): Promise<Store>
}

async function start(now: number): Promise<World> {
  const clock = new ManualClock(now)
  const storages = newStorages(3)
  const opened = async (at: number): Promise<Store> => {
    const store = await open({ storage: storages[at]!, clock })
    onTestFinished(() => store.close())
    return store
  }
  const stores: [Store, Store] = [await opened(0), await opened(1)]
  const [a, b] = stores.map((store) => store.queue<string>("mail", OPTIONS))
  return { clock, stores, queues: [a!, b!], another: () => opened(2) }
}

/** One job of each kind, made now by `queue`; the one that is leased. */
async function makeAll(queue: Queue<string>, now: number): Promise<ClaimedJob<string>> {
  await queue.enqueue("backing off")
  await (await claim(queue)).retry("not now")
  await queue.enqueue("leased")
  const leased = await claim(queue, "holder")
  await queue.enqueue("delayed", { delay: "10m", expires: "1d" })
  await queue.enqueue("at an instant", { runAt: now + HOUR })
  expect(payloads(await queue.list())).toEqual(["backing off", "leased", "delayed", "at an instant"])
  return leased
}

async function listed(queue: Queue<string>): Promise<Map<string, Job<string>>> {
  return new Map((await queue.list()).map((job) => [job.payload, { ...job }]))
}

/** What was due at `deadline` is due as far from the corrected clock; at most MEMORY later, never earlier. */
function expectMoved(actual: number | null, deadline: number | null): void {
  expect(must(actual)).toBeGreaterThanOrEqual(must(deadline) - BACK)
  expect(must(actual)).toBeLessThanOrEqual(must(deadline) - BACK + MEMORY)
}

function expectCorrected(after: Map<string, Job<string>>, before: Map<string, Job<string>>): void {
  expect([...after.keys()]).toEqual([...before.keys()])
  const [was, is] = [before, after].map((jobs) => (name: string) => must(jobs.get(name)))
  expectMoved(is!("backing off").runAt, was!("backing off").runAt)
  expectMoved(is!("leased").claimExpiresAt, was!("leased").claimExpiresAt)
  expectMoved(is!("delayed").runAt, was!("delayed").runAt)
  expectMoved(is!("delayed").expiresAt, was!("delayed").expiresAt)
  expect(is!("at an instant").runAt).toBe(was!("at an instant").runAt)
  for (const [name, { createdAt, claimedAt, attempts }] of before) {
    expect(is!(name), name).toMatchObject({ createdAt, claimedAt, attempts })
  }
}

test("what was made while it was ahead is due as soon after the correction; both contexts see that", async () => {
  const { clock, queues: [a, b] } = await start(START)
  await a.enqueue("before", { runAt: START - HOUR })
  expect(await (await claim(a)).ack()).toBe(true)
  clock.set(AHEAD)
  await makeAll(a, AHEAD)
  const before = await listed(b)
  clock.set(CORRECTED)
  const after = await listed(b)
  expectCorrected(after, before)
  expect(await listed(a), "it moves once").toEqual(after)

  const due = async (name: string, queue: Queue<string>): Promise<void> => {
    const { runAt } = must(after.get(name))
    clock.set(runAt - 1)
    expect(await queue.claimOne("early")).toBe(null)
    clock.set(runAt)
    const claimed = await claim(queue, "on time")
    expect(claimed.payload).toBe(name)
    expect(await claimed.ack()).toBe(true)
  }
  await due("backing off", b)
  clock.set(must(must(after.get("leased")).claimExpiresAt))
  expect(await b.claimOne("early"), "its holder still has it").toBe(null)
  clock.set(clock.now() + 1)
  const lapsed = await claim(b, "next holder")
  expect([lapsed.payload, lapsed.attempts]).toEqual(["leased", 2])
  expect(await lapsed.ack()).toBe(true)
  await due("delayed", a)
  await due("at an instant", b)
  expect(await a.list()).toEqual([])
})

test("a holder keeps its lease over the correction, and settles in time", async () => {
  const { clock, queues: [a, b] } = await start(AHEAD)
  const leased = await makeAll(a, AHEAD)
  clock.set(CORRECTED)
  expect(await b.claimOne("greedy")).toBe(null)
  clock.set(CORRECTED + 2 * MINUTE)
  expect(await leased.heartbeat("1m")).toBe(true)
  expect((await listed(b)).get("leased")).toMatchObject({ claimExpiresAt: CORRECTED + 3 * MINUTE })
  expect(await leased.ack()).toBe(true)
})

test("the database remembers: a context that opens after the correction is the one that finds out", async () => {
  const { clock, stores, queues: [a], another } = await start(AHEAD)
  await makeAll(a, AHEAD)
  const before = await listed(a)
  for (const store of stores) await store.close()
  clock.set(CORRECTED)
  expectCorrected(await listed((await another()).queue<string>("mail")), before)
})

test("hours forwards make all of it due, and a lapsed holder is refused, before the correction and after", async () => {
  const { clock, queues: [a, b] } = await start(START)
  const leased = await makeAll(a, START)
  clock.set(AHEAD)
  const claimed = await b.claimBatch("ahead", 10)
  // By ready time: "leased" was ready first, then what was backing off.
  expect(payloads(claimed)).toEqual(["leased", "backing off", "delayed", "at an instant"])
  expect(await leased.ack()).toBe(false)
  clock.set(CORRECTED)
  expect(await leased.ack()).toBe(false)
  expect(await a.claimOne("corrected"), "all are held").toBe(null)
  expect(await Promise.all(claimed.map((job) => job.ack()))).toEqual([true, true, true, true])
  expect(await a.list()).toEqual([])
})

test("a wait and a leader go on through both steps, not silent for longer than they would have been", async () => {
  const { clock, stores: [a, b], queues: [, queue] } = await start(START)
  await a.schedule("report", "@every 30s", "reports", null)
  const leading = follow(a.runSchedules())
  const reports = b.queue("reports")
  const firedAt: number[] = []
  /** Lets time pass until `done`, for at most `seconds`. */
  const until = async (done: () => boolean | Promise<boolean>, seconds: number): Promise<void> => {
    for (let passed = 0; !(await done()); passed++) {
      expect(passed, `${seconds} s have passed`).toBeLessThan(seconds)
      await clock.advance("1s")
      const jobs = await reports.claimBatch("reader", 100)
      await reports.ackBatch(jobs.map((job) => job.id))
      firedAt.push(...jobs.map((job) => job.createdAt))
    }
  }
  await until(() => firedAt.length === 1, 40)

  clock.set(AHEAD)
  await until(() => firedAt.length > 1, 10)
  expect(firedAt.length, "caught up within the cap").toBe(1 + 64)
  await queue.enqueue("soon", { delay: "20s" })
  const waiting = follow(queue.wait())
  await b.schedules()

  clock.set(clock.now() - BACK)
  const corrected = clock.now()
  await until(() => waiting.state === "resolved", 40)
  expect(payloads(await queue.claimBatch("w", 1))).toEqual(["soon"])
  await until(() => firedAt.some((at) => at >= corrected && at < AHEAD), 50)
  expect(leading.state).toBe("waiting")
})
