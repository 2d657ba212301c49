import { runInNewContext } from "node:vm"
import { expect, test } from "vitest"
import { START, claim, must, start, startQueue } from "../shared/support.js"

// Test runners and embedders hand over objects whose classes are not ours.

test("an Error of another realm is kept by its message", async () => {
  const { store, queue } = await startQueue()
  const foreign: unknown = runInNewContext(`new TypeError("boom")`)
  expect(foreign).not.toBeInstanceOf(Error)
  await queue.enqueue(null)
  const job = await claim(queue)
  await job.fail(foreign)
  expect(await queue.get(job.id)).toMatchObject({ lastError: "boom" })
  const id = await store.outbox("orders").enqueue(null, { maxAttempts: 1 })
  await store.outbox("orders").runOnce("w1", () => Promise.reject(foreign))
  expect(await store.outbox("orders").get(id)).toMatchObject({ lastError: "boom" })
})

test("a Date, an options object and an array of ids of another realm are what they are", async () => {
  const { queue } = await startQueue()
  const id = await queue.enqueue(null, runInNewContext(`({ runAt: new Date(${START} - 5), priority: 2 })`) as object)
  expect(await queue.get(id)).toMatchObject({ runAt: START - 5, priority: 2 })
  await claim(queue)
  expect(await queue.ackBatch(runInNewContext(`[${id}]`) as number[])).toBe(1)
})

test("a promise and a thenable of another realm are waited for", async () => {
  const { store, clock } = await start()
  const outbox = store.outbox("orders")
  const id = await outbox.enqueue(null, { maxAttempts: 1 })
  const rejects = runInNewContext(`async () => { await null; throw new Error("late") }`) as () => Promise<void>
  expect(await outbox.runOnce("w1", rejects)).toBe(true)
  expect(await outbox.get(id)).toMatchObject({ state: "dead", lastError: "late" })
  const committed = runInNewContext(
    `async (tx) => { await null; return tx.enqueue("mail", { to: "a" }) }`,
  ) as () => Promise<number>
  const staged = await store.transaction(committed)
  expect(await store.queue("mail").get(staged)).toMatchObject({ payload: { to: "a" }, createdAt: clock.now() })
})

test("a payload of another realm is copied like any other", async () => {
  const { queue } = await startQueue()
  const payload: unknown = runInNewContext(
    `({ list: [1, new Date(5)], map: new Map([["a", new Set([1])]]), bytes: new Uint8Array([1, 2]) })`,
  )
  const copy = must(await queue.get(await queue.enqueue(payload))).payload
  expect(copy).toEqual(structuredClone(payload))
})
