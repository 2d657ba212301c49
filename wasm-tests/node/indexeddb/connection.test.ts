// Connections: opened, given up, lost and opened again; whose they are; how long they may take.

import { forceCloseDatabase } from "fake-indexeddb"
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest"
import type { AlkstoreError } from "../../../js/errors.js"
import { indexedDb } from "../../../js/indexeddb/index.js"
import { GuestDatabase, OwnDatabase } from "../../../js/indexeddb/database.js"
import { IndexedDbDriver } from "../../../js/indexeddb/driver.js"
import { upgrade } from "../../../js/indexeddb/layout.js"
import { connect, contents, freshName, hold, settled } from "../../shared/databases.js"
import { insert, rejection, start, write } from "./support.js"

test("what is given in a database's place is named, and what to give", async () => {
  const db = await connect(freshName(), 1, upgrade)
  const message = (given: unknown): string => {
    try {
      indexedDb(given as string)
    } catch (error) {
      return (error as AlkstoreError).message
    }
    return "nothing was thrown"
  }
  expect(message(db)).toMatch(/^name must be a database's name, or \{ database \} with an open one, got /)
  expect(message({ database: null })).toBe("database must be one that is open, got null")
  expect(message({ database: undefined })).toBe("database must be one that is open, got undefined")
  expect(message({ database: { backendDB: () => db } })).toMatch(/of Dexie give the name, indexedDb\(db.name\), got /)
  expect(message({ databse: db })).toMatch(/^name has no option "databse"/)
})

describe("a database of its own", () => {
  test("is made, with one store and one index", async () => {
    const { name } = await start()
    const db = await connect(name)
    const store = db.transaction("alkstore").objectStore("alkstore")
    expect([db.version, ...db.objectStoreNames]).toEqual([1, "alkstore"])
    expect([store.keyPath, store.autoIncrement, ...store.indexNames]).toEqual([null, false, "k"])
    expect(store.index("k")).toMatchObject({ keyPath: "k", multiEntry: true, unique: false })
  })

  test("is opened at whatever version it has, if our store is in it", async () => {
    const name = freshName()
    await connect(name, 7, upgrade)
    const { driver } = await start(name)
    await write(driver, (tx) => insert(tx, 1, "a"))
    expect(await contents(name)).toHaveLength(1)
  })

  test.each<[what: string, version: number, make: (db: IDBDatabase) => void, text: RegExp]>([
    ["without our store", 1, (db) => db.createObjectStore("notes"), /has no object store "alkstore"/],
    ["of a later version, without our store", 3, (db) => db.createObjectStore("notes"), /or a newer release's/],
    ["without the index", 1, (db) => db.createObjectStore("alkstore"), /has no index "k"/],
    ["with a store of another form", 1, (db) => db.createObjectStore("alkstore", { keyPath: "id" }), /another form/],
    ["with an index of another form", 1, (db) => db.createObjectStore("alkstore").createIndex("k", "k"), /another form/]
  ])("%s is another program's: Storage", async (_, version, make, text) => {
    const name = freshName()
    const theirs = await connect(name, version, make)
    const error = await rejection(new IndexedDbDriver(new OwnDatabase(name), "strict").connect())
    expect(error.code).toBe("Storage")
    expect(error.message).toMatch(text)
    expect([...theirs.objectStoreNames], "theirs is left alone").toHaveLength(1)
  })

  test("is not to be had where there is no IndexedDB: Storage", async () => {
    const driver = new IndexedDbDriver(new OwnDatabase("any"), "strict")
    vi.stubGlobal("indexedDB", undefined)
    const error = await rejection(driver.connect())
    vi.unstubAllGlobals()
    expect([error.code, error.message]).toEqual(["Storage", "there is no IndexedDB here"])
  })

  test("or where the browser forbids it: Storage, with the cause", async () => {
    const cause = new DOMException("denied", "SecurityError")
    vi.stubGlobal("indexedDB", { open: () => { throw cause } })
    const error = await rejection(new IndexedDbDriver(new OwnDatabase("any"), "strict").connect())
    vi.unstubAllGlobals()
    expect(error.message).toContain("SecurityError: denied")
    expect(error.cause).toBe(cause)
  })
})

describe("a connection", () => {
  test("that opens when nobody wants it any more is closed", async () => {
    const driver = new IndexedDbDriver(new OwnDatabase(freshName()), "strict")
    const connecting = driver.connect()
    driver.close()
    await connecting
    expect(driver.database.current).toBeNull()
  })

  test("gives way to a deletion, and the next operation opens a new one", async () => {
    const { name, driver } = await start()
    await write(driver, (tx) => insert(tx, 1, "a"))
    await settled(indexedDB.deleteDatabase(name))
    await write(driver, (tx) => insert(tx, 2, "b"))
    expect((await contents(name)).map(([key]) => key)).toEqual([2])
  })

  test("gives way to an upgrade only when what is under way has ended, which is kept", async () => {
    const { name, driver } = await start()
    const tx = await driver.begin()
    insert(tx, 1, "a")
    const upgraded = connect(name, 2, (db) => db.createObjectStore("notes"))
    await tx.commit()
    const theirs = await upgraded
    await write(driver, (next) => insert(next, 2, "b"))
    expect([...theirs.objectStoreNames]).toEqual(["alkstore", "notes"])
    expect((await contents(name)).map(([key]) => key)).toEqual([1, 2])
  })

  test("that the browser has closed is opened again", async () => {
    const { name, driver } = await start()
    const database = await openedBy(driver)
    database.close()
    await write(driver, (tx) => insert(tx, 1, "a"))
    forceCloseDatabase((await openedBy(driver)) as never)
    await write(driver, (tx) => insert(tx, 2, "b"))
    expect(await contents(name)).toHaveLength(2)
  })

  test("that closes again and again is Storage, not a loop", async () => {
    const { driver } = await start()
    ;(await openedBy(driver)).close()
    const open = vi.spyOn(IDBDatabase.prototype, "transaction")
    open.mockImplementation(() => {
      throw new DOMException("closing", "InvalidStateError")
    })
    const error = await rejection(Promise.resolve(driver.begin()))
    open.mockRestore()
    expect(error.code).toBe("Storage")
    await write(driver, (tx) => insert(tx, 1, "works again"))
  })

  test("that was lost under a transaction fails that one, and is opened again", async () => {
    const { name, driver } = await start()
    const before = await openedBy(driver)
    const tx = await driver.begin()
    insert(tx, 1, "a")
    const lost = new DOMException("Connection to Indexed Database server lost", "UnknownError")
    abortFor(lost, tx)
    const error = await rejection(tx.commit())
    expect(error.cause).toBe(lost)
    expect(await contents(name)).toEqual([])
    expect(await openedBy(driver)).not.toBe(before)
  })

  test("is closed with the last store, but not under what is under way; it may be opened again", async () => {
    const { name, driver } = await start()
    const database = await openedBy(driver)
    const close = vi.spyOn(database, "close")
    const tx = await driver.begin()
    driver.close()
    insert(tx, 1, "a")
    expect(close).not.toHaveBeenCalled()
    await tx.commit()
    expect(close).toHaveBeenCalledOnce()
    await driver.connect()
    await write(driver, (next) => insert(next, 2, "b"))
    expect(await contents(name)).toHaveLength(2)
  })

  test("is one for all who open at once", async () => {
    const open = vi.spyOn(indexedDB, "open")
    const driver = new IndexedDbDriver(new OwnDatabase(freshName()), "strict")
    await Promise.all([driver.connect(), driver.connect(), driver.begin()])
    expect(open).toHaveBeenCalledOnce()
    open.mockRestore()
    driver.close()
  })
})

describe("an app's own database", () => {
  const guest = (db: IDBDatabase): IndexedDbDriver => new IndexedDbDriver(new GuestDatabase(db), "strict")

  test("holds our rows beside the app's, and is never closed by us", async () => {
    const db = await connect(freshName(), 1, (made, transaction) => {
      made.createObjectStore("notes")
      upgrade(made, transaction)
    })
    const driver = guest(db)
    await driver.connect()
    await write(driver, (tx) => insert(tx, 1, "a"))
    driver.close()
    expect(await settled(db.transaction("alkstore").objectStore("alkstore").count())).toBe(1)
  })

  test("that was not upgraded is InvalidArgument, and says what to call", async () => {
    const error = await rejection(guest(await connect(freshName(), 1, (db) => db.createObjectStore("notes"))).connect())
    expect(error.code).toBe("InvalidArgument")
    expect(error.message).toContain("call upgrade(db, transaction)")
  })

  test("that is still being upgraded is told as such", async () => {
    const request = indexedDB.open(freshName(), 1)
    const opening = new Promise<AlkstoreError>((resolve) => {
      request.onupgradeneeded = () => {
        upgrade(request.result, request.transaction)
        resolve(rejection(guest(request.result).connect()))
      }
    })
    expect((await opening).message).toMatch(/is closed, or still upgrading/)
    ;(await settled(request)).close()
  })

  test("that the app has closed is Storage, at the opening and later", async () => {
    const db = await connect(freshName(), 1, upgrade)
    const driver = guest(db)
    await driver.connect()
    db.close()
    for (const attempt of [Promise.resolve(driver.begin()), guest(db).connect()]) {
      const error = await rejection(attempt)
      expect(error.code).toBe("Storage")
      expect(error.message).toMatch(/is closed/)
    }
  })

  test("hears nothing of our failures in its own handlers", async () => {
    const db = await connect(freshName(), 1, upgrade)
    const heard = vi.fn()
    for (const type of ["error", "abort"]) db.addEventListener(type, heard)
    const driver = guest(db)
    await driver.connect()
    const tx = await driver.begin()
    const reading = rejection(tx.read([["get", 1]]))
    tx.abort()
    await reading
    await rejection(tx.commit())
    await settled(db.transaction("alkstore").objectStore("alkstore").count())
    expect(heard).not.toHaveBeenCalled()
  })

  test("upgrade makes what is missing, and may be called again", async () => {
    const name = freshName()
    for (const [version, make] of [
      [1, (db: IDBDatabase) => db.createObjectStore("alkstore")],
      [2, upgrade],
      [3, upgrade]
    ] as const) {
      const db = await connect(name, version, make)
      const store = db.transaction("alkstore").objectStore("alkstore")
      expect([...store.indexNames]).toEqual(version === 1 ? [] : ["k"])
      db.close()
    }
  })

  test("upgrade refuses what is no upgrade: InvalidArgument", async () => {
    const db = await connect(freshName(), 1, upgrade)
    for (const [given, tx] of [[db, db.transaction("alkstore")], [db, undefined], [null, null]] as never[][]) {
      expect(() => upgrade(given!, tx!)).toThrow(expect.objectContaining({ code: "InvalidArgument" }))
    }
  })
})

// With timers that are moved by hand from before the adapter was loaded: later ones do not reach it.
describe("a deadline", () => {
  afterEach(() => void vi.useRealTimers())

  async function underFakeTimers(): Promise<(database: string) => IndexedDbDriver> {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    vi.resetModules()
    const [{ IndexedDbDriver: Driver }, { OwnDatabase: Own }] = await Promise.all([
      import("../../../js/indexeddb/driver.js"),
      import("../../../js/indexeddb/database.js")
    ])
    return (name) => new Driver(new Own(name), "strict")
  }

  async function startUnderFakeTimers(): Promise<IndexedDbDriver> {
    const driver = (await underFakeTimers())(freshName())
    await driver.connect()
    onTestFinished(() => driver.close())
    return driver
  }

  test("ends a transaction that waits too long; nothing of it is stored, and the next one works", async () => {
    const driver = await startUnderFakeTimers()
    const { name } = driver.database
    const end = hold((await connect(name)).transaction("alkstore", "readwrite"))
    const tx = await driver.begin()
    insert(tx, 1, "a")
    const [reading, committing] = [tx.read([["get", 1]]), tx.commit()].map((promise) => promise.catch((error) => error))
    await vi.advanceTimersByTimeAsync(29_999)
    expect(await Promise.race([reading, "waiting"])).toBe("waiting")
    await vi.advanceTimersByTimeAsync(1)
    for (const outcome of [await reading, await committing]) {
      expect(outcome).toMatchObject({ code: "Storage", message: "the database did not answer for 30 s" })
    }
    await end()
    expect(await contents(name)).toEqual([])
    await write(driver, (next) => insert(next, 2, "b"))
    expect(await contents(name)).toHaveLength(1)
    expect(vi.getTimerCount(), "no timer stays").toBe(0)
  })

  test("begins anew with every answer, to reads and to masses of writes", async () => {
    const driver = await startUnderFakeTimers()
    const { name } = driver.database
    const end = hold((await connect(name)).transaction("alkstore", "readwrite"))
    const add = vi.spyOn(IDBObjectStore.prototype, "add")
    onTestFinished(() => add.mockRestore())
    const tx = await driver.begin()
    for (let id = 1; id <= 200; id++) insert(tx, id, "a")
    const requests = add.mock.results.map(({ value }) => value as IDBRequest)
    await vi.advanceTimersByTimeAsync(25_000)
    const release = hold(requests[0]!.transaction!)
    await end()
    while (requests.some(({ readyState }) => readyState === "pending")) await new Promise(setImmediate)
    await vi.advanceTimersByTimeAsync(25_000)
    expect(await tx.read([["count", ["q"], ["q", []]]])).toEqual([200])
    await vi.advanceTimersByTimeAsync(25_000)
    const committing = tx.commit()
    await release()
    await committing
    expect(await contents(name)).toHaveLength(200)
  })

  test("that began anew is one all the same", async () => {
    const driver = await startUnderFakeTimers()
    const get = vi.spyOn(IDBObjectStore.prototype, "get")
    onTestFinished(() => get.mockRestore())
    const tx = await driver.begin()
    await tx.read([["get", 1]])
    const store = (get.mock.results[0]!.value as IDBRequest).source as IDBObjectStore
    const again = (): void => {
      store.get(0).onsuccess = again
    }
    again()
    insert(tx, 1, "a")
    await vi.advanceTimersByTimeAsync(40_000)
    await expect(tx.commit()).rejects.toMatchObject({ message: "the database did not answer for 30 s" })
    expect(await contents(driver.database.name)).toEqual([])
  })

  test("is not used up by one timer that fires late", async () => {
    const driver = await startUnderFakeTimers()
    const end = hold((await connect(driver.database.name)).transaction("alkstore", "readwrite"))
    const tx = await driver.begin()
    const reading = tx.read([["get", 1]])
    vi.setSystemTime(Date.now() + 3_600_000)
    await vi.advanceTimersByTimeAsync(15_000)
    await end()
    expect(await reading).toEqual([undefined])
    await tx.commit()
  })

  test("ends an opening that another connection blocks, and closes what comes of it later", async () => {
    const name = freshName()
    const make = await underFakeTimers()
    const theirs = await connect(name, 1, upgrade)
    theirs.onversionchange = null
    const deleting = settled(indexedDB.deleteDatabase(name))
    const opening = make(name).connect().catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(30_000)
    expect(await opening).toMatchObject({ code: "Storage", message: expect.stringContaining("more than 30 s") })
    const close = vi.spyOn(IDBDatabase.prototype, "close")
    theirs.close()
    await deleting
    await vi.waitFor(() => expect(close).toHaveBeenCalledTimes(2))
    close.mockRestore()
  })

  test("holds no timer once all is done", async () => {
    const driver = (await underFakeTimers())(freshName())
    await driver.connect()
    await write(driver, (tx) => insert(tx, 1, "a"))
    const tx = await driver.begin()
    tx.abort()
    await expect(tx.commit()).rejects.toMatchObject({ code: "Storage" })
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(0))
    driver.close()
  })
})

describe("a failure of the storage", () => {
  test("is Storage with the cause, whenever it comes: the disk is full at commit", async () => {
    const { name, driver } = await start()
    const full = new DOMException("the disk is full", "QuotaExceededError")
    const tx = await driver.begin()
    insert(tx, 1, "a")
    await tx.read([["get", 1]])
    abortFor(full, tx)
    const error = await rejection(tx.commit())
    expect(error.code).toBe("Storage")
    expect(error.message).toBe("the transaction was aborted: QuotaExceededError: the disk is full")
    expect(error.cause).toBe(full)
    expect(await contents(name)).toEqual([])
    expect((await rejection(tx.commit())).message, "and stays it").toBe(error.message)
  })

  test("an engine that ends leaves nothing half done", async () => {
    const { name, driver } = await start()
    const [half, whole] = [await driver.begin(), await driver.begin()]
    insert(half, 1, "half an operation")
    insert(whole, 2, "whole")
    const committing = whole.commit()
    driver.abandon()
    await committing
    expect((await rejection(half.commit())).code).toBe("Storage")
    expect((await contents(name)).map(([key]) => key)).toEqual([2])
  })
})

/** The connection that a driver works on. */
async function openedBy(driver: IndexedDbDriver): Promise<IDBDatabase> {
  return driver.database.open()
}

/** Aborts a transaction of the adapter's as the browser would, for a reason of its own. */
function abortFor(error: DOMException, tx: unknown): void {
  const { transaction } = (tx as { store: IDBObjectStore }).store
  Object.defineProperty(transaction, "error", { value: error })
  transaction.abort()
}
