// The storages that cases run on, by the names that the setting `storage` has for them.

import { memory } from "alkstore-wasm"
import { indexedDb } from "alkstore-wasm/indexeddb"
import type { StorageAdapter } from "alkstore-wasm"
import { setting } from "./report.js"

let made = 0

/** For each a new place to store in, and adapters for it. */
const STORAGES: Record<string, () => () => StorageAdapter> = {
  memory() {
    const storage = memory()
    return () => storage
  },
  indexeddb() {
    const name = freshName()
    return () => indexedDb(name)
  },
  // For cases with thousands of operations, which are not about what a crash leaves.
  "indexeddb, relaxed"() {
    const name = freshName()
    return () => indexedDb(name, { durability: "relaxed" })
  }
}

// Not to be found by the next page of this origin.
function freshName(): string {
  return `case-${setting("run")}-${++made}`
}

/** A storage with nothing in it, of the kind that the page's settings name. */
export function newStorage(): StorageAdapter {
  return newStorages(1)[0]!
}

/** As many adapters of one such storage: if it is durable, as many contexts have them. */
export function newStorages(count: number): StorageAdapter[] {
  const make = STORAGES[setting("storage")]
  if (!make) throw new Error(`there is no storage ${setting("storage")}`)
  return Array.from({ length: count }, make())
}
