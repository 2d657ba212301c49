// What we have in a database: one store with keys from outside, and one index with any number of entries for each row.

import { invalid } from "../arguments.js"
import type { Key } from "../keyed.js"

export const STORE = "alkstore"
export const INDEX = "k"

/** Where a payload lies that is not in its job's row. */
export function payloadKey(id: number): Key[] {
  return ["p", id]
}

/** Makes what is missing of them, in the upgrade of a database. */
export function upgrade(database: IDBDatabase, transaction: IDBTransaction | null): void {
  if (!holds(() => typeof database.createObjectStore === "function")) throw invalid("db", database, "an IDBDatabase")
  if (transaction === null || !holds(() => transaction.mode === "versionchange")) {
    throw invalid("transaction", transaction, "the transaction of the database's upgrade")
  }
  const exists = database.objectStoreNames.contains(STORE)
  const store = exists ? transaction.objectStore(STORE) : database.createObjectStore(STORE)
  if (!store.indexNames.contains(INDEX)) store.createIndex(INDEX, INDEX, { multiEntry: true })
}

// They may be anything, and throw when they are looked at.
function holds(check: () => boolean): boolean {
  try {
    return check()
  } catch {
    return false
  }
}

/** What a database lacks for us, or `null`. Throws if its connection is closed. */
export function faultOf(database: IDBDatabase): string | null {
  if (!database.objectStoreNames.contains(STORE)) return `has no object store "${STORE}"`
  const store = database.transaction(STORE).objectStore(STORE)
  if (store.keyPath !== null || store.autoIncrement) return `has an object store "${STORE}" of another form`
  if (!store.indexNames.contains(INDEX)) return `has no index "${INDEX}" in its object store "${STORE}"`
  const { keyPath, multiEntry } = store.index(INDEX)
  return keyPath === INDEX && multiEntry ? null : `has an index "${INDEX}" of another form`
}
