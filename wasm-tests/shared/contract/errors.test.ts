import { describe, expect, test } from "vitest"
import { AlkstoreError } from "alkstore-wasm"
import type { Store } from "alkstore-wasm"
import { rejection, start, startQueue, thrown, untyped } from "../support.js"

test("an error is an Error with a code and a message", async () => {
  const { store } = await start()
  const error = thrown(() => store.queue(""))
  expect(error).toBeInstanceOf(Error)
  expect(error).toBeInstanceOf(AlkstoreError)
  expect(error.name).toBe("AlkstoreError")
  expect(error.code).toBe("InvalidName")
  expect(error.message).not.toBe("")
})

type Call = (store: Store) => Promise<unknown>

describe("checks come in argument order: names, then numbers and options, then the spec", () => {
  test.each<[code: string, what: string, call: Call]>([
    ["InvalidName", "a lock's bad name before its bad owner and ttl", (store) => store.tryLock(" ", "", NaN)],
    [
      "ReservedName",
      "a lock's reserved name before its bad owner and ttl",
      (store) => store.tryLock("__alkstore_x", "", NaN),
    ],
    ["InvalidName", "a lock's bad owner before its bad ttl", (store) => store.tryLock("report", "", NaN)],
    [
      "ReservedName",
      "a schedule's reserved name before its bad queue",
      (store) => store.schedule("__alkstore_s", "never", "", null, { priority: NaN }),
    ],
    [
      "InvalidName",
      "a schedule's bad name before its reserved queue",
      (store) => store.schedule("", "never", "__alkstore_q", null, { priority: NaN }),
    ],
    [
      "InvalidName",
      "a schedule's bad queue before its options and spec",
      (store) => store.schedule("report", "never", "", null, { priority: NaN }),
    ],
    [
      "InvalidArgument",
      "a schedule's options before its spec",
      (store) => store.schedule("report", "never", "mail", null, { priority: NaN }),
    ],
    [
      "InvalidArgument",
      "a schedule's unknown option before its spec",
      (store) => store.schedule("report", "never", "mail", null, untyped({ colour: 1 })),
    ],
    [
      "InvalidSpec",
      "a schedule's spec at last",
      (store) => store.schedule("report", "never", "mail", null, { priority: 1 }),
    ],
    ["InvalidName", "a batch's bad worker before its bad number", (store) => store.queue("mail").claimBatch("", NaN)],
    ["InvalidName", "a batch's bad worker before an empty result", (store) => store.queue("mail").claimBatch("", 0)],
    ["InvalidName", "a queue's bad name before its options", async (store) => store.queue("", { maxAttempts: NaN })],
    [
      "ReservedName",
      "a staged enqueue's name before its options",
      (store) => store.transaction((tx) => tx.enqueue("__alkstore_x", null, { delay: NaN })),
    ],
    ["InvalidName", "a staged read's name before its id", (store) => store.transaction((tx) => tx.get("", NaN))],
  ])("%s: %s", async (code, _, call) => {
    const { store } = await start()
    expect(await rejection(() => call(store))).toMatchObject({ code })
  })
})

describe("nothing is stored by a call that is refused", () => {
  const COPIES_NOT: [what: string, value: unknown][] = [
    ["a function", () => 1],
    ["a symbol", Symbol("s")],
    ["a promise", Promise.resolve(1)],
    ["a function deep inside", { list: [{ deep: () => 1 }] }],
    ["a symbol in a Map", new Map([["key", Symbol("s")]])],
    ["a WeakMap", new WeakMap()],
  ]

  test.each(COPIES_NOT)("a payload that is %s is Codec", async (_, payload) => {
    const { store, queue } = await startQueue()
    const outbox = store.outbox("mail")
    for (const call of [
      () => queue.enqueue(payload),
      () => outbox.enqueue(payload),
      () => store.schedule("report", "@every 1s", "mail", payload),
      () => store.transaction((tx) => tx.enqueue("mail", payload)),
      () => store.transaction((tx) => tx.outboxEnqueue("mail", payload)),
    ]) {
      const error = await rejection(call)
      expect(error.code).toBe("Codec")
      expect(error.cause).toBeDefined()
    }
    expect(await queue.list()).toEqual([])
    expect(await outbox.list()).toEqual([])
    expect(await store.schedules()).toEqual([])
  })

  test("a refused registration leaves the schedule as it was", async () => {
    const { store } = await start()
    await store.schedule("report", "@every 5s", "mail", null, { priority: 1 })
    const before = await store.schedules()
    await rejection(() => store.schedule("report", "@every", "mail", null))
    await rejection(() => store.schedule("report", "@every 9s", "mail", () => 1))
    await rejection(() => store.schedule("report", "@every 9s", "mail", null, { expires: NaN }))
    expect(await store.schedules()).toEqual(before)
  })
})

test("there being nothing to do is a value, not an error", async () => {
  const { store, queue } = await startQueue()
  expect(await queue.claimOne("w1")).toBe(null)
  expect(await queue.claimBatch("w1", 5)).toEqual([])
  expect(await queue.get(1)).toBe(null)
  expect(await queue.cancel(1)).toBe(false)
  expect(await queue.list()).toEqual([])
  expect(await queue.ackBatch([])).toBe(0)
  expect(await queue.redrive()).toBe(0)
  expect(await queue.purge()).toBe(0)
  expect(await queue.sweepExpired()).toBe(0)
  expect(await queue.stats()).toEqual({ pending: 0, ready: 0, processing: 0, dead: 0, nextDeadline: null })
  expect(await store.outbox("mail").runOnce("w1", () => {})).toBe(false)
  expect(await store.unschedule("report")).toBe(false)
  expect(await store.schedules()).toEqual([])
  expect(await store.transaction(() => "done")).toBe("done")
})
