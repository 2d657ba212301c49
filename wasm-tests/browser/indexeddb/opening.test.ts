// What a tab that starts asks the database for: as much with a full queue as with an empty one.

import { expect, onTestFinished, test } from "vitest"
import { indexedDb } from "alkstore-wasm/indexeddb"
import { freshName } from "../../shared/databases.js"
import { must } from "../../shared/support.js"
import { opened } from "./support.js"

const FULL = 100
const LIMIT_MAX = 1_000

const METHODS = {
  open: IDBFactory.prototype,
  transaction: IDBDatabase.prototype
} as const
const READS = ["get", "getKey", "getAll", "getAllKeys", "count", "openCursor", "openKeyCursor"] as const
const WRITES = ["put", "add", "delete", "clear"] as const

type Method = (...given: unknown[]) => unknown

/** Calls `record` for each call of a method until the test ends. */
function spyOn(owner: object, method: string, record: (given: unknown[]) => void): void {
  const methods = owner as Record<string, Method>
  const own = must(methods[method])
  methods[method] = function (this: unknown, ...given) {
    record(given)
    return own.apply(this, given)
  }
  onTestFinished(() => {
    methods[method] = own
  })
}

/** All that the database is asked for from now on, each with what it is asked for. */
function requests(): unknown[][] {
  const seen: unknown[][] = []
  for (const [method, owner] of Object.entries(METHODS)) spyOn(owner, method, (given) => seen.push([method, given[0]]))
  for (const method of READS) {
    for (const owner of [IDBObjectStore.prototype, IDBIndex.prototype]) {
      if (method in owner) spyOn(owner, method, (given) => seen.push([method, ...given]))
    }
  }
  for (const method of WRITES) spyOn(IDBObjectStore.prototype, method, (given) => seen.push([method, given.at(-1)]))
  return seen
}

/** A database that has been used, with so many jobs in it. */
async function used(jobs: number): Promise<string> {
  const name = freshName()
  const store = await opened(indexedDb(name, { durability: "relaxed" }))
  await store.transaction(async (tx) => {
    for (let n = 0; n < jobs; n++) await tx.enqueue("mail", { n }, { delay: n % 2 })
  })
  await store.queue("mail").stats()
  await store.close()
  return name
}

test.each([0, FULL])("opening and the first enqueue read one row, with %i jobs stored", async (jobs) => {
  const name = await used(jobs)
  const seen = requests()
  const store = await opened(indexedDb(name))
  const id = await store.queue("mail").enqueue("first")
  expect(seen).toEqual([
    ["open", name],
    ["transaction", "alkstore"], // asks for the stores' names, and for no row
    ["transaction", "alkstore"],
    ["get", ["m"]],
    ["add", id],
    ["put", ["m"]]
  ])
})

test.each([0, FULL])("opening and the first claim read a few rows, with %i jobs stored", async (jobs) => {
  const name = await used(jobs)
  const seen = requests()
  const store = await opened(indexedDb(name))
  await store.queue("mail").claimOne("w")
  const reads = seen.filter(([method]) => READS.includes(method as never))
  const shapes = reads.map(([method, range, limit]) => {
    if (!(range instanceof IDBKeyRange)) return [method, range]
    return [method, (range.lower as unknown[])[1], Number(limit ?? Infinity) > LIMIT_MAX ? "all" : limit]
  })
  expect(shapes).toEqual([
    ["get", ["m"]],
    ["getAll", "o", 1], // ready
    ["getAll", "d", 64], // delayed
    ["getAll", "l", 64], // leased
    ["getAll", "x", "all"] // out of attempts: to be buried, and gone with that
  ])
})
