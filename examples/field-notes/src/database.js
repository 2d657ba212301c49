// The app's own database: its notes, and beside them the rows of the outbox.

import { upgrade } from "alkstore-wasm/indexeddb"

const NAME = "field-notes"
const VERSION = 1
export const NOTES = "notes"
/** The object store that `upgrade` makes: name it in every transaction that enqueues. */
export const OUTBOX_STORE = "alkstore"

/**
 * Opens the database. `onLost` is called when the connection is gone: the site's data was cleared, or a newer version
 * of the app wants to upgrade.
 */
export function openDatabase(onLost) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, VERSION)
    request.onupgradeneeded = () => {
      request.result.createObjectStore(NOTES, { keyPath: "id" })
      upgrade(request.result, request.transaction)
    }
    let isGivenUp = false
    request.onsuccess = () => {
      const database = request.result
      // Nobody is waiting for it any more, and it would stand in the way of the next upgrade.
      if (isGivenUp) return database.close()
      database.onclose = onLost
      database.onversionchange = () => {
        database.close()
        onLost()
      }
      resolve(database)
    }
    request.onerror = () => reject(request.error)
    request.onblocked = () => {
      isGivenUp = true
      reject(new Error("another tab has an older version open: close it and reload"))
    }
  })
}

/** Resolves when `transaction` has committed; rejects when it was aborted, for whatever reason. */
export function committed(transaction) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve()
    transaction.onabort = () => reject(transaction.error ?? new DOMException("aborted", "AbortError"))
  })
}

/** Every note. */
export function readNotes(database) {
  return new Promise((resolve, reject) => {
    const request = database.transaction(NOTES).objectStore(NOTES).getAll()
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
