// Several contexts on one database: another adapter, a worker, an app that upgrades.

import { describe, expect, onTestFinished, test, vi } from "vitest"
import { indexedDb, upgrade } from "alkstore-wasm/indexeddb"
import { completed, connect, freshName, hold, settled } from "../../shared/databases.js"
import { follow, must, payloads, rejection } from "../../shared/support.js"
import { opened, startApp } from "./support.js"

/** A worker with a store of its own; what it says, in order. */
function worker(name: string, command: string): { said: unknown[] } {
  const started = new Worker(new URL("./context.worker.ts", import.meta.url), { type: "module" })
  onTestFinished(() => started.terminate())
  const said: unknown[] = []
  started.onmessage = ({ data }) => said.push(data)
  started.onerror = (event) => said.push(event.message)
  started.postMessage({ name, command })
  return { said }
}

const soon = { timeout: 10_000, interval: 5 }

describe("a wake", () => {
  test("goes from one adapter to another: a wait that would last an hour ends", async () => {
    const name = freshName()
    const [a, b] = [await opened(indexedDb(name)), await opened(indexedDb(name))]
    const waiting = a.outbox("mail")
    await waiting.enqueue("later", { delay: "1h" })
    const fate = follow(waiting.wait())
    await vi.waitFor(async () => expect(await b.outbox("mail").stats()).toMatchObject({ pending: 1 }), soon)
    expect(fate.state).toBe("waiting")
    await b.outbox("mail").enqueue("now")
    await vi.waitFor(() => expect(fate).toEqual({ state: "resolved", value: true }), soon)
  })

  test("goes between two stores on one adapter, too", async () => {
    const storage = indexedDb(freshName())
    const [a, b] = [await opened(storage), await opened(storage)]
    const fate = follow(a.outbox("mail").wait())
    await b.outbox("mail").enqueue("now")
    await vi.waitFor(() => expect(fate.state).toBe("resolved"), soon)
  })

  test("goes to a worker, and comes from one", async () => {
    const name = freshName()
    const store = await opened(indexedDb(name))
    const there = worker(name, "wait")
    await vi.waitFor(() => expect(there.said).toEqual(["waiting"]), soon)
    await store.outbox("mail").enqueue("for the worker")
    await vi.waitFor(() => expect(there.said).toEqual(["waiting", "done"]), soon)
    expect(await store.outbox("mail").list()).toEqual([])

    const fate = follow(store.outbox("mail").wait())
    worker(name, "enqueue")
    await vi.waitFor(() => expect(fate.state).toBe("resolved"), soon)
    expect(payloads(await store.outbox("mail").list())).toEqual([{ from: "the worker" }])
  })

  test("follows a caller's transaction when it has completed, to an adapter by name too", async () => {
    const { name, db, outbox } = await startApp()
    const other = await opened(indexedDb(name))
    const [here, there] = [follow(outbox.wait()), follow(other.outbox("mail").wait())]
    const tx = db.transaction(["notes", "alkstore"], "readwrite")
    const end = completed(tx)
    await outbox.enqueue("a job", { transaction: tx })
    expect([here.state, there.state]).toEqual(["waiting", "waiting"])
    await end
    await vi.waitFor(() => expect([here.state, there.state]).toEqual(["resolved", "resolved"]), soon)
  })

  test("is done without where there is no BroadcastChannel: a deadline still ends a wait", async () => {
    vi.stubGlobal("BroadcastChannel", undefined)
    onTestFinished(() => void vi.unstubAllGlobals())
    const outbox = (await opened(indexedDb(freshName()))).outbox("mail")
    await outbox.enqueue("soon", { delay: 30 })
    expect(await outbox.wait()).toBe(true)
    expect((await outbox.list())[0]!.runAt).toBeLessThanOrEqual(Date.now())
  })
})

describe("an upgrade by another context", () => {
  test("of the app's database is not held up, and a store opened by name goes on afterwards", async () => {
    const { name, db } = await startApp()
    const store = await opened(indexedDb(name))
    await store.queue("mail").enqueue("before")
    db.onversionchange = () => db.close()
    const newer = await connect(name, 2, (made, transaction) => {
      made.createObjectStore("photos")
      upgrade(made, transaction)
    })
    expect(await store.queue("mail").enqueue("after")).toBeGreaterThan(0)
    expect(payloads(await store.queue("mail").list())).toEqual(["before", "after"])
    expect([...newer.objectStoreNames]).toEqual(["alkstore", "notes", "photos"])
  })

  test("that is under way makes an operation wait for its end", async () => {
    const name = freshName()
    const store = await opened(indexedDb(name))
    await store.queue("mail").enqueue("before")
    let finish!: () => Promise<void>
    const upgrading = connect(name, 2, (made, transaction) => {
      made.createObjectStore("notes")
      finish = hold(transaction)
    })
    await vi.waitFor(() => expect(finish).toBeDefined(), soon)
    const fate = follow(store.queue("mail").enqueue("after"))
    await settled((await connect(freshName(), 1, upgrade)).transaction("alkstore").objectStore("alkstore").count())
    expect(fate.state).toBe("waiting")
    await finish()
    await upgrading
    await vi.waitFor(() => expect(fate.state).toBe("resolved"), soon)
  })

  test("or a deletion: what is enqueued afterwards is in a new database", async () => {
    const name = freshName()
    const store = await opened(indexedDb(name))
    await store.queue("mail").enqueue("gone")
    await settled(indexedDB.deleteDatabase(name))
    await store.queue("mail").enqueue("there")
    expect(payloads(await store.queue("mail").list())).toEqual(["there"])
  })

  test("that the app made without our store is Storage, never an empty queue", async () => {
    const name = freshName()
    const store = await opened(indexedDb(name))
    await store.queue("mail").enqueue("before")
    await connect(name, 2, (made) => made.deleteObjectStore("alkstore"))
    for (const call of [() => store.queue("mail").list(), () => store.queue("mail").claimOne("w")]) {
      const error = await rejection(call)
      expect([error.code, error.message]).toEqual(["Storage", expect.stringContaining('no object store "alkstore"')])
    }
  })
})

describe("the life of an adapter", () => {
  test("its stores share a connection, the last one closes it, and it may be opened again", async () => {
    const name = freshName()
    const storage = indexedDb(name)
    const [a, b] = [await opened(storage), await opened(storage)]
    await a.queue("mail").enqueue("kept")
    await a.close()
    expect(payloads(await b.queue("mail").list())).toEqual(["kept"])
    const last = b.queue("mail").enqueue("made just before the end")
    await b.close()
    await last
    expect(() => b.queue("mail")).toThrow(expect.objectContaining({ code: "Closed" }))
    const again = await opened(storage)
    expect(payloads(await again.queue("mail").list())).toEqual(["kept", "made just before the end"])
  })

  test("what cannot be opened is told by open, and may be tried again", async () => {
    const name = freshName()
    const theirs = await connect(name, 1, (made) => made.createObjectStore("notes"))
    const storage = indexedDb(name)
    expect((await rejection(() => opened(storage))).code).toBe("Storage")
    theirs.close()
    await settled(indexedDB.deleteDatabase(name))
    expect(await (await opened(storage)).queue("mail").enqueue("works now")).toBe(1)
  })

  test("durability is what the browser says; a worker may look, and not ask", async () => {
    const name = freshName()
    const store = await opened(indexedDb(name))
    const expected = (await navigator.storage.persisted()) ? "persistent" : "best-effort"
    expect(await store.durability()).toBe(expected)
    const { said } = worker(name, "durability")
    await vi.waitFor(() => expect(said).toEqual([[expected, expected]]), soon)
    vi.spyOn(navigator.storage, "persist").mockResolvedValue(true)
    vi.spyOn(navigator.storage, "persisted").mockResolvedValue(true)
    onTestFinished(() => void vi.restoreAllMocks())
    expect(await store.persist()).toBe("persistent")
    await store.close()
    for (const call of [() => store.durability(), () => store.persist()]) {
      expect((await rejection(call)).code).toBe("Closed")
    }
  })

  test("in memory, durability is memory", async () => {
    const { memory } = await import("alkstore-wasm")
    const store = await opened(memory())
    expect([await store.durability(), await store.persist()]).toEqual(["memory", "memory"])
  })
})

test("both durabilities are taken, and nothing else", async () => {
  const transaction = vi.spyOn(IDBDatabase.prototype, "transaction")
  onTestFinished(() => transaction.mockRestore())
  for (const durability of ["strict", "relaxed", undefined] as const) {
    const store = await opened(indexedDb(freshName(), { durability }))
    transaction.mockClear()
    await store.queue("mail").enqueue(1)
    expect(must(transaction.mock.calls[0])[2]).toEqual({ durability: durability ?? "strict" })
  }
  const options: unknown[][] = [["x", { durability: "loose" }], ["x", { dura: 1 }], ["x", 5]]
  const wrong: unknown[][] = [...options, [""], [" "], [5], [], [{}], [{ database: 1 }]]
  for (const given of wrong) {
    const code = expect.objectContaining({ code: "InvalidArgument" })
    expect(() => (indexedDb as (...args: unknown[]) => unknown)(...given), JSON.stringify(given)).toThrow(code)
  }
})
