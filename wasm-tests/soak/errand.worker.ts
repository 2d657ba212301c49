// A context that is ended in the middle of its work. It takes a step when it is told to, and tells what came of it.

import { open } from "alkstore-wasm"
import type { Queue } from "alkstore-wasm"
import { indexedDb } from "alkstore-wasm/indexeddb"
import { numberOf, payloadOf } from "./payloads.js"

/** What it is told first: the database, the instant, and the first of its numbers. */
export interface Errand {
  readonly database: string
  readonly now: number
  readonly first: number
}

/** What came of a step. */
export interface Told {
  readonly enqueued: number
  readonly claimed: readonly { readonly id: number; readonly n: number | null }[]
  readonly acked: readonly number[]
}

const BATCH = 4
const HELD_ONE_IN = 5

let queue: Queue
let next: number

addEventListener("message", ({ data }: MessageEvent<Errand | "step">) => {
  void (data === "step" ? step() : begin(data)).then((told) => postMessage(told))
})

async function begin({ database, now, first }: Errand): Promise<null> {
  const clock = {
    now: () => now,
    sleep: (_: number, signal: AbortSignal) =>
      new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()))
  }
  const store = await open({ storage: indexedDb(database), clock })
  queue = store.queue("errands", { visibilityTimeout: "1m", maxAttempts: 50 })
  next = first
  return null
}

async function step(): Promise<Told> {
  const n = next++
  const enqueued = await queue.enqueue(payloadOf(n))
  const jobs = n % 2 === 0 ? await queue.claimBatch("errand", BATCH) : []
  const acked: number[] = []
  for (const job of jobs) {
    const isHeld = job.attempts === 1 && job.id % HELD_ONE_IN === 0
    if (!isHeld && (await job.ack())) acked.push(job.id)
  }
  return { enqueued, claimed: jobs.map(({ id, payload }) => ({ id, n: numberOf(payload) })), acked }
}
