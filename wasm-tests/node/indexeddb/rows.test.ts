// What the adapter makes of reads and writes.

import { describe, expect, test, vi } from "vitest"
import { contents } from "../../shared/databases.js"
import { insert, rejection, start, write } from "./support.js"

describe("reading", () => {
  test("answers each kind of read, in their order and in one round", async () => {
    const { driver } = await start()
    await write(driver, (tx) => {
      for (const id of [1, 2, 3]) insert(tx, id, `job ${id}`, [["q", "o", id], ["q", "e", -id]])
      tx.put(["m"], [], [4], undefined)
    })
    const tx = await driver.begin()
    const [meta, none, head, expiring, rows, count] = await tx.read([
      ["get", ["m"]],
      ["get", 9],
      ["index", ["q", "o", 0], ["q", "o", 99], 2],
      ["index", ["q", "e", -2], ["q", "e", 0], 0],
      ["rows", 2, 3, 0],
      ["count", ["q"], ["q", []]]
    ])
    await tx.commit()
    const ids = (given: unknown): unknown[] => (given as { v: unknown[] }[]).map(({ v }) => v[1])
    expect(meta).toEqual({ v: [4] })
    expect(none).toBeUndefined()
    expect([ids(head), ids(expiring), ids(rows), count]).toEqual([[1, 2], [2, 1], [2, 3], 6])
  })

  test("alone, its transaction is not waited for", async () => {
    const { driver } = await start()
    const begun = vi.spyOn(IDBDatabase.prototype, "transaction")
    const tx = await driver.begin()
    const transaction = begun.mock.results[0]?.value as IDBTransaction
    begun.mockRestore()
    const completed = vi.fn()
    transaction.addEventListener("complete", completed)
    await tx.read([["get", 1]])
    await tx.commit()
    expect(completed).not.toHaveBeenCalled()
    await vi.waitFor(() => expect(completed).toHaveBeenCalledOnce())
  })

  test("nothing answers nothing", async () => {
    const { driver } = await start()
    const tx = await driver.begin()
    expect(await tx.read([])).toEqual([])
    await tx.commit()
  })

  test("sees what was written before in the transaction", async () => {
    const { driver } = await start()
    const tx = await driver.begin()
    insert(tx, 1, "a")
    tx.put(["l", "name"], [], ["owner"], undefined)
    tx.delete(["l", "name"])
    expect(await tx.read([["get", 1], ["get", ["l", "name"]]])).toMatchObject([{ p: "a" }, undefined])
    await tx.commit()
  })

  test("a range that is none fails the transaction, as Storage", async () => {
    const { name, driver } = await start()
    const tx = await driver.begin()
    insert(tx, 1, "a")
    const error = await rejection(tx.read([["rows", 5, 1, 0]]))
    expect(error.code).toBe("Storage")
    expect((await rejection(tx.commit())).message).toBe(error.message)
    expect(await contents(name)).toEqual([])
  })
})

const PLAIN = { id: 1, to: "ada", at: new Date(5), tags: ["x", null, undefined, true], nested: { deep: [{}] } }

describe("a payload lies", () => {
  test.each<[what: string, payload: unknown]>([
    ["plain data", PLAIN],
    ["nothing at all", undefined],
    ["two thousand characters", "x".repeat(2_000)],
    ["what comes twice", ((shared) => [shared, shared])({ n: 1 })]
  ])("in the row: %s", async (_, payload) => {
    const { name, driver } = await start()
    await write(driver, (tx) => insert(tx, 1, payload))
    expect(await contents(name)).toStrictEqual([[1, { k: [["q", "o", 1]], v: [1, 1, "pending"], p: payload }]])
  })

  const cycle: unknown[] = []
  cycle.push(cycle)
  test.each<[what: string, payload: unknown]>([
    ["a long string", "x".repeat(5_000)],
    ["a long key", { ["x".repeat(5_000)]: 1 }],
    ["many values", Array.from({ length: 300 }, () => 0)],
    ["bytes", new Uint8Array(3)],
    ["a Map, deep inside", { a: [{ b: new Map([[1, 2]]) }] }],
    ["a bigint", 1n],
    ["a cycle", cycle]
  ])("in a record of its own: %s", async (_, payload) => {
    const { name, driver } = await start()
    await write(driver, (tx) => insert(tx, 1, payload))
    expect(await contents(name)).toStrictEqual([
      [1, { k: [["q", "o", 1]], v: [1, 1, "pending"] }],
      [["p", 1], { p: payload }]
    ])
  })

  test("where it was when its row is written anew", async () => {
    const { name, driver } = await start()
    await write(driver, (tx) => {
      insert(tx, 1, "small")
      insert(tx, 2, "x".repeat(5_000))
      insert(tx, 3, undefined)
      tx.update(3, [], [1, 3, "changed at once"])
    })
    const tx = await driver.begin()
    await tx.read([["get", 1], ["index", ["q", "o", 2], ["q", "o", 2], 1], ["rows", 3, 3, 1]])
    for (const id of [1, 2, 3]) tx.update(id, [["q", "l", id]], [1, id, "claimed"])
    await tx.commit()
    const k = (id: number): unknown => [["q", "l", id]]
    expect(await contents(name)).toStrictEqual([
      [1, { k: k(1), v: [1, 1, "claimed"], p: "small" }],
      [2, { k: k(2), v: [1, 2, "claimed"] }],
      [3, { k: k(3), v: [1, 3, "claimed"], p: undefined }],
      [["p", 2], { p: "x".repeat(5_000) }]
    ])
  })

  test("in the row always, where it is no job's: what is not there is left out", async () => {
    const { name, driver } = await start()
    const long = "x".repeat(5_000)
    await write(driver, (tx) => {
      tx.put(["s", "a"], [["q", "b", 1]], [1, "a"], long)
      tx.put(["s", "b"], [], [1, "b"], undefined)
    })
    expect(await contents(name)).toStrictEqual([
      [["s", "a"], { k: [["q", "b", 1]], v: [1, "a"], p: long }],
      [["s", "b"], { v: [1, "b"] }]
    ])
  })

  test("nowhere once its job is removed, read or unread", async () => {
    const { name, driver } = await start()
    const insertAll = (): Promise<void> =>
      write(driver, (tx) => ["a", new Uint8Array(1)].forEach((payload, at) => insert(tx, at + 1, payload)))
    await insertAll()
    const tx = await driver.begin()
    await tx.read([["get", 1], ["get", 2]])
    tx.remove(1)
    tx.remove(2)
    await tx.commit()
    expect(await contents(name)).toEqual([])
    await insertAll()
    await write(driver, (unread) => [1, 2].forEach((id) => unread.remove(id)))
    expect(await contents(name)).toEqual([])
  })
})

describe("what cannot be stored", () => {
  test("is Codec, and nothing of the transaction is stored", async () => {
    const { name, driver } = await start()
    const tx = await driver.begin()
    insert(tx, 1, "a")
    insert(tx, 2, { callback() {} })
    insert(tx, 3, "b")
    const error = await rejection(tx.commit())
    expect(error.code).toBe("Codec")
    expect((error.cause as DOMException).name).toBe("DataCloneError")
    expect(await contents(name)).toEqual([])
    await write(driver, (next) => insert(next, 4, "c"))
    expect(await contents(name)).toHaveLength(1)
  })

  test("is found out ahead, with the part at fault, and the store is left alone", async () => {
    const { name, driver } = await start()
    driver.check({ fine: new Map([[new Date(), new Uint8Array(1)]]) })
    const refuse = (): void => driver.check({ list: [{ module: new WeakMap() }] })
    expect(refuse).toThrow(/cannot be stored by IndexedDB: payload\.list\[0\]\.module is a WeakMap$/)
    expect(await contents(name)).toEqual([])
  })
})
