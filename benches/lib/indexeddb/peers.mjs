// What others have built on IndexedDB, as it is released.

import { createCollection } from "@tanstack/db"
import { startOfflineExecutor } from "@tanstack/offline-transactions"
import Dexie from "dexie"
import { Queue } from "workbox-background-sync"

/** Workbox's queue of requests. It has no leases, takes one at a time, and its writes are relaxed. */
export function workbox() {
  // In a page, as where there is no Background Sync: nothing is registered, which would cost more.
  globalThis.registration ??= {}
  const queue = new Queue("jobs", { onSync: () => {} })
  const request = (payload) => ({ request: new Request("/hook", { method: "POST", body: JSON.stringify(payload) }) })
  return {
    enqueue: (payload) => queue.pushRequest(request(payload)),
    enqueueAll: (payloads) => Promise.all(payloads.map((payload) => queue.pushRequest(request(payload)))),
    async take(n) {
      for (let taken = 0; taken < n; taken++) await queue.shiftRequest()
    }
  }
}

/** A queue made by hand of a table of Dexie's, like the raw one. `durability` is Dexie's option; its default is relaxed. */
export function dexie(name, durability) {
  const database = new Dexie(name, { cache: "disabled", ...(durability && { chromeTransactionDurability: durability }) })
  database.version(1).stores({ jobs: "id" })
  const { jobs } = database
  let next = 1
  let last = 0
  const row = (payload) => ({ id: next++, payload, until: 0 })
  return {
    enqueue: (payload) => jobs.put(row(payload)),
    enqueueAll: (payloads) => jobs.bulkPut(payloads.map(row)),
    async claim(n) {
      const claimed = await database.transaction("rw", jobs, async () => {
        const found = await jobs.where("id").above(last).limit(n).toArray()
        await jobs.bulkPut(found.map((job) => ({ ...job, until: Date.now() + 300_000 })))
        return found.map(({ id }) => id)
      })
      last = claimed.at(-1)
      return claimed
    },
    ack: (ids) => (ids.length === 1 ? jobs.delete(ids[0]) : jobs.bulkDelete(ids))
  }
}

/** TanStack's outbox: a commit stores a transaction, has it delivered, and removes it, all before it resolves. */
export async function tanstack() {
  const sync = ({ markReady }) => markReady()
  const rows = createCollection({ id: "rows", getKey: ({ id }) => id, sync: { sync }, startSync: true })
  const executor = startOfflineExecutor({ collections: { rows }, mutationFns: { deliver: async () => {} } })
  await executor.waitForInit()
  if (!executor.isOfflineEnabled) throw new Error("TanStack's executor keeps nothing here")
  let next = 1
  return {
    deliver(payload) {
      const transaction = executor.createOfflineTransaction({ mutationFnName: "deliver", autoCommit: false })
      transaction.mutate(() => rows.insert({ id: next++, ...payload }))
      return transaction.commit()
    }
  }
}
