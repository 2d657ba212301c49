import { onTestFinished } from "vitest"
import { open } from "alkstore-wasm"
import type { Outbox, StorageAdapter, Store } from "alkstore-wasm"
import { indexedDb, upgrade } from "alkstore-wasm/indexeddb"
import { connect, freshName } from "../../shared/databases.js"

/** A store, closed when the test ends. */
export async function opened(storage: StorageAdapter): Promise<Store> {
  const store = await open({ storage })
  onTestFinished(() => store.close())
  return store
}

export interface App {
  name: string
  db: IDBDatabase
  store: Store
  outbox: Outbox
}

/** An app's database with its notes, our rows beside them, and a store on it. */
export async function startApp(): Promise<App> {
  const name = freshName()
  const db = await connect(name, 1, (made, transaction) => {
    made.createObjectStore("notes")
    upgrade(made, transaction)
  })
  const store = await opened(indexedDb({ database: db }))
  return { name, db, store, outbox: store.outbox("mail") }
}
