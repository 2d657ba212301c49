// A page that is killed while it works. In the phase "write" it enqueues without end, claims what it enqueued, acks
// most of it and holds some for ever, and reports each step when it is acknowledged, a claim before it goes on. In the
// phase "read" an hour has passed: it reports which jobs are there, and which are handed out when all that can be
// claimed is.

import { open } from "alkstore-wasm"
import { indexedDb } from "alkstore-wasm/indexeddb"
import type { Store } from "alkstore-wasm"
import { report, setting } from "../page/report.js"

const ENQUEUERS = 3
const WORKERS = 2
const HELD_ONE_IN = 5
const AHEAD_MS = 3_600_000
const PAGE = 1000

const OPTIONS = { visibilityTimeout: "5m", maxAttempts: 100 } as const

async function write(store: Store): Promise<void> {
  const queue = store.queue<number>("mail", OPTIONS)
  let next = Number(setting("first"))
  const enqueuer = async (): Promise<never> => {
    for (;;) {
      const n = next++
      await queue.enqueue(n)
      await report({ enqueued: n })
    }
  }
  const worker = async (_: unknown, at: number): Promise<void> => {
    while (await queue.wait()) {
      const job = await queue.claimOne(`w${at}`)
      if (job === null) continue
      await report({ claimed: job.payload })
      if (job.payload % HELD_ONE_IN === 0) await report({ held: job.payload })
      else if (await job.ack()) await report({ acked: job.payload })
    }
  }
  await Promise.all([...Array.from({ length: ENQUEUERS }, enqueuer), ...Array.from({ length: WORKERS }, worker)])
}

async function read(store: Store): Promise<void> {
  const queue = store.queue<number>("mail", OPTIONS)
  const found: number[] = []
  let page = await queue.list({ limit: PAGE })
  while (page.length > 0) {
    found.push(...page.map((job) => job.payload))
    page = await queue.list({ limit: PAGE, after: page[page.length - 1]!.id })
  }
  const redelivered: number[] = []
  let claimed = await queue.claimBatch("reader", PAGE)
  while (claimed.length > 0) {
    redelivered.push(...claimed.map((job) => job.payload))
    await queue.ackBatch(claimed.map((job) => job.id))
    claimed = await queue.claimBatch("reader", PAGE)
  }
  await report({ found, redelivered })
}

const reading = setting("phase") === "read"
const clock = {
  now: () => Date.now() + (reading ? AHEAD_MS : 0),
  sleep: (ms: number, signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      setTimeout(resolve, ms)
      signal.addEventListener("abort", () => resolve())
    })
}
const store = await open({ storage: indexedDb("jobs"), clock })
void (reading ? read(store) : write(store))
