// The caller's own transaction, with plain IndexedDB, idb and Dexie: the job commits with it, and vanishes with it.

import Dexie from "dexie"
import { deleteDB, openDB, unwrap } from "idb"
import { describe, expect, onTestFinished, test, vi } from "vitest"
import type { AlkstoreError, Outbox, Store } from "alkstore-wasm"
import { indexedDb, upgrade } from "alkstore-wasm/indexeddb"
import { completed, freshName, settled } from "../../shared/databases.js"
import { ids, payloads, rejection } from "../../shared/support.js"
import { opened, startApp } from "./support.js"

const both = (db: IDBDatabase): IDBTransaction => db.transaction(["notes", "alkstore"], "readwrite")

/** A library's way to do the same things, its transaction given to `outbox.enqueue`. */
interface Library {
  store: Store
  outbox: Outbox
  /** Runs `work` in a readwrite transaction over all stores; resolves when that has completed, rejects if not. */
  run(work: (native: IDBTransaction, putNote: (note: string) => Promise<unknown>) => Promise<unknown>): Promise<unknown>
  notes(): Promise<unknown[]>
}

const LIBRARIES: Record<string, () => Promise<Library>> = {
  async "plain IndexedDB"() {
    const { db, store, outbox } = await startApp()
    return {
      store,
      outbox,
      async run(work) {
        const tx = both(db)
        const end = completed(tx)
        end.catch(() => undefined)
        try {
          await work(tx, (note) => settled(tx.objectStore("notes").put(note, note)))
        } catch (error) {
          tx.abort()
          throw error
        }
        return end
      },
      notes: () => settled(db.transaction("notes").objectStore("notes").getAll())
    }
  },

  async idb() {
    const name = `idb-${freshName()}`
    const db = await openDB(name, 1, {
      upgrade(made, _old, _new, transaction) {
        made.createObjectStore("notes")
        upgrade(unwrap(made), unwrap(transaction))
      }
    })
    onTestFinished(() => deleteDB(name))
    onTestFinished(() => db.close())
    const store = await opened(indexedDb({ database: unwrap(db) }))
    return {
      store,
      outbox: store.outbox("mail"),
      async run(work) {
        const tx = db.transaction(["notes", "alkstore"], "readwrite")
        tx.done.catch(() => undefined)
        try {
          await work(unwrap(tx) as IDBTransaction, (note) => tx.objectStore("notes").put(note, note))
        } catch (error) {
          tx.abort()
          throw error
        }
        return tx.done
      },
      notes: () => db.getAll("notes")
    }
  },

  async Dexie() {
    const db = new Dexie(`dexie-${freshName()}`)
    db.version(1).stores({ notes: "", alkstore: ",*k" })
    await db.open()
    onTestFinished(() => db.delete())
    const store = await opened(indexedDb(db.name))
    return {
      store,
      outbox: store.outbox("mail"),
      run: (work) =>
        db.transaction("rw", "notes", "alkstore", (tx) =>
          work(tx.idbtrans as IDBTransaction, async (note) => db.table("notes").put(note, note))
        ) as unknown as Promise<unknown>,
      notes: () => db.table("notes").toArray() as unknown as Promise<unknown[]>
    }
  }
}

describe.each(Object.keys(LIBRARIES))("with %s", (name) => {
  const begin = LIBRARIES[name]!

  test("a note and its delivery commit together, whatever comes first", async () => {
    const { outbox, run, notes } = await begin()
    await run(async (transaction, putNote) => {
      await putNote("before")
      await outbox.enqueue("first", { transaction })
      await putNote("between")
      await outbox.enqueue("second", { transaction, delay: "1h" })
      await putNote("after")
    })
    expect(await notes()).toEqual(["after", "before", "between"])
    expect(payloads(await outbox.list())).toEqual(["first", "second"])
    expect(await outbox.stats()).toMatchObject({ pending: 2, ready: 1 })
  })

  test("several at once are several jobs, a large payload and a Blob among them", async () => {
    const { store, run } = await begin()
    const payload = ["small", "x".repeat(10_000), new Blob(["file"])]
    const queues = ["a", "b", "a"].map((queue) => store.queue(queue))
    let ids: number[] = []
    await run(async (transaction) => {
      ids = await Promise.all(queues.map((queue, at) => queue.enqueue(payload[at], { transaction })))
    })
    expect(new Set(ids).size).toBe(3)
    expect(payloads(await queues[0]!.list())).toEqual([payload[0], expect.any(Blob)])
    expect(payloads(await queues[1]!.list())).toEqual([payload[1]])
  })

  test("neither is there when it is aborted", async () => {
    const { outbox, run, notes } = await begin()
    const kept = await outbox.enqueue("kept")
    const aborted = run(async (transaction, putNote) => {
      await putNote("a note")
      expect(await outbox.enqueue("a job", { transaction })).toBeGreaterThan(kept)
      transaction.abort()
    })
    await expect(aborted).rejects.toBeDefined()
    expect([await notes(), payloads(await outbox.list())]).toEqual([[], ["kept"]])
  })

  test("nor when an exception ends it, and an id that was given is not given again", async () => {
    const { outbox, run, notes } = await begin()
    let vanished = 0
    const failed = run(async (transaction, putNote) => {
      await putNote("a note")
      vanished = await outbox.enqueue("a job", { transaction })
      throw new RangeError("the app's own")
    })
    await expect(failed).rejects.toThrow("the app's own")
    expect([await notes(), await outbox.list()]).toEqual([[], []])
    expect(await outbox.enqueue("later")).toBeGreaterThan(vanished)
  })

  test("nor when a constraint fails", async () => {
    const { outbox, run, notes } = await begin()
    const failed = run(async (transaction, putNote) => {
      await putNote("a note")
      await outbox.enqueue("a job", { transaction })
      await settled(transaction.objectStore("notes").add("again", "a note"))
    })
    await expect(failed).rejects.toBeDefined()
    expect([await notes(), await outbox.list()]).toEqual([[], []])
  })

  test("a payload that cannot be stored is Codec, and leaves the transaction to its owner", async () => {
    const { outbox, run, notes } = await begin()
    const module = await WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))
    await run(async (transaction, putNote) => {
      await putNote("a note")
      for (const part of [module, () => 1]) {
        const enqueued = outbox.enqueue({ part }, { transaction })
        const error = await enqueued.catch((reason: AlkstoreError) => reason)
        if (typeof error === "number") throw new Error("it was accepted")
        expect([error.code, error.message]).toEqual(["Codec", expect.stringContaining("payload.part is a")])
      }
      await outbox.enqueue("a job", { transaction })
    })
    expect([await notes(), payloads(await outbox.list())]).toEqual([["a note"], ["a job"]])
  })
})

// Dexie puts a promise of its own in the place of the global one while its transactions run.
test("inside a Dexie transaction a store of another database may connect anew, and works", async () => {
  const { run } = await LIBRARIES["Dexie"]!()
  const name = freshName()
  const store = await opened(indexedDb(name))
  const queue = store.queue("mail")
  await settled(indexedDB.deleteDatabase(name))
  let claimed: unknown
  await run(async (_, putNote) => {
    expect(await Dexie.waitFor(queue.enqueue("a job"))).toBe(1)
    await putNote("between")
    claimed = await Dexie.waitFor(queue.claimOne("w").then((job) => job?.payload))
  })
  expect(claimed).toBe("a job")
  expect(await queue.stats()).toMatchObject({ processing: 1 })
})

test("a Dexie that closes its connection and opens another, as it does by itself, leaves the store at work", async () => {
  const db = new Dexie(`dexie-${freshName()}`)
  db.version(1).stores({ notes: "", alkstore: ",*k" })
  await db.open()
  onTestFinished(() => db.delete())
  const outbox = (await opened(indexedDb(db.name))).outbox("mail")
  const enqueue = (payload: string): Promise<unknown> =>
    db.transaction("rw", "alkstore", (tx) => outbox.enqueue(payload, { transaction: tx.idbtrans as IDBTransaction })) as unknown as Promise<unknown>
  await enqueue("before")
  db.close()
  db.version(2).stores({ notes: "", alkstore: ",*k", more: "" })
  await db.open()
  await enqueue("after")
  expect(payloads(await outbox.list())).toEqual(["before", "after"])
})

/** How long a full disk may stay full after the transaction that filled it was aborted. */
const TIDIED_MS_MAX = 100_000

describe("when the disk is full", () => {
  // Random, because what is stored is compressed.
  const megabytes = (n: number): Uint8Array<ArrayBuffer>[] =>
    Array.from({ length: n * 16 }, () => crypto.getRandomValues(new Uint8Array(65_536)))

  /** An app whose database lies in a bucket of its own that holds little. */
  async function startSmall(): Promise<{ db: IDBDatabase; outbox: Outbox }> {
    const name = freshName()
    const buckets = (navigator as unknown as { storageBuckets: Buckets }).storageBuckets
    const bucket = await buckets.open(name, { quota: 5_000_000 })
    onTestFinished(() => buckets.delete(name))
    const request = bucket.indexedDB.open(name)
    request.onupgradeneeded = () => {
      request.result.createObjectStore("notes")
      upgrade(request.result, request.transaction!)
    }
    const db = await settled(request)
    onTestFinished(() => db.close())
    const store = await opened(indexedDb({ database: db }))
    return { db, outbox: store.outbox("mail") }
  }

  test("an enqueue is Storage with the cause, nothing is stored, and the store goes on", async () => {
    const { outbox } = await startSmall()
    const before = await outbox.enqueue("before")
    const error = await rejection(() => outbox.enqueue(megabytes(8)))
    expect(error.code).toBe("Storage")
    expect(error.message).toContain("QuotaExceededError")
    expect((error.cause as DOMException).name).toBe("QuotaExceededError")
    expect(ids(await outbox.list())).toEqual([before])
    // Chromium counts what it has taken back until its database tidies up, which is seconds away on a busy disk.
    const after = await vi.waitFor(() => outbox.enqueue("after"), { timeout: TIDIED_MS_MAX, interval: 50 })
    expect(ids(await outbox.list())).toEqual([before, after])
  }, 2 * TIDIED_MS_MAX)

  test("a caller's transaction takes the job with it", async () => {
    const { db, outbox } = await startSmall()
    const tx = both(db)
    const end = completed(tx).catch((error: DOMException) => error.name)
    await outbox.enqueue("a job", { transaction: tx })
    tx.objectStore("notes").put(megabytes(8), 1)
    expect(await end).toBe("QuotaExceededError")
    expect(await outbox.list()).toEqual([])
  })
})

interface Buckets {
  open(name: string, options: { quota: number }): Promise<{ indexedDB: IDBFactory }>
  delete(name: string): Promise<void>
}

describe("what is no transaction for this storage", () => {
  test.each<[what: string, give: (db: IDBDatabase) => unknown, text: RegExp]>([
    ["anything else", () => ({ objectStore() {} }), /^transaction must be a native IDBTransaction, got/],
    ["an event target", () => new EventTarget(), /^transaction must be a native IDBTransaction, got/],
    ["a Proxy, like those of idb", (db) => new Proxy(both(db), {}), /pass unwrap\(tx\) from idb/],
    ["a Dexie transaction", (db) => ({ idbtrans: both(db) }), /of a Dexie transaction pass its \.idbtrans/],
    ["a readonly one", (db) => db.transaction("alkstore"), /must be readwrite/],
    ["one without our store", (db) => db.transaction("notes", "readwrite"), /must have the store "alkstore" in/],
    ["another database's", async () => both((await startApp()).db), /must be one on the database/],
    ["one that has completed", async (db) => {
      const tx = both(db)
      const end = completed(tx)
      tx.commit()
      await end
      return tx
    }, /has ended/],
    ["one that was aborted", (db) => {
      const tx = both(db)
      tx.abort()
      return tx
    }, /has ended|is not active/]
  ])("%s: InvalidArgument, with the way out", async (_, give, text) => {
    const { db, outbox } = await startApp()
    const transaction = await give(db)
    const error = await rejection(() => outbox.enqueue("a job", { transaction }))
    expect([error.code, error.message]).toEqual(["InvalidArgument", expect.stringMatching(text)])
    expect(await outbox.list()).toEqual([])
  })

  test("one whose turn has passed: InvalidArgument, and its own work is unharmed", async () => {
    const { db, outbox } = await startApp()
    const tx = both(db)
    const end = completed(tx)
    tx.objectStore("notes").put("a note", 1)
    await new Promise((resolve) => setTimeout(resolve))
    const error = await rejection(() => outbox.enqueue("a job", { transaction: tx }))
    expect([error.code, error.message]).toEqual(["InvalidArgument", expect.stringMatching(/is not active|has ended/)])
    await end
    expect(await outbox.list()).toEqual([])
  })

  test("a Dexie transaction itself, inside one", async () => {
    const { outbox, run } = await LIBRARIES["Dexie"]!()
    await run(async () => {
      const enqueued = outbox.enqueue("a job", { transaction: Dexie.currentTransaction })
      await expect(enqueued.catch((error: AlkstoreError) => error.message)).resolves.toContain("pass its .idbtrans")
    })
  })

  test("any, inside a transaction of the store", async () => {
    const { db, store } = await startApp()
    const transaction = both(db)
    const error = await rejection(() => store.transaction((tx) => tx.enqueue("mail", 1, { transaction })))
    expect([error.code, error.message]).toEqual(["InvalidArgument", expect.stringContaining("a transaction already")])
  })

  test("a database that idb has wrapped", async () => {
    const { db } = await startApp()
    expect(() => indexedDb({ database: new Proxy(db, {}) })).toThrow(/pass unwrap\(db\) from idb/)
  })
})
