// What a caller gives as its own transaction. Wrong ones are refused here, where it can be said what to do: used as
// they are, some of them would hang.

import { invalid } from "../arguments.js"
import { AlkstoreError } from "../errors.js"
import { nameOf } from "./errors.js"
import { STORE } from "./layout.js"

/** Our store in the caller's transaction, natively. */
export function storeOf(given: unknown, database: string): IDBObjectStore {
  const store = nativeStore(given)
  const { mode, db } = store.transaction
  if (mode === "readonly") throw refused(`must be readwrite, got one that is ${mode}`)
  if (db.name !== database) {
    throw refused(`must be one on the database ${JSON.stringify(database)}, got one on ${JSON.stringify(db.name)}`)
  }
  return store
}

function nativeStore(given: unknown): IDBObjectStore {
  if (typeof given !== "object" || given === null || typeof IDBTransaction !== "function") throw wrongKind(given)
  try {
    return IDBTransaction.prototype.objectStore.call(given as IDBTransaction, STORE)
  } catch (cause) {
    const name = nameOf(cause)
    if (name === "InvalidStateError") throw refused("has ended: it was committed or aborted before", cause)
    if (name === "NotFoundError") {
      const way = `db.transaction([..., "${STORE}"], "readwrite")`
      throw refused(`must have the store "${STORE}" in its scope: ${way}`, cause)
    }
    throw wrongKind(given)
  }
}

function wrongKind(given: unknown): AlkstoreError {
  let way = ""
  try {
    if ((given as { idbtrans?: unknown }).idbtrans !== undefined) way = ": of a Dexie transaction pass its .idbtrans"
    else if (given instanceof IDBTransaction) way = ": pass unwrap(tx) from idb"
  } catch {
    // Nothing is known of it.
  }
  return invalid("transaction", given, `a native IDBTransaction${way}`)
}

function refused(what: string, cause?: unknown): AlkstoreError {
  return new AlkstoreError("InvalidArgument", `transaction ${what}`, cause === undefined ? undefined : { cause })
}
