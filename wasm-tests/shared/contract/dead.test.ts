import { describe, expect, test } from "vitest"
import type { Queue } from "alkstore-wasm"
import { START, claim, fieldsOf, ids, must, start, startQueue } from "../support.js"

/** A queue with `count` dead jobs, and their ids. */
async function withDead(count: number) {
  const fixture = await startQueue<number>()
  for (let i = 0; i < count; i++) await fixture.queue.enqueue(i)
  const claimed = await fixture.queue.claimBatch("w1", count)
  for (const job of claimed) await job.fail(`error ${job.payload}`)
  return { ...fixture, dead: ids(claimed) }
}

describe("cancel", () => {
  test.each<[state: string, prepare: (queue: Queue<unknown>, id: number) => Promise<unknown>, cancelled: boolean]>([
    ["pending", async () => {}, true],
    ["processing, whoever holds it", (queue) => claim(queue, "somebody"), true],
    ["dead", async (queue) => (await claim(queue)).fail(), false],
    ["acked", async (queue) => (await claim(queue)).ack(), false],
    ["cancelled", async (queue, id) => queue.cancel(id), false],
  ])("of a job that is %s", async (_, prepare, cancelled) => {
    const { queue } = await startQueue()
    const id = await queue.enqueue(null)
    await prepare(queue, id)
    expect(await queue.cancel(id)).toBe(cancelled)
    if (cancelled) expect(await queue.get(id)).toBe(null)
  })

  test("of a delayed or an expired job removes it too", async () => {
    const { queue } = await startQueue()
    expect(await queue.cancel(await queue.enqueue(null, { delay: "1d" }))).toBe(true)
    expect(await queue.cancel(await queue.enqueue(null, { expires: -1 }))).toBe(true)
    expect(await queue.list()).toEqual([])
  })

  test("does not reach into another queue", async () => {
    const { store, queue } = await startQueue()
    const id = await queue.enqueue(null)
    expect(await store.queue("other").cancel(id)).toBe(false)
    expect(await store.outbox("mail").cancel(id)).toBe(false)
    expect(await queue.get(id)).not.toBe(null)
  })
})

describe("redrive", () => {
  test("puts a dead job back to pending, ready now, as if it had never been tried", async () => {
    const { queue, clock, dead } = await withDead(1)
    const before = must(await queue.get(must(dead[0])))
    expect(before).toMatchObject({ state: "dead", attempts: 1, claimedAt: START, lastError: "error 0", diedAt: START })
    clock.set(START + 500)
    expect(await queue.redrive()).toBe(1)
    expect(fieldsOf(must(await queue.get(before.id)))).toEqual({
      ...fieldsOf(before), state: "pending", runAt: START + 500, attempts: 0, claimedAt: null, lastError: null,
      diedAt: null,
    })
    expect(await claim(queue)).toMatchObject({ id: before.id, attempts: 1 })
  })

  test.each<[now: number, expiresAt: number | null]>([[999, START + 1000], [1000, null], [5000, null]])(
    "%d ms on, an expiry at 1000 ms is then %s",
    async (after, expiresAt) => {
      const { queue, clock } = await startQueue()
      await queue.enqueue(null, { expires: 1000 })
      const job = await claim(queue)
      await job.fail()
      clock.set(START + after)
      expect(await queue.redrive()).toBe(1)
      expect(await queue.get(job.id)).toMatchObject({ expiresAt })
      expect(await queue.claimOne("w1")).toMatchObject({ id: job.id })
    },
  )

  test("keeps payload, priority, stamps and the day it was created", async () => {
    const { store } = await start()
    const queue = store.queue("mail", { visibilityTimeout: 1, maxAttempts: 1, backoffBase: 2, deadLetterRetention: 3 })
    await queue.enqueue({ to: "a" }, { priority: 7 })
    const job = await claim(queue)
    await job.fail()
    await queue.redrive()
    expect(await queue.get(job.id)).toMatchObject({
      payload: { to: "a" }, priority: 7, visibilityTimeout: 1, maxAttempts: 1, backoffBase: 2, deadLetterRetention: 3,
      createdAt: START,
    })
  })
})

describe("purge", () => {
  test("deletes dead jobs and nothing else", async () => {
    const { queue, dead } = await withDead(2)
    await queue.enqueue(10)
    await claim(queue)
    await queue.enqueue(11)
    expect(await queue.purge()).toBe(2)
    for (const id of dead) expect(await queue.get(id)).toBe(null)
    expect(await queue.stats()).toMatchObject({ pending: 1, processing: 1, dead: 0 })
  })
})

describe.each(["redrive", "purge"] as const)("%s", (call) => {
  test("takes all of the queue without ids", async () => {
    const { queue } = await withDead(5)
    expect(await queue[call]()).toBe(5)
    expect(await queue.stats()).toMatchObject({ dead: 0 })
    expect(await queue[call]()).toBe(0)
  })

  test("takes more than a page of them", async () => {
    const { queue } = await withDead(250)
    expect(await queue[call]()).toBe(250)
  })

  test("takes none for an empty list", async () => {
    const { queue } = await withDead(2)
    expect(await queue[call]([])).toBe(0)
    expect(await queue.stats()).toMatchObject({ dead: 2 })
  })

  test("takes those named, once each, and passes over what is not dead or not there", async () => {
    const { queue, dead } = await withDead(3)
    const pending = await queue.enqueue(9)
    expect(await queue[call]([must(dead[1]), pending, 99_999, must(dead[1])])).toBe(1)
    expect(ids(await queue.list({ state: "dead" }))).toEqual([dead[0], dead[2]])
    expect(await queue.get(pending)).toMatchObject({ state: "pending" })
  })

  test("does not reach into another queue", async () => {
    const { store, queue, dead } = await withDead(1)
    expect(await store.queue("other")[call]()).toBe(0)
    expect(await store.queue("other")[call](dead)).toBe(0)
    expect(await store.outbox("mail")[call](dead)).toBe(0)
    expect(await queue.stats()).toMatchObject({ dead: 1 })
  })

  test("is there for an outbox", async () => {
    const { store } = await start()
    const outbox = store.outbox("mail")
    await outbox.enqueue(null, { maxAttempts: 1 })
    await outbox.runOnce("w1", () => Promise.reject(new Error("no")))
    expect(await outbox.stats()).toMatchObject({ dead: 1 })
    expect(await outbox[call]()).toBe(1)
    expect(await outbox.stats()).toMatchObject({ dead: 0 })
  })
})

test("a dead job is never handed out, acked or counted as ready", async () => {
  const { queue, dead } = await withDead(1)
  expect(await queue.claimOne("w2")).toBe(null)
  expect(await queue.ackBatch(dead)).toBe(0)
  expect(await queue.stats()).toEqual({ pending: 0, ready: 0, processing: 0, dead: 1, nextDeadline: null })
})
