// A panic ends the engine, not what is stored: the adapter goes on with the next engine.

import "fake-indexeddb/auto"
import { describe, expect, onTestFinished, test, vi } from "vitest"
import { engine, indexedDb, open } from "../../../target/panic-build/index.mjs"
import type { StorageAdapter, Store } from "../../../js/types.js"
import { connect, contents, freshName } from "../../shared/databases.js"
import { follow } from "../../shared/support.js"

async function panic(): Promise<void> {
  const { glue } = await engine()
  expect(() => glue.testPanic("a defect")).toThrow(/a defect/)
}

async function opened(storage: StorageAdapter): Promise<Store> {
  const store = await open({ storage })
  onTestFinished(() => store.close().catch(() => undefined))
  return store
}

describe("a panic under an adapter", () => {
  test("leaves what was stored; another store on it works, and the old one says Panicked", async () => {
    const storage = indexedDb(freshName())
    const [old, another] = [await opened(storage), await opened(storage)]
    const id = await old.queue("mail").enqueue("kept")
    await panic()
    const store = await opened(storage)
    expect((await store.queue("mail").list()).map((job) => job.payload)).toEqual(["kept"])
    expect(await store.queue("mail").enqueue("more")).toBeGreaterThan(id)
    for (const dead of [old, another]) {
      await expect(dead.schedules()).rejects.toMatchObject({ code: "Panicked" })
      await expect(dead.close()).rejects.toMatchObject({ code: "Panicked" })
    }
    expect(await store.queue("mail").stats(), "their end is not this one's").toMatchObject({ pending: 2 })
  })

  test("lets the next store hear of others", async () => {
    const name = freshName()
    const storage = indexedDb(name)
    await opened(storage)
    await panic()
    const fate = follow((await opened(storage)).queue("mail").wait())
    await (await opened(indexedDb(name))).queue("mail").enqueue("a job")
    await vi.waitFor(() => expect(fate).toEqual({ state: "resolved", value: true }))
  })

  test("rejects what was under way, of which nothing is stored", async () => {
    const name = freshName()
    const store = await opened(indexedDb(name))
    const fates = ["a", "b"].map((payload) => follow(store.queue("mail").enqueue(payload)))
    await panic()
    for (const fate of fates) await vi.waitFor(() => expect(fate.error).toMatchObject({ code: "Panicked" }))
    expect(await contents(name)).toEqual([])
  })

  test("lets go of the connection when nobody opens again", async () => {
    const name = freshName()
    await opened(indexedDb(name))
    const close = vi.spyOn(IDBDatabase.prototype, "close")
    onTestFinished(() => close.mockRestore())
    await panic()
    expect(close).toHaveBeenCalledOnce()
    await connect(name)
  })
})
