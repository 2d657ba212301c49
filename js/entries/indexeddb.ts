// `alkstore-wasm/indexeddb`: durable in browsers.

import { indexedDb as makeIndexedDb } from "../indexeddb/index.js"
import { upgrade as makeStores } from "../indexeddb/layout.js"
import type { StorageAdapter } from "../types.js"

/** Options of `indexedDb`. */
export interface IndexedDbOptions {
  /**
   * `"strict"`, the default: a resolved promise means that the data is on the disk. `"relaxed"`: that it is with the
   * operating system, which is quicker and may lose the last moments when the machine, not only the browser, stops.
   */
  durability?: "strict" | "relaxed" | null | undefined
}

/**
 * A storage in IndexedDB: in a database of its own by the name `name`, or, given `{ database }`, beside the app's data
 * in the app's own, where `upgrade` has made room. Every tab, worker and service worker of an origin that opens it
 * shares its jobs, locks and schedules. Stores opened on one adapter share a connection.
 *
 * A database of its own is opened by `open()`, again when the browser has closed it, and closed with the last store; it
 * never stands in the way of an upgrade or a deletion. Of the app's database too the name may be given, once `upgrade` has
 * made room in it: for Dexie, which opens and closes its connection by itself. A connection that is given stays the app's to
 * open and close, and once it is closed all calls are `Storage`.
 *
 * Throws `InvalidArgument`. What opening it comes to is told by `open()`.
 */
export const indexedDb: (
  name: string | { database: IDBDatabase },
  options?: IndexedDbOptions | null
) => StorageAdapter = makeIndexedDb

/**
 * Makes room in the app's own database, in its upgrade: the object store `alkstore`, with the index `k`. Makes what is
 * missing, and may be called in every upgrade. Declared in Dexie the store is `alkstore: ",*k"`: leave it in the
 * versions that stay, Dexie deletes stores that none of them has.
 *
 * `transaction` is that of the upgrade, `request.transaction`. Throws `InvalidArgument` for what is no upgrade's.
 */
export const upgrade: (db: IDBDatabase, transaction: IDBTransaction | null) => void = makeStores

export type * from "../types.js"
