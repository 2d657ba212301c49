// Which operations share a transaction.

import "fake-indexeddb/auto"
import { expect, onTestFinished, test, vi } from "vitest"
import { open } from "alkstore-wasm"
import { indexedDb, upgrade } from "alkstore-wasm/indexeddb"
import { connect, freshName } from "../../shared/databases.js"

test("calls that are made in one turn share a transaction, in their order", async () => {
  const store = await open({ storage: indexedDb(freshName()) })
  onTestFinished(() => store.close())
  const queue = store.queue<number>("mail")
  await queue.enqueue(0)
  const begun = vi.spyOn(IDBDatabase.prototype, "transaction")
  onTestFinished(() => void begun.mockRestore())
  const enqueued = await Promise.all([1, 2, 3].map((n) => queue.enqueue(n)))
  expect(enqueued).toEqual([2, 3, 4])
  const jobs = await queue.claimBatch("w", 4)
  expect(jobs.map((job) => job.payload)).toEqual([0, 1, 2, 3])
  expect(await Promise.all(jobs.map((job) => job.ack()))).toEqual([true, true, true, true])
  expect(begun).toHaveBeenCalledTimes(3)
})

test("what is enqueued is sent in the turn that begins its transaction, once it is known that nobody else enqueues", async () => {
  const store = await open({ storage: indexedDb(freshName()) })
  onTestFinished(() => store.close())
  const queue = store.queue<number>("mail")
  await queue.enqueue(0)
  const log: string[] = []
  const { get, add } = IDBObjectStore.prototype
  onTestFinished(() => void Object.assign(IDBObjectStore.prototype, { get, add }))
  IDBObjectStore.prototype.get = function (key) {
    log.push("get")
    const request = get.call(this, key)
    request.addEventListener("success", () => log.push("got"))
    return request
  }
  IDBObjectStore.prototype.add = function (...given) {
    log.push("add")
    return add.apply(this, given)
  }
  expect(await queue.enqueue(1)).toBe(2)
  expect(log).toEqual(["get", "add", "got"])
})

test("closing waits for an enqueue in the app's own transaction, which is in line behind another", async () => {
  const name = freshName()
  const db = await connect(name, 1, upgrade)
  const queue = (await open({ storage: indexedDb({ database: db }) })).queue("mail")
  const store = await open({ storage: indexedDb({ database: db }) })
  const before = db.transaction("alkstore", "readwrite")
  const transaction = db.transaction("alkstore", "readwrite")
  const log: string[] = []
  before.objectStore("alkstore").get(0).onsuccess = () => void log.push("another")
  const enqueued = store.queue("mail").enqueue("letter", { transaction }).then(() => log.push("enqueued"))
  await store.close()
  log.push("closed")
  await enqueued
  expect(log).toEqual(["another", "enqueued", "closed"])
  expect((await queue.list()).map(({ payload }) => payload)).toEqual(["letter"])
})

test("two that read one job in one turn get a payload each", async () => {
  const store = await open({ storage: indexedDb(freshName()) })
  onTestFinished(() => store.close())
  const queue = store.queue<{ to: string }>("mail")
  const id = await queue.enqueue({ to: "a" })
  const [one, other] = await Promise.all([queue.get(id), queue.get(id)])
  expect(one).toEqual(other)
  expect(one?.payload).not.toBe(other?.payload)
})
