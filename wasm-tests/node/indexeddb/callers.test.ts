// `enqueue(payload, { transaction })` through the package.

import "./support.js"
import { expect, onTestFinished, test, vi } from "vitest"
import { startApp } from "../../browser/indexeddb/support.js"
import { completed } from "../../shared/databases.js"
import { payloads } from "../../shared/support.js"

const both = (db: IDBDatabase): IDBTransaction => db.transaction(["notes", "alkstore"], "readwrite")

test("many in one transaction tell others of each topic once, when it has completed", async () => {
  const { db, store } = await startApp()
  const [mail, chores] = [store.queue("mail"), store.queue("chores")]
  // Whom nobody hears is told less often.
  const listener = new BroadcastChannel(`alkstore:${db.name}`)
  onTestFinished(() => listener.close())
  await mail.enqueue("before")
  listener.postMessage("listening")
  const told = vi.spyOn(BroadcastChannel.prototype, "postMessage")
  onTestFinished(() => told.mockRestore())
  await vi.waitFor(async () => {
    await mail.enqueue("heard of it")
    expect(told).toHaveBeenCalledWith(["rmail"])
  })
  told.mockClear()
  const transaction = both(db)
  const end = completed(transaction)
  for (const payload of [1, 2, 3]) {
    for (const queue of [mail, chores]) await queue.enqueue(payload, { transaction })
  }
  expect(told).not.toHaveBeenCalled()
  await end
  await vi.waitFor(() => expect(told).toHaveBeenCalled())
  await mail.list()
  expect(told.mock.calls).toEqual([[["rmail", "rchores"]]])
})

test("nobody is told of an aborted one, nor of it with the next", async () => {
  const { db, store } = await startApp()
  const told = vi.spyOn(BroadcastChannel.prototype, "postMessage")
  onTestFinished(() => told.mockRestore())
  const aborted = both(db)
  const end = completed(aborted).catch(() => undefined)
  await store.queue("mail").enqueue("vanishes", { transaction: aborted })
  aborted.abort()
  await end
  const transaction = both(db)
  const committed = completed(transaction)
  await store.queue("chores").enqueue("a job", { transaction })
  await committed
  expect(payloads(await store.queue("chores").list())).toEqual(["a job"])
  expect(told.mock.calls).toEqual([[{ ask: ["rchores"] }]])
})
