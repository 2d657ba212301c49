// The caller's own transaction: what is refused, and how the adapter behaves inside one.

import { describe, expect, test, vi } from "vitest"
import type { AlkstoreError } from "../../../js/errors.js"
import type { IndexedDbDriver } from "../../../js/indexeddb/driver.js"
import { upgrade } from "../../../js/indexeddb/layout.js"
import type { JoinedTransaction } from "../../../js/keyed.js"
import { completed, connect, contents, freshName, settled } from "../../shared/databases.js"
import { insert, rejection, start } from "./support.js"

/** An app's database with our store and one of its own, and an adapter on it. */
async function startApp(): Promise<{ name: string; db: IDBDatabase; driver: IndexedDbDriver }> {
  const name = freshName()
  const db = await connect(name, 1, (made, transaction) => {
    made.createObjectStore("notes")
    upgrade(made, transaction)
  })
  return { name, db, driver: (await start(name)).driver }
}

const both = (db: IDBDatabase): IDBTransaction => db.transaction(["notes", "alkstore"], "readwrite")

/** What the engine does for an enqueue: takes the next id, writes a job. */
async function enqueue(tx: JoinedTransaction, payload: unknown): Promise<number> {
  const [meta] = (await tx.read([["get", ["m"]]])) as [{ v: [number] } | undefined]
  const id = meta?.v[0] ?? 1
  insert(tx, id, payload)
  tx.put(["m"], [], [id + 1], undefined)
  tx.wakeAfter(["mail"])
  await tx.commit()
  return id
}

describe("a transaction is refused, with the way out,", () => {
  const other = async (): Promise<IDBTransaction> => both((await startApp()).db)
  test.each<[what: string, give: (db: IDBDatabase) => unknown, text: RegExp]>([
    ["if it is no object", () => "readwrite", /^transaction must be a native IDBTransaction, got "readwrite"/],
    ["if it is readonly", (db) => db.transaction("alkstore"), /must be readwrite, got one that is readonly/],
    ["without our store", (db) => db.transaction("notes", "readwrite"), /must have the store "alkstore" in its scope/],
    ["if it is another database's", other, /must be one on the database "test-.*", got one on "test-/],
    ["if it has ended", async (db) => {
      const tx = both(db)
      const end = completed(tx)
      tx.commit()
      await end
      return tx
    }, /has ended/]
  ])("%s", async (_, give, text) => {
    const { db, driver } = await startApp()
    const given = await give(db)
    let error: unknown
    try {
      driver.join(given)
    } catch (thrown) {
      error = thrown
    }
    expect((error as AlkstoreError).code).toBe("InvalidArgument")
    expect((error as AlkstoreError).message).toMatch(text)
  })
})

test("one that is committed before the enqueue has written is refused, with the way out", async () => {
  const { db, driver } = await startApp()
  const tx = both(db)
  const end = completed(tx)
  const joined = driver.join(tx)
  await joined.read([["get", ["m"]]])
  tx.commit()
  insert(joined, 1, "a")
  const error = await rejection(joined.commit())
  expect([error.code, error.message]).toEqual(["InvalidArgument", expect.stringMatching(/was committed before .*: await enqueue first$/)])
  await end
})

describe("in the caller's transaction", () => {
  test("a job is written, and the caller may go on", async () => {
    const { name, db, driver } = await startApp()
    const tx = both(db)
    const end = completed(tx)
    await settled(tx.objectStore("notes").put("first", 1))
    expect(await enqueue(driver.join(tx), "a")).toBe(1)
    await settled(tx.objectStore("notes").put("second", 2))
    expect(await enqueue(driver.join(tx), "b")).toBe(2)
    tx.objectStore("notes").put("third", 3)
    await end
    expect(await contents(name, "notes")).toHaveLength(3)
    expect((await contents(name)).map(([key]) => key)).toEqual([1, 2, ["m"]])
  })

  test("several at once take turns: each draws an id of its own", async () => {
    const { name, db, driver } = await startApp()
    const tx = both(db)
    const drawn = await Promise.all(["a", "b", "c"].map((payload) => enqueue(driver.join(tx), payload)))
    await completed(tx)
    expect(drawn).toEqual([1, 2, 3])
    expect((await contents(name)).map(([, row]) => row.p ?? row.v)).toEqual(["a", "b", "c", [4]])
  })

  test("one that never goes on does not hold up the others for ever", async () => {
    const { db, driver } = await startApp()
    const tx = both(db)
    await driver.join(tx).read([["get", ["m"]]])
    const error = await rejection(enqueue(driver.join(tx), "b"))
    expect(error.code).toMatch(/Storage|InvalidArgument/)
  })

  test("its abort takes the job with it; who still waits is told, with the cause", async () => {
    const { name, db, driver } = await startApp()
    const tx = both(db)
    const end = completed(tx).catch((error: unknown) => error)
    const waiting = rejection(enqueue(driver.join(tx), "a"))
    tx.abort()
    await end
    expect((await waiting).code).toBe("Storage")
    expect((await waiting).message).toMatch(/the caller's transaction was aborted/)
    expect(await contents(name)).toEqual([])
  })

  test("wakes are sent when it has completed, not before, and not if it aborts", async () => {
    const { db, driver } = await startApp()
    const woken = vi.fn()
    driver.onWake = woken
    const aborted = both(db)
    const end = completed(aborted).catch(() => undefined)
    await enqueue(driver.join(aborted), "a")
    aborted.abort()
    await end
    const tx = both(db)
    await enqueue(driver.join(tx), "b")
    expect(woken).not.toHaveBeenCalled()
    await completed(tx)
    await vi.waitFor(() => expect(woken).toHaveBeenCalledOnce())
    expect(woken.mock.calls[0]![0]).toBe("mail")
  })

  test("neither the adapter's end nor the engine's ends it, unless half an operation would commit", async () => {
    const { name, db, driver } = await startApp()
    const tx = both(db)
    await enqueue(driver.join(tx), "a")
    driver.abandon()
    driver.close()
    await completed(tx)
    expect(await contents(name)).toHaveLength(2)
    const half = both(db)
    const end = completed(half).catch(() => "aborted")
    insert(driver.join(half), 9, "half")
    driver.abandon()
    expect(await end).toBe("aborted")
    expect(await contents(name)).toHaveLength(2)
  })
})
