// Jobs as users hold them: plain fields, and for a claimed one the operations of its claim.

import { duration } from "./arguments.js"
import { errorText } from "./error-text.js"
import type { QueueHandle } from "./queue.js"
import type { ClaimedJob, Duration, Job, JobState } from "./types.js"

const orNull = (value: number): number | null => (Number.isNaN(value) ? null : value)

/** Called by the engine, which must not be left by an exception: a job of its columns. */
export function readJob([
  payload,
  id,
  queue,
  state,
  priority,
  runAt,
  attempts,
  maxAttempts,
  workerId,
  claimedAt,
  claimExpiresAt,
  createdAt,
  expiresAt,
  visibilityTimeout,
  backoffBase,
  deadLetterRetention,
  lastError,
  diedAt
]: unknown[]): Job {
  return {
    id,
    queue,
    state,
    payload,
    priority,
    runAt,
    attempts,
    maxAttempts,
    workerId,
    claimedAt,
    claimExpiresAt,
    createdAt,
    expiresAt,
    visibilityTimeout,
    backoffBase,
    deadLetterRetention,
    lastError,
    diedAt
  } as Job
}

/** A job with the operations of its claim. Made by the engine, then given to the handle that claimed it. */
export class Claimed implements ClaimedJob {
  static readonly name = "ClaimedJob"

  // Declared, not defined: every field is written once, by the constructor.
  declare readonly id: number
  declare readonly queue: string
  declare readonly state: JobState
  declare readonly payload: unknown
  declare readonly priority: number
  declare readonly runAt: number
  declare readonly attempts: number
  declare readonly maxAttempts: number
  declare readonly workerId: string | null
  declare readonly claimedAt: number | null
  declare readonly claimExpiresAt: number | null
  declare readonly createdAt: number
  declare readonly expiresAt: number | null
  declare readonly visibilityTimeout: number
  declare readonly backoffBase: number
  declare readonly deadLetterRetention: number | null
  declare readonly lastError: string | null
  declare readonly diedAt: number | null
  readonly #claim: number
  #handle!: QueueHandle

  /** Of a payload, and the columns that begin in `numbers` at `at`. */
  constructor(payload: unknown, numbers: Float64Array, at: number) {
    this.id = numbers[at] as number
    this.queue = ""
    this.state = "processing"
    this.payload = payload
    this.priority = numbers[at + 2] as number
    this.runAt = numbers[at + 3] as number
    this.attempts = numbers[at + 4] as number
    this.maxAttempts = numbers[at + 5] as number
    this.workerId = null
    this.claimedAt = numbers[at + 6] as number
    this.claimExpiresAt = numbers[at + 7] as number
    this.createdAt = numbers[at + 8] as number
    this.expiresAt = orNull(numbers[at + 9] as number)
    this.visibilityTimeout = numbers[at + 10] as number
    this.backoffBase = numbers[at + 11] as number
    this.deadLetterRetention = orNull(numbers[at + 12] as number)
    this.lastError = null
    this.diedAt = null
    this.#claim = numbers[at + 1] as number
  }

  /** Completes a job that the engine has just made: with what the handle knows, and a payload to hand out. */
  static adopt(job: Claimed, handle: QueueHandle, workerId: string): Claimed {
    const open = job as { -readonly [K in "queue" | "workerId" | "payload"]: Claimed[K] }
    open.queue = handle.queueName
    open.workerId = workerId
    open.payload = handle.copyOut(job.payload)
    job.#handle = handle
    return job
  }

  async ack(): Promise<boolean> {
    return this.#handle.ack(this.id, this.#claim)
  }

  async retry(error?: unknown, delay?: Duration | null): Promise<boolean> {
    const ms = delay === undefined || delay === null ? Number.NaN : duration("delay", delay)
    const text = errorText(error)
    return this.#handle.call(this.#handle.op.Retry, this.id, this.#claim, ms, text)
  }

  async fail(error?: unknown): Promise<boolean> {
    const text = errorText(error)
    return this.#handle.call(this.#handle.op.Fail, this.id, this.#claim, undefined, text)
  }

  async heartbeat(extend: Duration): Promise<boolean> {
    const ms = duration("extend", extend)
    return this.#handle.call(this.#handle.op.Heartbeat, this.id, this.#claim, ms)
  }
}
