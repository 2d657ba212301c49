import { describe, expect, test } from "vitest"
import { open } from "alkstore-wasm"
import type { Store } from "alkstore-wasm"
import { START, ids, rejection, start, startQueue, untyped } from "../support.js"

describe("options", () => {
  test.each([null, undefined])("one that is %s is absent", async (absent) => {
    const { store } = await start()
    const none = untyped(absent)
    const queue = store.queue("mail", {
      visibilityTimeout: none,
      maxAttempts: none,
      backoffBase: none,
      deadLetterRetention: none,
    })
    const id = await queue.enqueue(null, {
      delay: none,
      runAt: none,
      priority: none,
      maxAttempts: none,
      expires: none,
      transaction: none,
    })
    expect(await queue.get(id)).toMatchObject({
      runAt: START, priority: 0, maxAttempts: 3, expiresAt: null,
      visibilityTimeout: 300_000, backoffBase: 5000, deadLetterRetention: null,
    })
    expect(await queue.list({ state: none, limit: none, after: none })).toHaveLength(1)
    await store.schedule("report", "@every 1s", "mail", null, { priority: none, maxAttempts: none, expires: none })
    expect(await store.schedules()).toMatchObject([{ options: { priority: null, maxAttempts: null, expires: null } }])
    const other = await open({ storage: none, clock: none, seed: none })
    await other.close()
  })

  test.each([null, undefined])("%s in place of all options is none", async (absent) => {
    const { store } = await start()
    const queue = store.queue("mail", untyped(absent))
    expect(await queue.get(await queue.enqueue(null, untyped(absent)))).toMatchObject({ maxAttempts: 3, priority: 0 })
    expect(await queue.list(untyped(absent))).toHaveLength(1)
    await store.schedule("report", "@every 1s", "mail", null, untyped(absent))
    expect(await store.schedules()).toHaveLength(1)
  })

  test("a delay of null leaves runAt in force", async () => {
    const { queue } = await startQueue()
    expect(await queue.get(await queue.enqueue(null, { delay: untyped(null), runAt: 5 }))).toMatchObject({ runAt: 5 })
  })

  type Site = (store: Store, options: unknown) => Promise<unknown>
  const SITES: [where: string, call: Site][] = [
    ["open", (_, options) => open(untyped(options))],
    ["queue", async (store, options) => store.queue("mail", untyped(options))],
    ["enqueue", (store, options) => store.queue("mail").enqueue(null, untyped(options))],
    ["an outbox's enqueue", (store, options) => store.outbox("mail").enqueue(null, untyped(options))],
    ["list", (store, options) => store.queue("mail").list(untyped(options))],
    ["an outbox's list", (store, options) => store.outbox("mail").list(untyped(options))],
    ["schedule", (store, options) => store.schedule("report", "@every 1s", "mail", null, untyped(options))],
    ["runSchedules", (store, options) => store.runSchedules(AbortSignal.abort(), untyped(options))],
    [
      "a transaction's enqueue",
      (store, options) => store.transaction((tx) => tx.enqueue("mail", null, untyped(options))),
    ],
    [
      "a transaction's outboxEnqueue",
      (store, options) => store.transaction((tx) => tx.outboxEnqueue("mail", null, untyped(options))),
    ],
  ]

  describe.each(SITES)("of %s", (_, call) => {
    test.each(["colour", "Delay", "max_attempts", "visibility", "0", "toString"])(
      "an unknown key %s is refused whatever its value",
      async (key) => {
        const { store } = await start()
        for (const value of [1, "5s", null, undefined]) {
          const error = await rejection(() => call(store, { [key]: value }))
          expect(error.code).toBe("InvalidArgument")
          expect(error.message).toContain(key)
        }
        expect(await store.queue("mail").list()).toEqual([])
        expect(await store.schedules()).toEqual([])
      },
    )

  })

})

test("calls on one store take effect in the order in which they were made", async () => {
  const { queue } = await startQueue<string>()
  const [first, claimed, second, stats, cancelled, left] = await Promise.all([
    queue.enqueue("first"),
    queue.claimOne("w1"),
    queue.enqueue("second"),
    queue.stats(),
    queue.cancel(2),
    queue.list(),
  ])
  expect(claimed).toMatchObject({ id: first, payload: "first" })
  expect(stats).toMatchObject({ pending: 1, processing: 1 })
  expect(cancelled).toBe(second === 2)
  expect(ids(left)).toEqual(second === 2 ? [first] : [first, second])
})
