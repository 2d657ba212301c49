// The outbox, in the app's database. Pages and the service worker open it alike.

import { open } from "alkstore-wasm"
import { indexedDb } from "alkstore-wasm/indexeddb"
import { openDatabase } from "./database.js"

/** In rows; one page of a listing. */
const PAGE = 500

/** Opens everything: `{ database, store, outbox }`. See `openDatabase` for `onLost`. */
export async function openStore(onLost) {
  let store = null
  const database = await openDatabase(() => {
    void store?.close()
    onLost()
  })
  try {
    store = await open({ storage: indexedDb({ database }) })
  } catch (error) {
    database.close()
    throw error
  }
  return { database, store, outbox: store.outbox("notes") }
}

/** Every job of `outbox`, in the order in which they were enqueued. */
export async function readJobs(outbox) {
  const jobs = []
  for (;;) {
    const page = await outbox.list({ after: jobs.at(-1)?.id ?? 0, limit: PAGE })
    jobs.push(...page)
    if (page.length < PAGE) return jobs
  }
}
