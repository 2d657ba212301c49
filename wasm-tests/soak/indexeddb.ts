// The soak on a database: what only there can happen, and what must be in it.

import { indexedDb } from "alkstore-wasm/indexeddb"
import { completed, settled } from "../shared/databases.js"
import { databaseWork } from "./database-watch.js"
import type { Errand, Told } from "./errand.worker.js"
import { DatabaseFaults } from "./faults.js"
import { all } from "./housekeeping.js"
import { liesApart, payloadOf } from "./payloads.js"
import { queueOf, type Place, type World } from "./world.js"

/** An errand claims as many in a step. */
const ACKS_PER_STEP_MAX = 4
const STEPS_MAX = 12
const TURNS_MAX = 40
const JOINED = 4
/** Schedules, locks that nobody released, the leader's, and the header. */
const OTHER_ROWS_MAX = 7 + 5 + 1 + 1

export interface DatabaseOptions {
  readonly durability: "strict" | "relaxed"
  /** In each so manieth session another context is ended: to start one takes a while. */
  readonly sessionsPerErrand: number
}

export function databasePlace(name: string, { durability, sessionsPerErrand }: DatabaseOptions): Place {
  let sessions = 0
  return {
    elsewhere: databaseWork,
    faults: new DatabaseFaults(name),
    adapter: () => indexedDb(name, { durability }),
    async extra(world) {
      for (let turn = 0; turn < JOINED; turn += 1) await joined(world, name)
      sessions += 1
      if (sessions % sessionsPerErrand === 0) await errand(world, name)
    },
    audit: (world) => auditRows(world, name)
  }
}

// A job that commits, or not, with a transaction of the app's own.
async function joined(world: World, database: string): Promise<void> {
  const { numbers, books, random, ground, findings } = world
  const db = await settled(indexedDB.open(database))
  const transaction = db.transaction("alkstore", "readwrite")
  const ended = completed(transaction).then(() => true, () => false)
  const n = numbers.next()
  const id = await queueOf(ground, "mail").enqueue(payloadOf(n), { transaction })
  const isAborted = random.chance(0.5)
  if (isAborted) transaction.abort()
  const isCommitted = await ended
  findings.check(isCommitted !== isAborted, () => `the app's transaction ${isCommitted ? "completed" : "was aborted"}`)
  if (isCommitted) books.enqueued("mail", id, n)
  db.close()
}

// Another context works for a while, and is ended in the middle of a step. What it had told is so; of the last step all,
// nothing or a part may have happened, and nothing else.
async function errand(world: World, database: string): Promise<void> {
  const { numbers, books, random, clock, ground, findings } = world
  const worker = new Worker("/soak/errand.worker.js")
  const ask = (what: Errand | "step"): Promise<Told> =>
    new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data)
      worker.onerror = ({ message }) => reject(new Error(`the errand has failed: ${message}`))
      worker.postMessage(what)
    })
  const steps = random.int(1, STEPS_MAX)
  const first = numbers.several(steps + 1)
  await ask({ database, now: clock.now(), first })
  for (let step = 0; step < steps; step += 1) {
    const { enqueued, claimed, acked } = await ask("step")
    books.enqueued("errands", enqueued, first + step)
    for (const { id, n } of claimed) books.claimed("errands", id, n)
    for (const id of acked) books.left("errands", id, "acked")
  }
  worker.onmessage = null
  worker.postMessage("step")
  await turns(random.int(0, TURNS_MAX))
  worker.terminate()

  // Behind whatever it has left in the database.
  const jobs = await all<unknown>(queueOf(ground, "errands"))
  const there = new Set(jobs.map((job) => job.id))
  const gone = [...books.living("errands").keys()].filter((id) => !there.has(id))
  findings.check(gone.length <= ACKS_PER_STEP_MAX, () => `one step took ${gone.length} jobs`)
  for (const id of gone) books.left("errands", id, "acked")
  const isItsOwn = (id: number): boolean => !books.has("errands", id)
  for (const { id } of jobs.filter((job) => isItsOwn(job.id))) books.enqueued("errands", id, first + steps)
}

async function turns(count: number): Promise<void> {
  const { port1, port2 } = new MessageChannel()
  for (let turn = 0; turn < count; turn += 1) {
    await new Promise((resolve) => {
      port1.onmessage = resolve
      port2.postMessage(null)
    })
  }
  port1.close()
}

/** How many rows there are. */
export async function rowsIn(database: string): Promise<{ jobs: number; payloads: number; others: number }> {
  const db = await settled(indexedDB.open(database))
  const transaction = db.transaction("alkstore")
  const ended = completed(transaction)
  const store = transaction.objectStore("alkstore")
  const count = (range?: IDBKeyRange): Promise<number> => settled(store.count(range))
  const [total, jobs, payloads] = await Promise.all([
    count(),
    count(IDBKeyRange.bound(-Infinity, Infinity)),
    count(IDBKeyRange.bound(["p"], ["p", []]))
  ])
  await ended
  db.close()
  return { jobs, payloads, others: total - jobs - payloads }
}

async function auditRows({ books, findings }: World, database: string): Promise<void> {
  const { jobs, payloads, others } = await rowsIn(database)
  findings.check(jobs === books.count(), () => `${jobs} rows of ${books.count()} jobs`)
  const apart = books.count(liesApart)
  findings.check(payloads === apart, () => `${payloads} payloads in records of their own, of ${apart}`)
  findings.check(others <= OTHER_ROWS_MAX, () => `${others} rows that are no job's`)
}
