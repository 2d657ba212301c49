import { expect, onTestFinished } from "vitest"
import { AlkstoreError, memory, open } from "alkstore-wasm"
import type { ClaimedJob, Job, OpenOptions, Queue, QueueOptions, StorageAdapter, Store } from "alkstore-wasm"
import { ManualClock } from "alkstore-wasm/testing"

export const START = 1_700_000_000_000
export const SECOND = 1_000
export const MINUTE = 60_000
export const HOUR = 3_600_000
export const DAY = 86_400_000
export const MAX = Number.MAX_SAFE_INTEGER

export const JOB_FIELDS = [
  "id", "queue", "state", "payload", "priority", "runAt", "attempts", "maxAttempts", "workerId", "claimedAt",
  "claimExpiresAt", "createdAt", "expiresAt", "visibilityTimeout", "backoffBase", "deadLetterRetention", "lastError",
  "diedAt",
] as const satisfies readonly (keyof Job<unknown>)[]

/** A store under a manual clock, closed when the test ends. */
export interface Fixture {
  clock: ManualClock
  storage: StorageAdapter
  store: Store
  /** Another store on the same storage and clock, unless told otherwise. */
  reopen(options?: OpenOptions): Promise<Store>
}

export async function start(options: OpenOptions = {}): Promise<Fixture> {
  const clock = new ManualClock(START)
  const storage = options.storage ?? memory()
  const reopen = async (more: OpenOptions = {}): Promise<Store> => {
    const store = await open({ clock, storage, ...more })
    onTestFinished(() => store.close())
    return store
  }
  return { clock, storage, store: await reopen(options), reopen }
}

/** A fixture with one queue. */
export async function startQueue<P = unknown>(options?: QueueOptions): Promise<Fixture & { queue: Queue<P> }> {
  const fixture = await start()
  return { ...fixture, queue: fixture.store.queue<P>("mail", options) }
}

/** Claims one job, which must be there. */
export async function claim<P>(queue: Queue<P>, workerId = "w1"): Promise<ClaimedJob<P>> {
  return must(await queue.claimOne(workerId))
}

export function must<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error("nothing was there")
  return value
}

/** The eighteen fields of a job, read now. */
export function fieldsOf<P>(job: Job<P>): Job<P> {
  return Object.fromEntries(JOB_FIELDS.map((field) => [field, job[field]])) as unknown as Job<P>
}

export type Stats = Awaited<ReturnType<Queue<unknown>["stats"]>>

export const ids = (jobs: readonly { id: number }[]): number[] => jobs.map((job) => job.id)
export const payloads = (jobs: readonly { payload: unknown }[]): unknown[] => jobs.map((job) => job.payload)

/** The error of a call that returns a promise: it must reject, and must not throw. */
export async function rejection(call: () => Promise<unknown>): Promise<AlkstoreError> {
  const promise = call()
  expect(promise, "a promise, not a throw").toBeInstanceOf(Promise)
  return promise.then(
    (value) => {
      throw new Error(`it was accepted: ${String(value)}`)
    },
    (error: unknown) => asAlkstoreError(error),
  )
}

/** The error that a synchronous call throws. */
export function thrown(call: () => unknown): AlkstoreError {
  try {
    call()
  } catch (error) {
    return asAlkstoreError(error)
  }
  throw new Error("it was accepted")
}

function asAlkstoreError(error: unknown): AlkstoreError {
  expect(error).toBeInstanceOf(AlkstoreError)
  return error as AlkstoreError
}

/** What has become of a promise so far. */
export interface Fate<T> {
  state: "waiting" | "resolved" | "rejected"
  value?: T
  error?: unknown
}

export function follow<T>(promise: Promise<T>): Fate<T> {
  const fate: Fate<T> = { state: "waiting" }
  promise.then(
    (value) => Object.assign(fate, { state: "resolved", value }),
    (error: unknown) => Object.assign(fate, { state: "rejected", error }),
  )
  return fate
}

/** A promise with its handles outside. */
export interface Gate<T> {
  opened: Promise<T>
  open: (value: T) => void
  fail: (error: unknown) => void
}

export function gate<T = void>(): Gate<T> {
  let open!: (value: T) => void
  let fail!: (error: unknown) => void
  const opened = new Promise<T>((resolve, reject) => {
    open = resolve
    fail = reject
  })
  return { opened, open, fail }
}

/** Lets a value of a wrong type through to where the types forbid it. */
export const untyped = (value: unknown): any => value
