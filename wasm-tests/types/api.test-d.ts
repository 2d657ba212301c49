import { describe, expectTypeOf, test } from "vitest"
import { AlkstoreError, memory, open } from "alkstore-wasm"
import type {
  ClaimedJob, Clock, Durability, Duration, EnqueueOptions, ErrorCode, Job, JobState, Lock, OpenOptions, Outbox, Queue, QueueOptions,
  Schedule,
  ScheduleInfo, ScheduleOptions, StorageAdapter, Store, Transaction,
} from "alkstore-wasm"
import { indexedDb, upgrade } from "alkstore-wasm/indexeddb"
import type { IndexedDbOptions } from "alkstore-wasm/indexeddb"
import { ManualClock } from "alkstore-wasm/testing"

interface Letter {
  to: string
}

declare const store: Store
declare const queue: Queue<Letter>
declare const outbox: Outbox<Letter>
declare const job: ClaimedJob<Letter>
declare const tx: Transaction
declare const signal: AbortSignal

describe("open", () => {
  test("needs nothing, and takes a storage, a clock and a seed", () => {
    expectTypeOf(open()).toEqualTypeOf<Promise<Store>>()
    expectTypeOf(open).toBeCallableWith({ storage: memory(), clock: new ManualClock(), seed: 1 })
    expectTypeOf(memory()).toEqualTypeOf<StorageAdapter>()
    expectTypeOf<OpenOptions>().toHaveProperty("storage")
    // @ts-expect-error an unknown option
    void open({ colour: "red" })
    // @ts-expect-error a clock without sleep
    void open({ clock: { now: () => 1 } })
  })

  test("gives a store that `await using` closes", () => {
    expectTypeOf<Store>().toExtend<AsyncDisposable>()
    expectTypeOf<Lock>().toExtend<AsyncDisposable>()
  })

  test("takes any clock of the documented shape", () => {
    expectTypeOf<ManualClock>().toExtend<Clock>()
    expectTypeOf<Clock["now"]>().toEqualTypeOf<() => number>()
    expectTypeOf<Clock["sleep"]>().toEqualTypeOf<(ms: number, signal: AbortSignal) => Promise<void>>()
  })
})

describe("AlkstoreError", () => {
  test("is an Error with a code of a closed set", () => {
    expectTypeOf<AlkstoreError>().toExtend<Error>()
    expectTypeOf<AlkstoreError["code"]>().toEqualTypeOf<ErrorCode>()
    expectTypeOf<ErrorCode>().toEqualTypeOf<
      | "InvalidName" | "ReservedName" | "InvalidSpec" | "InvalidArgument" | "LeadershipLost" | "Codec" | "Closed"
      | "Storage"
      | "Unavailable" | "Panicked"
    >()
  })

  test("narrows what was caught", () => {
    const caught: unknown = null
    if (caught instanceof AlkstoreError) expectTypeOf(caught.code).toEqualTypeOf<ErrorCode>()
  })
})

describe("a queue", () => {
  test("carries the type of its payloads", () => {
    expectTypeOf(store.queue<Letter>("mail")).toEqualTypeOf<Queue<Letter>>()
    expectTypeOf(store.queue("mail")).toEqualTypeOf<Queue<unknown>>()
    expectTypeOf(queue.name).toEqualTypeOf<string>()
    expectTypeOf(queue.enqueue({ to: "a" })).toEqualTypeOf<Promise<number>>()
    // @ts-expect-error another payload
    void queue.enqueue({ from: "a" })
    // @ts-expect-error a name is a string
    store.queue(5)
  })

  test("answers with these types", () => {
    expectTypeOf(queue.claimOne("w1")).toEqualTypeOf<Promise<ClaimedJob<Letter> | null>>()
    expectTypeOf(queue.claimBatch("w1", 5)).toEqualTypeOf<Promise<ClaimedJob<Letter>[]>>()
    expectTypeOf(queue.ackBatch([1])).toEqualTypeOf<Promise<number>>()
    expectTypeOf(queue.cancel(1)).toEqualTypeOf<Promise<boolean>>()
    expectTypeOf(queue.get(1)).toEqualTypeOf<Promise<Job<Letter> | null>>()
    expectTypeOf(queue.list({ state: "dead", limit: 5, after: 7 })).toEqualTypeOf<Promise<Job<Letter>[]>>()
    expectTypeOf(queue.redrive()).toEqualTypeOf<Promise<number>>()
    expectTypeOf(queue.purge([1, 2])).toEqualTypeOf<Promise<number>>()
    expectTypeOf(queue.sweepExpired()).toEqualTypeOf<Promise<number>>()
    expectTypeOf(queue.wait()).toEqualTypeOf<Promise<boolean>>()
    expectTypeOf(queue.wait(signal)).toEqualTypeOf<Promise<boolean>>()
    // @ts-expect-error no such state
    void queue.list({ state: "asleep" })
    // @ts-expect-error a batch has a size
    void queue.claimBatch("w1")
  })

  test("has stats that are numbers, and a deadline that may be missing", () => {
    expectTypeOf<Awaited<ReturnType<typeof queue.stats>>>().toExtend<{
      pending: number
      ready: number
      processing: number
      dead: number
      nextDeadline: number | null
    }>()
  })

  test("takes durations as numbers or strings", () => {
    expectTypeOf<Duration>().toEqualTypeOf<number | string>()
    expectTypeOf<"30s">().toExtend<Duration>()
    expectTypeOf(store.queue).toBeCallableWith("mail", {
      visibilityTimeout: "30s",
      maxAttempts: 5,
      backoffBase: 100,
      deadLetterRetention: null,
    })
    expectTypeOf(queue.enqueue).toBeCallableWith(
      { to: "a" },
      { delay: "1s", runAt: new Date(), priority: 1, maxAttempts: 2, expires: 5, transaction: {} },
    )
    expectTypeOf<QueueOptions>().toExtend<object>()
    // @ts-expect-error a misspelt option
    void queue.enqueue({ to: "a" }, { dealy: 5 })
    // @ts-expect-error an instant is no duration string
    const options: EnqueueOptions = { runAt: "5s" }
    expectTypeOf(options).toExtend<EnqueueOptions>()
  })
})

describe("a job", () => {
  test("has these fields, read-only", () => {
    type Bare = { -readonly [K in keyof Job<Letter>]: Job<Letter>[K] }
    expectTypeOf<Bare>().toEqualTypeOf<{
      id: number
      queue: string
      state: JobState
      payload: Letter
      priority: number
      runAt: number
      attempts: number
      maxAttempts: number
      workerId: string | null
      claimedAt: number | null
      claimExpiresAt: number | null
      createdAt: number
      expiresAt: number | null
      visibilityTimeout: number
      backoffBase: number
      deadLetterRetention: number | null
      lastError: string | null
      diedAt: number | null
    }>()
    expectTypeOf<JobState>().toEqualTypeOf<"pending" | "processing" | "dead">()
    // @ts-expect-error fields are read-only
    job.attempts = 0
  })

  test("that is claimed can be settled", () => {
    expectTypeOf<ClaimedJob<Letter>>().toExtend<Job<Letter>>()
    expectTypeOf(job.ack()).toEqualTypeOf<Promise<boolean>>()
    expectTypeOf(job.retry(new Error("boom"), "5s")).toEqualTypeOf<Promise<boolean>>()
    expectTypeOf(job.retry).toBeCallableWith()
    expectTypeOf(job.fail).toBeCallableWith({ any: "thing" })
    expectTypeOf(job.heartbeat("1m")).toEqualTypeOf<Promise<boolean>>()
    // @ts-expect-error a heartbeat needs its extension
    void job.heartbeat()
  })
})

describe("an outbox", () => {
  test("delivers jobs of its payload, whatever the delivery returns", () => {
    expectTypeOf(store.outbox<Letter>("orders")).toEqualTypeOf<Outbox<Letter>>()
    expectTypeOf(outbox.runOnce("w1", () => {})).toEqualTypeOf<Promise<boolean>>()
    void outbox.runOnce("w1", async (delivered) => {
      expectTypeOf(delivered).toEqualTypeOf<ClaimedJob<Letter>>()
      return fetch(delivered.payload.to)
    })
  })

  test("has what a queue has, but for the claims", () => {
    expectTypeOf(outbox.enqueue({ to: "a" }, { delay: 5 })).toEqualTypeOf<Promise<number>>()
    expectTypeOf(outbox.get(1)).toEqualTypeOf<Promise<Job<Letter> | null>>()
    expectTypeOf(outbox.list()).toEqualTypeOf<Promise<Job<Letter>[]>>()
    expectTypeOf(outbox.wait(signal)).toEqualTypeOf<Promise<boolean>>()
    expectTypeOf(outbox.cancel).toEqualTypeOf(queue.cancel)
    expectTypeOf(outbox.stats).toEqualTypeOf(queue.stats)
    expectTypeOf(outbox.redrive).toEqualTypeOf(queue.redrive)
    expectTypeOf(outbox.purge).toEqualTypeOf(queue.purge)
    expectTypeOf(outbox.sweepExpired).toEqualTypeOf(queue.sweepExpired)
    expectTypeOf<Outbox<Letter>>().not.toHaveProperty("claimOne")
  })
})

describe("the store's other calls", () => {
  test("locks", () => {
    expectTypeOf(store.tryLock("report", "tab", "10s")).toEqualTypeOf<Promise<Lock | null>>()
    expectTypeOf<Lock["name"]>().toEqualTypeOf<string>()
    expectTypeOf<Lock["renew"]>().toEqualTypeOf<(ttl: Duration) => Promise<boolean>>()
    expectTypeOf<Lock["release"]>().toEqualTypeOf<() => Promise<boolean>>()
  })

  test("schedules", () => {
    expectTypeOf(
      store.schedule("report", "@every 5m", "mail", { to: "a" }, { priority: 1, maxAttempts: 2, expires: "1h" }),
    ).toEqualTypeOf<Promise<Schedule>>()
    expectTypeOf(store.unschedule("report")).toEqualTypeOf<Promise<boolean>>()
    expectTypeOf(store.schedules()).toEqualTypeOf<Promise<ScheduleInfo[]>>()
    expectTypeOf<ScheduleInfo>().toExtend<Schedule>()
    expectTypeOf<ScheduleInfo["nextFireAt"]>().toEqualTypeOf<number>()
    expectTypeOf<keyof Schedule["options"]>().toEqualTypeOf<keyof ScheduleOptions>()
    // @ts-expect-error a schedule's jobs have no delay
    void store.schedule("report", "@every 5m", "mail", null, { delay: 5 })
  })

  test("runSchedules", () => {
    expectTypeOf(store.runSchedules()).toEqualTypeOf<Promise<void>>()
    expectTypeOf(store.runSchedules).toBeCallableWith(signal, { standby: true })
    expectTypeOf(store.runSchedules).toBeCallableWith(undefined, { standby: true })
  })

  test("transactions give what their body returns", () => {
    expectTypeOf(store.transaction(async () => "done")).toEqualTypeOf<Promise<string>>()
    expectTypeOf(store.transaction(() => 5)).toEqualTypeOf<Promise<number>>()
    expectTypeOf(store.transaction((inner) => inner.enqueue("mail", { to: "a" }))).toEqualTypeOf<Promise<number>>()
    expectTypeOf(tx.enqueue("mail", { to: "a" }, { delay: 5 })).toEqualTypeOf<Promise<number>>()
    expectTypeOf(tx.outboxEnqueue("orders", { to: "a" })).toEqualTypeOf<Promise<number>>()
    expectTypeOf(tx.get<Letter>("mail", 1)).toEqualTypeOf<Promise<Job<Letter> | null>>()
    expectTypeOf(store.close()).toEqualTypeOf<Promise<void>>()
  })
})

describe("IndexedDB", () => {
  test("is a storage like any other, by name or in the app's own database", () => {
    const database = {} as IDBDatabase
    expectTypeOf(indexedDb("jobs")).toEqualTypeOf<StorageAdapter>()
    expectTypeOf(indexedDb).toBeCallableWith({ database }, { durability: "relaxed" })
    expectTypeOf<IndexedDbOptions["durability"]>().toEqualTypeOf<"strict" | "relaxed" | null | undefined>()
    expectTypeOf(upgrade).toEqualTypeOf<(db: IDBDatabase, transaction: IDBTransaction | null) => void>()
    expectTypeOf(open).toBeCallableWith({ storage: indexedDb("jobs") })
    // @ts-expect-error a database is opened by the app
    indexedDb({ database: "jobs" })
    // @ts-expect-error no such durability
    indexedDb("jobs", { durability: "eventual" })
  })

  test("a store says how long it keeps things, and asks for more", () => {
    expectTypeOf(store.durability()).toEqualTypeOf<Promise<Durability>>()
    expectTypeOf(store.persist()).toEqualTypeOf<Promise<Durability>>()
    expectTypeOf<Durability>().toEqualTypeOf<"persistent" | "best-effort" | "memory">()
  })
})

test("the manual clock", () => {
  const clock = new ManualClock()
  expectTypeOf(ManualClock).toBeConstructibleWith(5)
  expectTypeOf(clock.advance("5s")).toEqualTypeOf<Promise<void>>()
  expectTypeOf(clock.set).parameters.toEqualTypeOf<[now: number]>()
  expectTypeOf(clock.settle()).toEqualTypeOf<Promise<void>>()
  expectTypeOf(clock.pending).toEqualTypeOf<number>()
  // @ts-expect-error it is read-only
  clock.pending = 5
})
