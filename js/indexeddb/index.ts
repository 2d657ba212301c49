// What users give, into an adapter.

import { invalid, options, show } from "../arguments.js"
import { AlkstoreError } from "../errors.js"
import { KeyedStorage } from "../keyed-storage.js"
import type { StorageAdapter } from "../types.js"
import { GuestDatabase, OwnDatabase } from "./database.js"
import { IndexedDbDriver } from "./driver.js"

const OPTION_KINDS = {
  durability: (name: string, value: unknown): unknown => {
    if (value !== "strict" && value !== "relaxed") throw invalid(name, value, '"strict" or "relaxed"')
    return value
  }
}

const DATABASE_KINDS = { database: (_: string, value: unknown): unknown => nativeDatabase(value) }

export function indexedDb(given: unknown, options_?: unknown): StorageAdapter {
  const database = databaseOf(given)
  const { durability = "strict" } = options("options", options_, OPTION_KINDS)
  return new KeyedStorage(new IndexedDbDriver(database, durability as IDBTransactionDurability))
}

function databaseOf(given: unknown): OwnDatabase | GuestDatabase {
  if (typeof given === "string") {
    if (given.trim() === "") throw invalid("name", given, "a name that is not blank")
    return new OwnDatabase(given)
  }
  const unlike = (): AlkstoreError => invalid("name", given, "a database's name, or { database } with an open one")
  if (typeof given !== "object" || given === null || isDatabase(given)) throw unlike()
  const { database } = options("name", given, DATABASE_KINDS)
  if (database !== undefined) return new GuestDatabase(database as IDBDatabase)
  throw "database" in given ? invalid("database", given.database, "one that is open") : unlike()
}

// By its brand: a Proxy around one would answer with Proxies.
function nativeDatabase(value: unknown): IDBDatabase {
  if (isDatabase(value)) return value
  throw new AlkstoreError("InvalidArgument", `database must be a native IDBDatabase${wayOut(value)}, got ${show(value)}`)
}

function isDatabase(value: unknown): value is IDBDatabase {
  try {
    const names = Object.getOwnPropertyDescriptor(IDBDatabase.prototype, "objectStoreNames")?.get
    if (names === undefined) return value instanceof IDBDatabase
    names.call(value)
    return true
  } catch {
    return false
  }
}

function wayOut(value: unknown): string {
  try {
    if (value instanceof IDBDatabase) return ": pass unwrap(db) from idb"
    if (typeof (value as { backendDB?: unknown }).backendDB === "function") return ": of Dexie give the name, indexedDb(db.name)"
  } catch {
    // Nothing is known of it.
  }
  return ""
}
