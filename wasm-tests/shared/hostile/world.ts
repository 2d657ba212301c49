// A store with something of everything in it: what a refused call must leave as it was.

import { open as openStore } from "alkstore-wasm"
import type { ClaimedJob, Lock, Outbox, Queue, StorageAdapter, Store } from "alkstore-wasm"
import { ManualClock } from "alkstore-wasm/testing"
import { fieldsOf, must, START } from "../support.js"

export interface World {
  clock: ManualClock
  store: Store
  /** Job 1 is claimed for the last time, 2 and 3 are dead, 4 is claimed, 5 to 7 are ready. */
  mail: Queue<unknown>
  /** Job 8 is dead, LETTER and job 10 are ready, for one attempt. */
  hooks: Outbox<unknown>
  /** The claim of job 1. */
  job: ClaimedJob<unknown>
  /** The claim of job 4. */
  other: ClaimedJob<unknown>
  /** `report`, held by `tab` for an hour. */
  lock: Lock
}

/** The letter that is delivered next. */
export const LETTER = 9

export async function build(storage?: StorageAdapter, open: typeof openStore = openStore): Promise<World> {
  const clock = new ManualClock(START)
  const store = await open({ clock, seed: 1, ...(storage && { storage }) })
  const [mail, hooks] = [store.queue("mail"), store.outbox("hooks")]
  for (let n = 1; n <= 7; n++) await mail.enqueue({ n }, { maxAttempts: n === 1 ? 1 : 3 })
  const [job, second, third, other] = await mail.claimBatch("w", 4)
  for (const each of [second, third]) await must(each).fail("a reason")
  for (let n = 1; n <= 3; n++) await hooks.enqueue("a letter", { maxAttempts: 1 })
  await hooks.runOnce("w", () => Promise.reject(new Error("a reason")))
  await store.schedule("nightly", "@every 1d", "mail", { at: "night" })
  const lock = must(await store.tryLock("report", "tab", "1h"))
  return { clock, store, mail, hooks, job: must(job), other: must(other), lock }
}

/** Everything that can be seen of it, as text. Looking changes nothing: a held lock is granted to nobody else. */
export async function stateOf({ clock, store, mail, hooks }: World): Promise<string> {
  const [jobs, letters] = [await mail.list(), await hooks.list()]
  return JSON.stringify({
    jobs: jobs.map(fieldsOf),
    letters: letters.map(fieldsOf),
    stats: [await mail.stats(), await hooks.stats()],
    schedules: await store.schedules(),
    locked: (await store.tryLock("report", "another", 1)) === null,
    kept: (await store.tryLock("report", "tab", 1)) !== null,
    sleepers: clock.pending,
    now: clock.now(),
    polluted: "polluted" in {},
  })
}

/** A job's whole life, beside everything else. What went wrong in it, or `null`. */
export async function lifeIn({ store }: World): Promise<string | null> {
  const queue = store.queue("another")
  const id = await queue.enqueue("a job")
  const job = await queue.claimOne("w")
  if (job?.id !== id || job.payload !== "a job") return `claimed ${String(job?.id)} for ${id}`
  if (!(await job.ack())) return "the acknowledgement was refused"
  const { pending, processing, dead } = await queue.stats()
  return pending + processing + dead === 0 ? null : "something was left"
}
