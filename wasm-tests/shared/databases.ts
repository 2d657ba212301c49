// Databases for tests: names that nobody else uses, and what lies in them.

import { onTestFinished } from "vitest"

let names = 0

/** The name of a database that is deleted when the test ends. */
export function freshName(): string {
  names += 1
  const name = `test-${names}-${Math.random().toString(36).slice(2)}`
  onTestFinished(() => settled(indexedDB.deleteDatabase(name)).then(() => undefined, () => undefined))
  return name
}

/** A request's result. */
export function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

/** Resolves when the transaction completes, rejects when it aborts. */
export function completed(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.addEventListener("complete", () => resolve())
    transaction.addEventListener("abort", () => reject(transaction.error ?? new Error("aborted")))
  })
}

/** A connection that is closed when the test ends, and gives way like a well-behaved app's. */
export async function connect(
  name: string,
  version?: number,
  upgrade?: (db: IDBDatabase, transaction: IDBTransaction) => void
): Promise<IDBDatabase> {
  const request = indexedDB.open(name, version)
  request.onupgradeneeded = () => upgrade?.(request.result, request.transaction!)
  const db = await settled(request)
  db.onversionchange = () => db.close()
  onTestFinished(() => db.close())
  return db
}

/** All that lies in a store, by a connection of its own. */
export async function contents(name: string, store = "alkstore"): Promise<[key: IDBValidKey, value: any][]> {
  const db = await settled(indexedDB.open(name))
  try {
    const rows = db.transaction(store).objectStore(store)
    const [keys, values] = await Promise.all([settled(rows.getAllKeys()), settled(rows.getAll())])
    return keys.map((key, at) => [key, values[at]])
  } finally {
    db.close()
  }
}

/** Keeps a transaction under way until what it returns is called, which resolves when it has completed. */
export function hold(transaction: IDBTransaction): () => Promise<void> {
  const store = transaction.objectStore(transaction.objectStoreNames[0]!)
  const end = completed(transaction)
  let held = true
  const again = (): void => {
    if (held) store.get(0).onsuccess = again
  }
  again()
  return () => {
    held = false
    return end
  }
}
