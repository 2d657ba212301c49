import { describe, expect, test } from "vitest"
import type { Store } from "alkstore-wasm"
import { must, rejection, start, thrown } from "../support.js"

type Call = (store: Store, name: string) => Promise<unknown>

/** A synchronous call, as a promise that rejects where it throws. */
const promised = (call: (store: Store, name: string) => unknown): Call => async (store, name) => call(store, name)

const SHARED: [where: string, call: Call][] = [
  ["queue", promised((store, name) => store.queue(name))],
  ["outbox", promised((store, name) => store.outbox(name))],
  ["tryLock's name", (store, name) => store.tryLock(name, "tab", 1000)],
  ["schedule's name", (store, name) => store.schedule(name, "@every 1s", "mail", null)],
  ["schedule's queue", (store, name) => store.schedule("report", "@every 1s", name, null)],
  ["unschedule", (store, name) => store.unschedule(name)],
  ["a transaction's enqueue", (store, name) => store.transaction((tx) => tx.enqueue(name, null))],
  ["a transaction's outboxEnqueue", (store, name) => store.transaction((tx) => tx.outboxEnqueue(name, null))],
  ["a transaction's get", (store, name) => store.transaction((tx) => tx.get(name, 1))],
]

const LOCAL: [where: string, call: Call][] = [
  ["a lock's owner", (store, owner) => store.tryLock("report", owner, 1000)],
  ["claimOne's workerId", (store, workerId) => store.queue("mail").claimOne(workerId)],
  ["claimBatch's workerId", (store, workerId) => store.queue("mail").claimBatch(workerId, 3)],
  ["runOnce's workerId", (store, workerId) => store.outbox("mail").runOnce(workerId, () => {})],
]

const INVALID = [
  "", " ", "\t\n\v\f\r", "\u0085", "\u00a0", "\u1680", "\u2000\u200a", "\u2028\u2029", "\u202f\u205f\u3000",
  "\ud800", "mail\udc00", "\udc00\ud800",
]
const VALID = [
  "mail", " mail ", "0", "名前", "\u{1f600}", "a\u0000b", "\u200b", "\ufeff", "__proto__", "constructor",
  "__alkstore", "__ALKSTORE_x", " __alkstore_x", "alkstore_", "x".repeat(2000),
]
const RESERVED = ["__alkstore_", "__alkstore_scheduler", "__alkstore_outbox:mail", "__alkstore_ "]

describe.each(SHARED)("the name given to %s", (_, call) => {
  test.each(INVALID)("%j is InvalidName", async (name) => {
    const { store } = await start()
    expect(await rejection(() => call(store, name))).toMatchObject({ code: "InvalidName" })
  })

  test.each(RESERVED)("%j is ReservedName, and the message says it", async (name) => {
    const { store } = await start()
    const error = await rejection(() => call(store, name))
    expect(error.code).toBe("ReservedName")
    expect(error.message).toContain(name)
  })

  test.each(VALID)("%j is accepted", async (name) => {
    const { store } = await start()
    await expect(call(store, name)).resolves.not.toThrow()
  })
})

describe.each(LOCAL)("%s", (_, call) => {
  test.each(INVALID)("%j is InvalidName", async (name) => {
    const { store } = await start()
    expect(await rejection(() => call(store, name))).toMatchObject({ code: "InvalidName" })
  })

  test.each([...VALID, ...RESERVED])("%j is accepted", async (name) => {
    const { store } = await start()
    await expect(call(store, name)).resolves.not.toThrow()
  })
})

test("queue() and outbox() throw at once", async () => {
  const { store } = await start()
  expect(thrown(() => store.queue("")).code).toBe("InvalidName")
  expect(thrown(() => store.queue("__alkstore_x")).code).toBe("ReservedName")
  expect(thrown(() => store.outbox(" ")).code).toBe("InvalidName")
  expect(thrown(() => store.outbox("__alkstore_x")).code).toBe("ReservedName")
})

test("names are kept to the letter: white space around them and their case tell them apart", async () => {
  const { store } = await start()
  for (const name of ["mail", " mail", "Mail", "mail\u0000"]) await store.queue(name).enqueue(name)
  for (const name of ["mail", " mail", "Mail", "mail\u0000"]) {
    const queue = store.queue(name)
    expect(queue.name).toBe(name)
    expect(await queue.list()).toMatchObject([{ queue: name, payload: name }])
  }
})

test("a queue, an outbox, a lock and a schedule of one name are four different things", async () => {
  const { store } = await start()
  await store.queue("mail").enqueue("queue")
  await store.outbox("mail").enqueue("outbox")
  await store.tryLock("mail", "tab", 1000)
  await store.schedule("mail", "@every 1s", "mail", null)
  expect(await store.queue("mail").list()).toMatchObject([{ payload: "queue" }])
  expect(await store.outbox("mail").list()).toMatchObject([{ payload: "outbox" }])
  expect(await store.schedules()).toHaveLength(1)
})

test("the queue behind an outbox is reached by the outbox calls alone", async () => {
  const { store } = await start()
  const id = await store.outbox("mail").enqueue("letter")
  const job = must(await store.outbox("mail").get(id))
  expect(job.queue).toBe("__alkstore_outbox:mail")
  expect(await store.queue("mail").get(id)).toBe(null)
  expect(thrown(() => store.queue(job.queue)).code).toBe("ReservedName")
})

test("a call refused for a name stores nothing", async () => {
  const { store } = await start()
  await rejection(() => store.schedule("report", "@every 1s", "", null))
  await rejection(() => store.schedule("", "@every 1s", "mail", null))
  await rejection(() => store.tryLock("report", "", 1000))
  await rejection(() => store.transaction((tx) => tx.enqueue("__alkstore_x", null)))
  expect(await store.schedules()).toEqual([])
  expect(await store.tryLock("report", "somebody", 1000)).not.toBe(null)
  expect(await store.queue("mail").list()).toEqual([])
})

test("a name refused inside a transaction, once caught, leaves the rest of it whole", async () => {
  const { store } = await start()
  const id = await store.transaction(async (tx) => {
    expect(await rejection(() => tx.enqueue("", null))).toMatchObject({ code: "InvalidName" })
    return tx.enqueue("mail", "letter")
  })
  expect(await store.queue("mail").list()).toMatchObject([{ id, payload: "letter" }])
})
