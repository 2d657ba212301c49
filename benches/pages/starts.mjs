// The sides of benches/page-start.mjs: code of modules whose `run` resolves when the first thing of its kind is
// acknowledged. The name under which each keeps its data is given, so that none meets another's.

const PAYLOAD = '{ to: "somebody@example.org", subject: "Your order is ready" }'

const ours = (entry, storage, init = "") => `
  import { open ${init && ", init"} } from "${entry}"
  ${storage && 'import { indexedDb } from "alkstore-wasm/indexeddb"'}
  export async function run(name) {
    ${init}
    const store = await open({ ${storage} })
    await store.queue("mail").enqueue(${PAYLOAD})
  }
`

const DURABLE = "storage: indexedDb(name)"

const RAW = `
  export async function run(name) {
    const database = await new Promise((resolve, reject) => {
      const request = indexedDB.open(name, 1)
      request.onupgradeneeded = () => request.result.createObjectStore("jobs", { autoIncrement: true })
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error)
    })
    await new Promise((resolve, reject) => {
      const transaction = database.transaction("jobs", "readwrite", { durability: "strict" })
      transaction.objectStore("jobs").put(${PAYLOAD})
      transaction.oncomplete = resolve
      transaction.onabort = () => reject(transaction.error)
    })
  }
`

const WORKBOX = `
  import { Queue } from "workbox-background-sync"
  export async function run(name) {
    const request = new Request("/orders", { method: "POST", body: JSON.stringify(${PAYLOAD}) })
    await new Queue(name).pushRequest({ request })
  }
`

const TANSTACK = `
  import { startOfflineExecutor } from "@tanstack/offline-transactions"
  import { createCollection, localOnlyCollectionOptions } from "@tanstack/db"
  export async function run() {
    const collection = createCollection(localOnlyCollectionOptions({ id: "orders", getKey: ({ id }) => id }))
    const mutationFns = { send: async () => {} }
    const executor = startOfflineExecutor({ collections: { orders: collection }, mutationFns })
    await executor.waitForInit()
    const transaction = executor.createOfflineTransaction({ mutationFnName: "send", autoCommit: false })
    transaction.mutate(() => collection.insert({ id: crypto.randomUUID(), ...${PAYLOAD} }))
    await transaction.commit()
    if (!executor.isOfflineEnabled) throw new Error("nothing was stored")
  }
`

const JSQUASH = `
  import encode from "@jsquash/jpeg/encode.js"
  export async function run() {
    await encode({ data: new Uint8ClampedArray(8 * 8 * 4), width: 8, height: 8 })
  }
`

const SQLITE = `
  import init from "@sqlite.org/sqlite-wasm"
  export async function run() {
    const { oo1 } = await init()
    const database = new oo1.DB(":memory:")
    database.exec("CREATE TABLE jobs (id INTEGER PRIMARY KEY, payload TEXT)")
    database.exec({ sql: "INSERT INTO jobs (payload) VALUES (?)", bind: [JSON.stringify(${PAYLOAD})] })
  }
`

/** By name; `in`, where it cannot run in both a page and a service worker. */
export const STARTS = {
  memory: { title: "alkstore-wasm, memory", code: ours("alkstore-wasm", "") },
  indexeddb: { title: "alkstore-wasm, IndexedDB", code: ours("alkstore-wasm", DURABLE) },
  slim: { title: "alkstore-wasm/slim, IndexedDB", code: ours("alkstore-wasm/slim", DURABLE, 'init("/engine.wasm")') },
  raw: { title: "raw IndexedDB: open, one put", code: RAW },
  workbox: { title: "workbox-background-sync", code: WORKBOX, in: ["service"] },
  tanstack: { title: "@tanstack/offline-transactions", code: TANSTACK },
  jsquash: { title: "@jsquash/jpeg: encodes 8 × 8", code: JSQUASH },
  sqlite: { title: "@sqlite.org/sqlite-wasm, memory", code: SQLITE }
}

/** What they fetch. */
export const FETCHED = [
  "alkstore-wasm/dist/engine.wasm",
  "@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm",
  "@sqlite.org/sqlite-wasm/dist/sqlite3.wasm"
]
