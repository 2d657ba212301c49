import { describe, expect, test } from "vitest"
import { open } from "alkstore-wasm"
import type { ClaimedJob, Queue } from "alkstore-wasm"
import type { ManualClock } from "alkstore-wasm/testing"
import { HOUR, START, claim, fieldsOf, ids, must, startQueue, untyped } from "../support.js"

const TIMEOUT = 30_000

const OPERATIONS: [name: string, settle: (job: ClaimedJob<unknown>) => Promise<boolean>][] = [
  ["ack", (job) => job.ack()],
  ["retry", (job) => job.retry("error", 0)],
  ["fail", (job) => job.fail("error")],
  ["heartbeat", (job) => job.heartbeat(1000)],
]

interface Scene {
  queue: Queue<unknown>
  clock: ManualClock
  job: ClaimedJob<unknown>
}

async function claimed(options = {}): Promise<Scene> {
  const { queue, clock } = await startQueue({ visibilityTimeout: TIMEOUT, ...options })
  await queue.enqueue("letter", { maxAttempts: 5 })
  return { queue, clock, job: await claim(queue, "w1") }
}

describe.each(OPERATIONS)("%s", (name, settle) => {
  test.each<[when: string, change: (scene: Scene) => unknown]>([
    ["at once", () => {}],
    ["at the deadline itself", ({ clock }) => clock.set(START + TIMEOUT)],
    ["after a heartbeat, past the first deadline", async ({ clock, job }) => {
      await job.heartbeat(HOUR)
      clock.set(START + TIMEOUT + 1)
    }],
    ["after a step back of the clock", ({ clock }) => clock.set(START - 30_000)],
  ])("lands %s", async (_, change) => {
    const scene = await claimed()
    await change(scene)
    expect(await settle(scene.job)).toBe(true)
  })

  test("lands on a job that expired meanwhile: expiry does not end a claim", async () => {
    const { queue, clock } = await startQueue({ visibilityTimeout: TIMEOUT })
    await queue.enqueue(null, { expires: 1000 })
    const job = await claim(queue)
    clock.set(START + 1000)
    expect(await settle(job)).toBe(true)
  })

  test.each<[when: string, change: (scene: Scene) => unknown]>([
    ["a millisecond past the deadline", ({ clock }) => clock.set(START + TIMEOUT + 1)],
    ["once another holds the job", async ({ clock, queue }) => {
      clock.set(START + TIMEOUT + 1)
      await claim(queue, "w2")
    }],
    ["once the same worker id holds it by a new claim", async ({ clock, queue }) => {
      clock.set(START + TIMEOUT + 1)
      await claim(queue, "w1")
    }],
    ["once the next holder has heartbeaten", async ({ clock, queue }) => {
      clock.set(START + TIMEOUT + 1)
      await (await claim(queue, "w1")).heartbeat(HOUR)
    }],
    ["after an ack", ({ job }) => job.ack()],
    ["after a retry", ({ job }) => job.retry(null, 0)],
    ["after a retry and a claim by the same worker id", async ({ job, queue }) => {
      await job.retry(null, 0)
      await claim(queue, "w1")
    }],
    ["after a fail", ({ job }) => job.fail()],
    ["after a fail, a redrive and a claim by the same worker id", async ({ job, queue }) => {
      await job.fail()
      await queue.redrive()
      await claim(queue, "w1")
    }],
    ["after a cancel", ({ job, queue }) => queue.cancel(job.id)],
    ["after an ackBatch", ({ job, queue }) => queue.ackBatch([job.id])],
    ["after a heartbeat that was not positive", async ({ job }) => void (await job.heartbeat(-1))],
  ])("answers false and changes nothing %s", async (_, change) => {
    const scene = await claimed()
    await change(scene)
    const before = (await scene.queue.list()).map(fieldsOf)
    expect(await settle(scene.job)).toBe(false)
    expect((await scene.queue.list()).map(fieldsOf)).toEqual(before)
  })

  test("answers false once the sweep has moved the job", async () => {
    const { queue, clock } = await startQueue({ visibilityTimeout: TIMEOUT })
    await queue.enqueue(null, { expires: 1000 })
    const job = await claim(queue)
    clock.set(START + 1000)
    await queue.sweepExpired()
    expect(await settle(job)).toBe(false)
    expect(await queue.get(job.id)).toMatchObject({ state: "dead", lastError: "expired" })
  })

  test("lands once, of two at the same time", async () => {
    const { job } = await claimed()
    const answers = await Promise.all([settle(job), job.ack()])
    expect(answers).toEqual([true, name === "heartbeat"])
  })
})

test("an ack removes the job: completed work leaves no row", async () => {
  const { queue, job } = await claimed()
  expect(await job.ack()).toBe(true)
  expect(await queue.get(job.id)).toBe(null)
  expect(await queue.list()).toEqual([])
})

describe("a retry with attempts left", () => {
  test("puts the job back to pending, with nothing of the claim and no error kept", async () => {
    const { queue, clock, job } = await claimed()
    clock.set(START + 500)
    expect(await job.retry("it broke", 2000)).toBe(true)
    expect(fieldsOf(must(await queue.get(job.id)))).toEqual({
      ...fieldsOf(job), state: "pending", runAt: START + 2500, workerId: null, claimedAt: null, claimExpiresAt: null,
      lastError: null,
    })
  })

  test.each([null, undefined])("and a delay of %s draws the backoff", async (delay) => {
    const { queue, job } = await claimed({ backoffBase: 1000 })
    await job.retry("it broke", untyped(delay))
    const { runAt } = must(await queue.get(job.id))
    expect(runAt).toBeGreaterThanOrEqual(START + 500)
    expect(runAt).toBeLessThanOrEqual(START + 1000)
  })

  test("leaves the attempts as they were: the next claim adds one", async () => {
    const { queue, job } = await claimed()
    await job.retry(null, 0)
    expect(await queue.get(job.id)).toMatchObject({ attempts: 1 })
    expect(await claim(queue)).toMatchObject({ attempts: 2 })
  })
})

describe("equal jitter", () => {
  test.each<[base: number, attempts: number, cap: number]>([
    [1000, 1, 1000], [1000, 2, 2000], [1000, 3, 4000], [1000, 4, 8000], [5000, 1, 5000], [5000, 10, 2_560_000],
    [5000, 11, HOUR], [5000, 12, HOUR], [5000, 70, HOUR], [HOUR, 1, HOUR], [2 * HOUR, 1, HOUR], [0, 5, 0], [1, 1, 1],
    [1, 64, HOUR],
  ])("with a base of %d, attempt %d waits between half of %d and all of it", async (backoffBase, attempts, cap) => {
    const { queue, clock } = await startQueue({ backoffBase, maxAttempts: 100 })
    await queue.enqueue(null)
    for (let i = 1; i < attempts; i++) await (await claim(queue)).retry(null, 0)
    const job = await claim(queue)
    expect(job.attempts).toBe(attempts)
    await job.retry()
    const wait = must(await queue.get(job.id)).runAt - clock.now()
    expect(wait).toBeGreaterThanOrEqual(Math.floor(cap / 2))
    expect(wait).toBeLessThanOrEqual(cap)
    expect(Number.isInteger(wait)).toBe(true)
  })

  test("is drawn uniformly from that range", async () => {
    const { reopen } = await startQueue()
    const queue = (await reopen({ seed: 7 })).queue("jitter", { backoffBase: 100_000 })
    const waits: number[] = []
    for (let i = 0; i < 1000; i++) {
      await queue.enqueue(null)
      const job = await claim(queue)
      await job.retry()
      waits.push(must(await queue.get(job.id)).runAt - START)
      await queue.cancel(job.id)
    }
    const quarters = [0, 0, 0, 0]
    for (const wait of waits) quarters[Math.min(3, Math.floor((wait - 50_000) / 12_500))]!++
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(50_000)
    expect(Math.max(...waits)).toBeLessThanOrEqual(100_000)
    for (const quarter of quarters) expect(quarter).toBeGreaterThan(180)   // 250 less five standard deviations
  })

  test("is fixed by the seed", async () => {
    const draws = async (seed: number): Promise<number[]> => {
      const store = await open({ seed, clock: { now: () => START, sleep: () => Promise.resolve() } })
      const queue = store.queue("mail", { backoffBase: HOUR })
      const waits: number[] = []
      for (let i = 0; i < 10; i++) {
        const id = await queue.enqueue(null)
        await (await claim(queue)).retry()
        waits.push(must(await queue.get(id)).runAt)
      }
      await store.close()
      return waits
    }
    const first = await draws(1)
    expect(await draws(1)).toEqual(first)
    expect(await draws(2)).not.toEqual(first)
    expect(new Set(first).size).toBeGreaterThan(1)
  })
})

describe("a retry with no attempts left goes to dead", () => {
  test.each([
    ["it broke", "it broke"],
    [undefined, "max attempts exceeded"],
    [null, "max attempts exceeded"],
    [new Error("boom"), "boom"],
  ])("retry(%o) leaves %j", async (error, lastError) => {
    const { queue, clock } = await startQueue({ maxAttempts: 1 })
    await queue.enqueue(null)
    const job = await claim(queue)
    clock.set(START + 5)
    expect(await job.retry(error, 1000)).toBe(true)
    expect(fieldsOf(must(await queue.get(job.id)))).toEqual({
      ...fieldsOf(job),
      state: "dead",
      workerId: null,
      claimExpiresAt: null,
      lastError,
      diedAt: START + 5,
    })
  })
})

describe("a fail goes to dead at once, whatever attempts are left", () => {
  test.each([
    ["no such user", "no such user"],
    [undefined, "failed"],
    [null, "failed"],
  ])("fail(%o) leaves %j", async (error, lastError) => {
    const { queue, clock, job } = await claimed()
    clock.set(START + 5)
    expect(await job.fail(error)).toBe(true)
    expect(fieldsOf(must(await queue.get(job.id)))).toEqual({
      ...fieldsOf(job),
      state: "dead",
      workerId: null,
      claimExpiresAt: null,
      lastError,
      diedAt: START + 5,
    })
  })
})

describe("an error is kept as text", () => {
  class Custom extends TypeError {}

  test.each<[what: string, error: unknown, text: string]>([
    ["an Error, by its message", new Error("boom"), "boom"],
    ["a subclass", new Custom("odd"), "odd"],
    ["an Error without a message", new Error(), ""],
    ["a string", "plain", "plain"],
    ["an empty string", "", ""],
    ["text beyond ASCII", "naïve \u{1f600}\u0000", "naïve \u{1f600}\u0000"],
    ["a number", 404, "404"],
    ["zero", 0, "0"],
    ["NaN", NaN, "NaN"],
    ["false", false, "false"],
    ["a bigint", 10n ** 20n, "100000000000000000000"],
    ["a symbol", Symbol("sign"), "Symbol(sign)"],
    ["an array", [1, 2], "1,2"],
    ["an object", { code: 1 }, "[object Object]"],
    ["an object with a toString", { toString: () => "said so" }, "said so"],
  ])("%s", async (_, error, text) => {
    for (const settle of ["fail", "retry"] as const) {
      const { queue } = await startQueue({ maxAttempts: 1 })
      await queue.enqueue(null)
      const job = await claim(queue)
      expect(await job[settle](error)).toBe(true)
      expect(await queue.get(job.id)).toMatchObject({ lastError: text })
    }
  })

  const throwing = (): never => {
    throw new Error("no")
  }

  test.each<[what: string, error: unknown, type: RegExp]>([
    ["an object without a prototype", Object.create(null), /object/i],
    ["an object whose toString throws", { toString: throwing }, /object/i],
    ["an object whose toString is no function", { toString: 1, valueOf: 1 }, /object/i],
    [
      "a Proxy that throws at every touch",
      new Proxy({}, { get: throwing, getPrototypeOf: throwing, has: throwing }),
      /object/i,
    ],
    ["a revoked Proxy", revoked({}), /object/i],
    ["a revoked function Proxy", revoked(() => {}), /function|object/i],
  ])("%s, by its type", async (_, error, type) => {
    const { queue, job } = await claimed()
    expect(await job.fail(error)).toBe(true)
    expect(must(await queue.get(job.id)).lastError).toMatch(type)
  })
})

function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

describe("a heartbeat", () => {
  test("sets the deadline anew from now, may be repeated, and leaves claimedAt", async () => {
    const { queue, clock, job } = await claimed()
    for (const [at, extend] of [[10, 5000], [20, 40_000], [30, 100], [130, 10]] as const) {
      clock.set(START + at)
      expect(await job.heartbeat(extend)).toBe(true)
      expect(await queue.get(job.id)).toMatchObject({
        claimExpiresAt: START + at + extend,
        claimedAt: START,
        attempts: 1,
        workerId: "w1",
      })
    }
  })

  test("that is not positive lets the claim lapse", async () => {
    const { queue, job } = await claimed()
    expect(await job.heartbeat(-1)).toBe(true)
    expect(await queue.claimOne("w2")).toMatchObject({ id: job.id, attempts: 2 })
  })
})

describe("ackBatch", () => {
  test("acks what is held, whoever claimed it, and counts a repeated id once", async () => {
    const { queue } = await startQueue()
    for (let i = 0; i < 3; i++) await queue.enqueue(i)
    const [first] = await queue.claimBatch("w1", 1)
    const [second] = await queue.claimBatch("w2", 1)
    expect(await queue.ackBatch([must(second).id, must(first).id, must(first).id])).toBe(2)
    expect(await queue.list()).toMatchObject([{ payload: 2 }])
  })

  test("leaves pending, dead, lapsed and unknown jobs, and those of other queues", async () => {
    const { store, queue, clock } = await startQueue({ visibilityTimeout: 1000 })
    const other = store.queue("other")
    await queue.enqueue("dead")
    await (await claim(queue)).fail()
    await queue.enqueue("lapsed")
    await claim(queue)
    await other.enqueue("held elsewhere")
    await claim(other)
    await store.outbox("mail").enqueue("outbox")
    clock.set(START + 1001)
    await queue.enqueue("pending")
    const all = [
      ...ids(await queue.list()),
      ...ids(await other.list()),
      ...ids(await store.outbox("mail").list()),
      99_999,
    ]
    expect(await queue.ackBatch(all)).toBe(0)
    expect(await queue.list()).toHaveLength(3)
    expect(await other.list()).toHaveLength(1)
  })

  test("acks at the deadline itself", async () => {
    const { queue, clock, job } = await claimed()
    clock.set(START + TIMEOUT)
    expect(await queue.ackBatch([job.id])).toBe(1)
  })
})

test("a job is a copy of what it was: later changes do not show in it", async () => {
  const { job } = await claimed()
  const before = fieldsOf(job)
  await job.heartbeat(HOUR)
  await job.fail("late")
  expect(fieldsOf(job)).toEqual(before)
})
