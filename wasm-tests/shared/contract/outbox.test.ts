import { describe, expect, test } from "vitest"
import type { ClaimedJob } from "alkstore-wasm"
import { SECOND, START, fieldsOf, follow, gate, must, start, untyped } from "../support.js"

async function startOutbox() {
  const fixture = await start()
  return { ...fixture, outbox: fixture.store.outbox<string>("orders") }
}

test("runOnce answers whether there was a job", async () => {
  const { outbox, clock } = await startOutbox()
  let calls = 0
  expect(await outbox.runOnce("w1", () => void calls++)).toBe(false)
  await outbox.enqueue("later", { delay: "5s" })
  expect(await outbox.runOnce("w1", () => void calls++)).toBe(false)
  expect(calls).toBe(0)
  clock.set(START + 5000)
  expect(await outbox.runOnce("w1", () => void calls++)).toBe(true)
  expect(calls).toBe(1)
})

test("an outbox has no options: InvalidArgument, and says where they go", async () => {
  const { store } = await startOutbox()
  for (const options of [{ visibilityTimeout: "5m" }, {}, 7]) {
    const message: unknown = expect.stringMatching(/^options must be absent: .* enqueue does, got /)
    expect(() => untyped(store).outbox("orders", options)).toThrow(expect.objectContaining({ code: "InvalidArgument", message }))
  }
  for (const none of [undefined, null]) untyped(store).outbox("orders", none)
})

test("the delivery is handed the claimed job", async () => {
  const { outbox, clock } = await startOutbox()
  const id = await outbox.enqueue("order 1", { priority: 3 })
  clock.set(START + 5)
  let seen: ClaimedJob<string> | null = null
  await outbox.runOnce("worker 7", (job) => {
    seen = job
  })
  expect(fieldsOf(must(seen as ClaimedJob<string> | null))).toEqual({
    id, queue: "__alkstore_outbox:orders", state: "processing", payload: "order 1", priority: 3, runAt: START,
    attempts: 1,
    maxAttempts: 5, workerId: "worker 7", claimedAt: START + 5, claimExpiresAt: START + 5 + 60 * SECOND,
    createdAt: START,
    expiresAt: null, visibilityTimeout: 60 * SECOND, backoffBase: 5 * SECOND, deadLetterRetention: null,
    lastError: null, diedAt: null,
  })
})

describe("success acks", () => {
  test.each<[what: string, deliver: () => unknown]>([
    ["nothing returned", () => {}],
    ["false returned", () => false],
    ["an Error returned", () => new Error("not thrown")],
    ["a promise fulfilled", () => Promise.resolve("done")],
    ["a promise fulfilled later", async () => {
      for (let i = 0; i < 10; i++) await null
    }],
    ["a thenable fulfilled", () => ({ then: (resolve: (value: number) => void) => resolve(1) })],
  ])("with %s", async (_, deliver) => {
    const { outbox } = await startOutbox()
    await outbox.enqueue("order")
    expect(await outbox.runOnce("w1", deliver)).toBe(true)
    expect(await outbox.list()).toEqual([])
  })
})

describe("failure retries, with a backoff and without keeping the error", () => {
  const boom = new Error("boom")

  test.each<[what: string, deliver: () => unknown]>([
    ["a throw", () => { throw boom }],
    ["a rejection", () => Promise.reject(boom)],
    ["a thrown string", () => { throw "boom" }],
    ["undefined thrown", () => { throw undefined }],
    ["a rejection with null", () => Promise.reject(null)],
    ["a thenable that rejects", () => ({ then: (_: unknown, reject: (error: unknown) => void) => reject(boom) })],
  ])("after %s", async (_, deliver) => {
    const { outbox, clock } = await startOutbox()
    const id = await outbox.enqueue("order")
    expect(await outbox.runOnce("w1", deliver)).toBe(true)
    const job = must(await outbox.get(id))
    expect(job).toMatchObject({
      state: "pending",
      attempts: 1,
      workerId: null,
      claimedAt: null,
      claimExpiresAt: null,
      lastError: null,
    })
    expect(job.runAt).toBeGreaterThanOrEqual(START + 2500)
    expect(job.runAt).toBeLessThanOrEqual(START + 5000)
    clock.set(START + 5000)
    expect(await outbox.runOnce("w1", () => {})).toBe(true)
    expect(await outbox.list()).toEqual([])
  })
})

describe("the last failure's message reaches the dead job", () => {
  const cases: [what: string, value: unknown, text: string][] = [
    ["an Error", new Error("boom"), "boom"], ["a string", "plain", "plain"], ["an empty string", "", ""],
    ["a number", 500, "500"],
    ["undefined", undefined, "undefined"], ["null", null, "null"], ["false", false, "false"],
    ["a symbol", Symbol("s"), "Symbol(s)"],
  ]

  test.each(cases)("%s", async (_, value, text) => {
    for (const deliver of [() => Promise.reject(value), () => { throw value }]) {
      const { outbox } = await startOutbox()
      const id = await outbox.enqueue("order", { maxAttempts: 1 })
      expect(await outbox.runOnce("w1", deliver)).toBe(true)
      expect(await outbox.get(id)).toMatchObject({ state: "dead", lastError: text, attempts: 1, diedAt: START })
    }
  })

  test("after five attempts, unless told otherwise", async () => {
    const { outbox, clock } = await startOutbox()
    const id = await outbox.enqueue("order")
    for (let attempt = 1; attempt <= 5; attempt++) {
      clock.set(must(await outbox.get(id)).runAt)
      expect(await outbox.runOnce("w1", (job) => Promise.reject(new Error(`attempt ${job.attempts}`)))).toBe(true)
    }
    expect(await outbox.get(id)).toMatchObject({ state: "dead", attempts: 5, lastError: "attempt 5" })
  })
})

describe("no heartbeat is issued during a delivery", () => {
  test("one that outlasts the visibility timeout loses its job, and its late success changes nothing", async () => {
    const { outbox, clock } = await startOutbox()
    const id = await outbox.enqueue("order")
    const slow = gate()
    const first = outbox.runOnce("w1", () => slow.opened)
    await clock.settle()
    expect(clock.pending).toBe(0)
    await clock.advance("60.001s")
    const second = gate()
    const retry = outbox.runOnce("w1", () => second.opened)
    await clock.settle()
    slow.open()
    expect(await first).toBe(true)
    expect(await outbox.get(id)).toMatchObject({ state: "processing", attempts: 2 })
    second.open()
    expect(await retry).toBe(true)
    expect(await outbox.get(id)).toBe(null)
  })

  test("job.heartbeat is there for the callback", async () => {
    const { outbox, clock } = await startOutbox()
    await outbox.enqueue("order")
    const slow = gate()
    const run = outbox.runOnce("w1", async (job) => {
      expect(await job.heartbeat("10m")).toBe(true)
      await slow.opened
    })
    await clock.advance("9m")
    expect(await outbox.runOnce("w2", () => {})).toBe(false)
    slow.open()
    expect(await run).toBe(true)
    expect(await outbox.list()).toEqual([])
  })
})

describe("a delivery may settle its own job", () => {
  test.each<[how: string, settle: (job: ClaimedJob<string>) => Promise<boolean>, left: object[]]>([
    ["ack", (job) => job.ack(), []],
    ["fail", (job) => job.fail("no such user"), [{ state: "dead", lastError: "no such user" }]],
    ["retry", (job) => job.retry("later", "1h"), [{ state: "pending", runAt: START + 3_600_000 }]],
  ])("by %s, and what follows it changes nothing", async (_, settle, left) => {
    for (const after of [() => {}, () => { throw new Error("after") }]) {
      const { outbox } = await startOutbox()
      await outbox.enqueue("order")
      expect(await outbox.runOnce("w1", async (job) => {
        expect(await settle(job)).toBe(true)
        after()
      })).toBe(true)
      expect(await outbox.list()).toMatchObject(left)
    }
  })
})

test("deliveries run outside any lock or transaction of the engine: many at once, each with its own job", async () => {
  const { store, outbox, clock } = await startOutbox()
  for (let i = 0; i < 5; i++) await outbox.enqueue(`order ${i}`)
  const all = gate()
  const seen: string[] = []
  const runs = Array.from({ length: 5 }, (_, i) => follow(outbox.runOnce(`w${i}`, (job) => {
    seen.push(job.payload)
    return all.opened
  })))
  await clock.settle()
  expect(seen.sort()).toEqual(["order 0", "order 1", "order 2", "order 3", "order 4"])
  await store.queue("other").enqueue("meanwhile")
  expect(await store.queue("other").stats()).toMatchObject({ pending: 1 })
  all.open()
  await clock.settle()
  expect(runs.every((fate) => fate.value === true)).toBe(true)
  expect(await outbox.list()).toEqual([])
})

test("one poisoned job does not block those behind it", async () => {
  const { outbox } = await startOutbox()
  await outbox.enqueue("poison")
  await outbox.enqueue("good")
  const delivered: string[] = []
  const deliver = (job: ClaimedJob<string>): void => {
    if (job.payload === "poison") throw new Error("poison")
    delivered.push(job.payload)
  }
  await outbox.runOnce("w1", deliver)
  await outbox.runOnce("w1", deliver)
  expect(delivered).toEqual(["good"])
})

test("outboxes of different names are apart, each with the calls of a queue", async () => {
  const { store, outbox } = await startOutbox()
  const id = await outbox.enqueue("order")
  const other = store.outbox("notes")
  expect(outbox.name).toBe("orders")
  expect(await other.runOnce("w1", () => {})).toBe(false)
  expect(await other.get(id)).toBe(null)
  expect(await other.cancel(id)).toBe(false)
  expect(await outbox.get(id)).toMatchObject({ queue: "__alkstore_outbox:orders" })
  expect(await outbox.list({ state: "pending" })).toHaveLength(1)
  expect(await outbox.stats()).toMatchObject({ pending: 1, ready: 1 })
  expect(await outbox.cancel(id)).toBe(true)
  expect(await outbox.list()).toEqual([])
})

test("a refused call of runOnce claims nothing", async () => {
  const { outbox } = await startOutbox()
  await outbox.enqueue("order")
  await expect(outbox.runOnce("", () => {})).rejects.toMatchObject({ code: "InvalidName" })
  expect(await outbox.list()).toMatchObject([{ state: "pending", attempts: 0 }])
})
