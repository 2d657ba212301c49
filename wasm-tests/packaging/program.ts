// What a program may do, for the compiler. types.test.mjs compiles it under each module resolution.

import { AlkstoreError, memory, open } from "alkstore-wasm"
import type { ClaimedJob, Clock, Durability, ErrorCode, Job, Lock, Outbox, Queue, ScheduleInfo, Store } from "alkstore-wasm"
import { indexedDb, upgrade } from "alkstore-wasm/indexeddb"
import { init, open as openSlim } from "alkstore-wasm/slim"
import { ManualClock } from "alkstore-wasm/testing"
import { init as initUrl } from "alkstore-wasm/url"

interface Mail {
  to: string
}

export async function durable(request: IDBOpenDBRequest): Promise<Durability> {
  request.onupgradeneeded = () => upgrade(request.result, request.transaction)
  const store = await open({ storage: indexedDb({ database: request.result }) })
  const transaction: IDBTransaction = request.result.transaction(["notes", "alkstore"], "readwrite")
  await store.outbox("mail").enqueue({ to: "a" }, { transaction })
  await (await open({ storage: indexedDb("jobs", { durability: "relaxed" }) })).persist()
  return store.durability()
}

export async function main(bytes: Uint8Array): Promise<number> {
  await init(bytes)
  await init(WebAssembly.compile(bytes as BufferSource))
  await initUrl()
  await openSlim()

  const clock: Clock = new ManualClock(0)
  const store: Store = await open({ storage: memory(), clock, seed: 1 })
  const queue: Queue<Mail> = store.queue<Mail>("mail", { visibilityTimeout: "30s", deadLetterRetention: null })
  const id: number = await queue.enqueue({ to: "a" }, { delay: "1m", runAt: new Date(0), transaction: undefined })
  const job: ClaimedJob<Mail> | null = await queue.claimOne("worker")
  if (job !== null) {
    const to: string = job.payload.to
    const done: boolean = await job.retry(new Error(to), 1000)
    if (!done) await job.heartbeat("5s")
  }
  const dead: Job<Mail>[] = await queue.list({ state: "dead", limit: 10, after: id })
  const outbox: Outbox<Mail> = store.outbox<Mail>("mail")
  await outbox.runOnce("worker", async (delivery) => delivery.payload.to)
  const lock: Lock | null = await store.tryLock("lock", "owner", "10s")
  await lock?.release()
  await store.schedule("daily", "@every 1d", "mail", { to: "b" }, { priority: 1 })
  const schedules: ScheduleInfo[] = await store.schedules()
  const staged: number = await store.transaction((tx) => tx.enqueue<Mail>("mail", { to: "c" }))
  try {
    await store.runSchedules(new AbortController().signal, { standby: true })
  } catch (error) {
    if (error instanceof AlkstoreError) {
      const code: ErrorCode = error.code
      console.log(code, error.cause)
    }
  }
  const { nextDeadline } = await queue.stats()
  await store[Symbol.asyncDispose]()
  return staged + dead.length + schedules.length + (nextDeadline ?? 0)
}
