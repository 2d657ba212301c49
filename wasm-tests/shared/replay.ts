// Replays a recorded trace through the public API. Every answer is put into the trace's own words (seconds, snake
// case, recorded ids) and compared with what was recorded; fields that a recording leaves out are not compared.

import { AlkstoreError, memory, open } from "alkstore-wasm"
import type { ClaimedJob, Job, Lock, Queue, StorageAdapter, Store } from "alkstore-wasm"
import { ManualClock } from "alkstore-wasm/testing"
import { JOB_FIELDS } from "./support.js"
import type { Enqueue, Expect, Options, OutboxEnqueue, RecordedJob, Step, Trace } from "./trace.js"

export interface Mismatch {
  step: number
  op: string
  expected: unknown
  actual: unknown
}

type StepOf<Op extends Step["op"]> = Extract<Step, { op: Op }>

const RECORDED_CODES: Record<string, string> = { InvalidArgument: "Rejected" }
const IN_SECONDS = new Set([
  "runAt", "claimedAt", "claimExpiresAt", "createdAt", "expiresAt", "diedAt", "visibilityTimeout", "backoffBase",
  "deadLetterRetention", "delay", "expires",
])
/** How often a runner that has not gone to sleep yet is given another chance. */
const RUNNER_TURNS_MAX = 100

const camel = (key: string): string => key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
const snake = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Recorded options → the API's. */
const optionsOf = (recorded: Options = {}): Record<string, number> =>
  Object.fromEntries(
    Object.entries(recorded).map(([key, value]) => [camel(key), IN_SECONDS.has(camel(key)) ? value * 1000 : value]),
  )

export async function replay(trace: Trace, storage: StorageAdapter = memory()): Promise<Mismatch[]> {
  const clock = new ManualClock(trace.start * 1000)
  const replayer = new Replayer(trace, clock, await open({ clock, storage }))
  return replayer.run()
}

class Replayer {
  readonly #ids = new RecordedIds()
  readonly #claims = new Map<string, ClaimedJob<unknown>>()
  readonly #locks = new Map<string, Lock>()
  readonly #mismatches: Mismatch[] = []
  #index = 0

  constructor(
    readonly trace: Trace,
    readonly clock: ManualClock,
    readonly store: Store,
  ) {}

  async run(): Promise<Mismatch[]> {
    for (const [index, step] of this.trace.steps.entries()) {
      this.#index = index
      this.clock.set(step.at * 1000)
      this.#compare(step.op, step.expect, await answerTo(() => this.#perform(step)))
    }
    this.#index = this.trace.steps.length
    this.clock.set(this.trace.end.at * 1000)
    const left = [...this.trace.end.jobs].sort((a, b) => a.id - b.id)
    this.#compare("end", { ok: left }, await answerTo(() => this.#everyJob(left)))
    await this.store.close()
    return this.#mismatches
  }

  #compare(op: string, expected: Expect<unknown>, actual: Expect<unknown>): void {
    if (!covers(expected, actual)) this.#mismatches.push({ step: this.#index, op, expected, actual })
  }

  #perform(step: Step): Promise<unknown> {
    switch (step.op) {
      case "enqueue":
        return this.#named(step, this.#queue(step.queue).enqueue(step.payload, optionsOf(step.opts)))
      case "outbox_enqueue":
        return this.#named(step, this.store.outbox(step.outbox).enqueue(step.payload, optionsOf(step.opts)))
      case "claim":
        return this.#claim(step)
      case "ack":
        return this.#held(step.claim).ack()
      case "retry":
        if (step.delay !== null) return this.#held(step.claim).retry(step.error, step.delay * 1000)
        return step.error === null ? this.#held(step.claim).retry() : this.#held(step.claim).retry(step.error)
      case "fail":
        return step.error === null ? this.#held(step.claim).fail() : this.#held(step.claim).fail(step.error)
      case "heartbeat":
        return this.#held(step.claim).heartbeat(step.extend * 1000)
      case "get_job":
        return this.#find(step)
      case "cancel":
        return this.#queue(step.queue).cancel(this.#ids.actual(step.id))
      case "sweep_expired":
        return this.#queue(step.queue).sweepExpired()
      case "try_lock":
        return this.#tryLock(step)
      case "renew_lock":
        return this.#lock(step.lock).renew(step.ttl * 1000)
      case "release_lock":
        return this.#lock(step.lock).release()
      case "schedule":
        return this.store.schedule(step.name, step.spec, step.queue, step.payload, optionsOf(step.opts))
      case "unschedule":
        return this.store.unschedule(step.name)
      case "run_schedules_once":
        return this.#tick()
      case "outbox_run_once":
        return this.#deliver(step)
      case "transaction":
        return this.#transact(step)
    }
  }

  async #claim(step: StepOf<"claim">): Promise<RecordedJob[]> {
    const queue = this.#queue(step.queue)
    const single = step.n === 1 && this.#index % 2 === 1   // either call would do: use both
    const jobs = single
      ? await queue.claimOne(step.worker).then((job) => (job ? [job] : []))
      : await queue.claimBatch(step.worker, step.n)
    jobs.forEach((job, i) => {
      const name = step.claims[i]
      if (name !== undefined) this.#claims.set(name, job)
    })
    return this.#recordAll(jobs, "ok" in step.expect ? step.expect.ok : [])
  }

  async #find(step: StepOf<"get_job">): Promise<RecordedJob | null> {
    const id = this.#ids.actual(step.id)
    const found: Job<unknown>[] = []
    for (const name of Object.keys(this.trace.queues)) {
      const job = await this.#queue(name).get(id)
      if (job) found.push(job)
    }
    if (found.length > 1) throw new Error(`job ${step.id} is in ${found.length} queues`)
    return found[0] ? this.#record(found[0], step.id) : null
  }

  async #tryLock(step: StepOf<"try_lock">): Promise<boolean> {
    const lock = await this.store.tryLock(step.name, step.owner, step.ttl * 1000)
    if (lock && step.lock !== null) this.#locks.set(step.lock, lock)
    return lock !== null
  }

  /** Lets a runner lead until it sleeps, then stops it. */
  async #tick(): Promise<null> {
    const stop = new AbortController()
    const asleep = this.clock.pending
    let settled = false
    const run = this.store.runSchedules(stop.signal).finally(() => {
      settled = true
    })
    run.catch(() => {})
    for (let i = 0; i < RUNNER_TURNS_MAX && !settled && this.clock.pending <= asleep; i++) await this.clock.settle()
    await this.clock.settle()
    stop.abort()
    await run
    return null
  }

  async #deliver(step: StepOf<"outbox_run_once">): Promise<boolean> {
    let delivered: RecordedJob | null = null
    const had = await this.store.outbox(step.outbox).runOnce(step.worker, async (job) => {
      delivered = this.#record(job, step.delivered?.id)
      if (step.heartbeat !== null) await job.heartbeat(step.heartbeat * 1000)
    })
    this.#compare("delivered", { ok: step.delivered }, { ok: delivered })
    return had
  }

  async #transact(step: StepOf<"transaction">): Promise<null> {
    const rollback = new Error("rolled back on purpose")
    await this.store
      .transaction(async (tx) => {
        for (const op of step.ops) {
          const answer = await answerTo(() => {
            const options = optionsOf(op.opts)
            const enqueued =
              op.op === "enqueue"
                ? tx.enqueue(op.queue, op.payload, options)
                : tx.outboxEnqueue(op.outbox, op.payload, options)
            return this.#named(op, enqueued)
          })
          this.#compare(op.op, op.expect, answer)
        }
        if (!step.commit) throw rollback
      })
      .catch((error: unknown) => {
        if (error !== rollback) throw error
      })
    return null
  }

  async #everyJob(expected: RecordedJob[]): Promise<RecordedJob[]> {
    const outboxes = this.trace.steps
      .flatMap((step): (Step | OutboxEnqueue)[] => (step.op === "transaction" ? step.ops : [step]))
      .flatMap((step) => ("outbox" in step && step.outbox !== "" ? [step.outbox] : []))
    const jobs: Job<unknown>[] = []
    const sources = [
      ...Object.keys(this.trace.queues).map((name) => this.#queue(name)),
      ...[...new Set(outboxes)].map((name) => this.store.outbox(name)),
    ]
    for (const source of sources) {
      let page = await source.list({ limit: 7 })
      while (page.length > 0) {
        jobs.push(...page)
        page = await source.list({ limit: 7, after: jobs[jobs.length - 1]?.id ?? 0 })
      }
    }
    return this.#recordAll(jobs.sort((a, b) => a.id - b.id), expected)
  }

  #queue(name: string): Queue<unknown> {
    return this.store.queue(name, optionsOf(this.trace.queues[name]))
  }

  #held(claim: string): ClaimedJob<unknown> {
    const job = this.#claims.get(claim)
    if (!job) throw new Error(`claim ${claim} was never handed out`)
    return job
  }

  #lock(name: string): Lock {
    const lock = this.#locks.get(name)
    if (!lock) throw new Error(`lock ${name} was never granted`)
    return lock
  }

  /** The recorded id of what was enqueued. */
  async #named(step: Enqueue | OutboxEnqueue, enqueued: Promise<number>): Promise<unknown> {
    return this.#ids.recorded(await enqueued, "ok" in step.expect ? step.expect.ok : undefined)
  }

  #recordAll(jobs: Job<unknown>[], expected: RecordedJob[]): RecordedJob[] {
    return jobs.map((job, i) => this.#record(job, expected[i]?.id))
  }

  #record(job: Job<unknown>, expectedId: number | undefined): RecordedJob {
    const entries = JOB_FIELDS.map((field) => {
      const value: unknown = field === "id" ? this.#ids.recorded(job.id, expectedId) : job[field]
      return [snake(field), IN_SECONDS.has(field) && typeof value === "number" ? value / 1000 : value]
    })
    return Object.fromEntries(entries) as RecordedJob
  }
}

/** Recorded ids and ours, paired at first sight. Both grow in one order; numbers differ, since gaps are ordinary. */
class RecordedIds {
  readonly #pairs: { recorded: number; actual: number }[] = []

  actual(recorded: number): number {
    const pair = this.#pairs.find((known) => known.recorded === recorded)
    if (!pair) throw new Error(`id ${recorded} was never seen`)
    return pair.actual
  }

  /** The recorded id of `actual`: the expected one if it fits everything seen so far, else what is wrong. */
  recorded(actual: number, expected: number | undefined): unknown {
    const known = this.#pairs.find((pair) => pair.actual === actual)
    if (known) return known.recorded
    if (expected === undefined || !Number.isSafeInteger(actual) || actual <= 0) return `unexpected id ${actual}`
    const misfit = this.#pairs.find(
      (pair) => pair.recorded === expected || pair.recorded < expected !== pair.actual < actual,
    )
    if (misfit) return `id ${actual} for ${expected}, beside ${misfit.actual} for ${misfit.recorded}`
    this.#pairs.push({ recorded: expected, actual })
    return expected
  }
}

async function answerTo(perform: () => Promise<unknown>): Promise<Expect<unknown>> {
  try {
    return { ok: await perform() }
  } catch (error) {
    if (!(error instanceof AlkstoreError)) return { error: String(error) }
    return { error: RECORDED_CODES[error.code] ?? error.code }
  }
}

/** Whether `actual` has everything that `expected` names; a recorded payload must match to the last key. */
function covers(expected: unknown, actual: unknown, exact = false): boolean {
  if (Object.is(expected, actual)) return true
  if (typeof expected !== "object" || typeof actual !== "object" || expected === null || actual === null) return false
  const isArray = Array.isArray(expected)
  const size = Object.keys(actual).length
  if (isArray !== Array.isArray(actual) || ((isArray || exact) && size !== Object.keys(expected).length)) return false
  return Object.entries(expected).every(([key, value]) =>
    covers(value, (actual as Record<string, unknown>)[key], exact || key === "payload"),
  )
}
