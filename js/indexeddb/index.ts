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
  const { database } = typeof given === "object" ? options("name", given, DATABASE_KINDS) : {}
  if (database === undefined) throw invalid("name", given, "a database's name, or { database } with an open one")
  return new GuestDatabase(database as IDBDatabase)
}

// By its brand: a Proxy around one would answer with Proxies.
function nativeDatabase(value: unknown): IDBDatabase {
  try {
    const names = Object.getOwnPropertyDescriptor(IDBDatabase.prototype, "objectStoreNames")?.get
    names?.call(value)
    if (typeof value === "object" && value !== null) return value as IDBDatabase
  } catch {
    // No database.
  }
  const way = isOneOutside(value) ? ": pass unwrap(db) from idb" : ""
  throw new AlkstoreError("InvalidArgument", `database must be a native IDBDatabase${way}, got ${show(value)}`)
}

function isOneOutside(value: unknown): boolean {
  try {
    return value instanceof IDBDatabase
  } catch {
    return false
  }
}
