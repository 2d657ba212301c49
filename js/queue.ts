// Handles of queues and outboxes: check, copy, call.

import type { Op, Queue as InnerQueue } from "../target/engine/bindgen/alkstore.js"
import {
  callback,
  count,
  enqueueOptions,
  finite,
  ids,
  idsOrAll,
  invalid,
  nameArgument,
  options
} from "./arguments.js"
import { thrownText } from "./error-text.js"
import { Claimed } from "./jobs.js"
import type { Live } from "./live.js"
import type { ClaimedJob, EnqueueOptions, Job, ListOptions, Outbox, Queue, QueueStats } from "./types.js"

const STATES: readonly unknown[] = ["pending", "processing", "dead"]

const LIST_KINDS = {
  state: (name: string, value: unknown): unknown => {
    if (!STATES.includes(value)) throw invalid(name, value, '"pending", "processing" or "dead"')
    return value
  },
  limit: finite,
  after: count
}

/** What queues and outboxes share. */
export class QueueHandle<P = unknown> {
  readonly name: string
  readonly #live: Live
  readonly #inner: InnerQueue
  readonly #queueName: string
  /** Whom the engine was last told to claim for: workers claim again and again under one name. */
  #worker: string | undefined

  constructor(live: Live, inner: InnerQueue, name: string) {
    this.name = name
    this.#live = live
    this.#inner = inner
    this.#queueName = inner.key()
  }

  /** What its jobs say in `queue`. */
  get queueName(): string {
    return this.#queueName
  }

  /** What is handed out of a payload that the engine gave. */
  copyOut(given: unknown): unknown {
    return this.#live.copyOut(given)
  }

  /** The engine's operations. */
  get op(): typeof Op {
    return this.#live.engine.glue.Op
  }

  /** Removes a job for the claim that has it. */
  ack(id: number, claim: number): any {
    return this.#live.owed(this.#inner.ack(id, claim))
  }

  /** Calls the engine: its answer, or a promise of it that rejects if the engine ends first. */
  call(op: Op, id = Number.NaN, claim = Number.NaN, extra = Number.NaN, text?: string, given?: Float64Array): any {
    return this.#live.owed(this.#inner.call(op, id, claim, extra, text, given))
  }

  async enqueue(payload: P, options?: EnqueueOptions | null): Promise<number> {
    const { delay, runAt, priority, maxAttempts, expires, transaction } = enqueueOptions(options)
    // Nothing is awaited on the way to the engine: the caller's transaction is active now, and may not be later.
    const joined = transaction === undefined ? null : this.#live.join(transaction)
    const copy = this.#live.copyIn(payload)
    return this.#live.owed(this.#inner.enqueue(joined, copy, delay, runAt, priority, maxAttempts, expires))
  }

  async cancel(id: number): Promise<boolean> {
    count("id", id)
    return this.call(this.op.Cancel, id)
  }

  async get(id: number): Promise<Job<P> | null> {
    count("id", id)
    return this.#live.handedOut(await this.call(this.op.Get, id))
  }

  async list(given?: ListOptions | null): Promise<Job<P>[]> {
    const read = options("options", given, LIST_KINDS)
    const { state, limit, after = 0 } = read as { state?: string; limit?: number; after?: number }
    const page: Job<P>[] = await this.call(this.op.List, after, undefined, limit, state)
    return page.map((job) => this.#live.handedOut(job) as Job<P>)
  }

  async stats(): Promise<QueueStats> {
    const [pending, ready, processing, dead, nextDeadline] = await this.call(this.op.Stats)
    return { pending, ready, processing, dead, nextDeadline }
  }

  async redrive(given?: readonly number[] | null): Promise<number> {
    const chosen = idsOrAll("ids", given)
    return this.call(this.op.Redrive, undefined, undefined, undefined, undefined, chosen)
  }

  async purge(given?: readonly number[] | null): Promise<number> {
    const chosen = idsOrAll("ids", given)
    return this.call(this.op.Purge, undefined, undefined, undefined, undefined, chosen)
  }

  async sweepExpired(): Promise<number> {
    return this.call(this.op.SweepExpired)
  }

  async wait(signal?: AbortSignal | null): Promise<boolean> {
    return this.#live.untilStopped(signal, (stop) => {
      const wait = (): unknown => this.#inner.wait(stop)
      // It may have been stopped in the turn that was given.
      return this.#live.paced(wait(), () => !this.#live.isClosed && wait())
    })
  }

  // Not awaited where the answer is there already: a turn of the microtask queue costs as much as a claim.
  protected claimNext(workerId: string): ClaimedJob<P> | null | Promise<ClaimedJob<P> | null> {
    this.#claimFor(workerId)
    const job = this.#inner.claim_one()
    if (!(job instanceof Promise)) return this.#adopt(job, workerId)
    return this.#live.owed(job).then((job: Claimed | null) => this.#adopt(job, workerId))
  }

  #adopt(job: Claimed | null, workerId: string): ClaimedJob<P> | null {
    return job === null ? null : (Claimed.adopt(job, this, workerId) as ClaimedJob<P>)
  }

  protected claimMany(workerId: string, n: number): ClaimedJob<P>[] | Promise<ClaimedJob<P>[]> {
    this.#claimFor(workerId)
    finite("n", n)
    const adopt = (jobs: Claimed[]): ClaimedJob<P>[] => {
      for (const job of jobs) Claimed.adopt(job, this, workerId)
      return jobs as ClaimedJob<P>[]
    }
    const jobs = this.call(this.op.ClaimBatch, undefined, undefined, n)
    return jobs instanceof Promise ? jobs.then(adopt) : adopt(jobs)
  }

  #claimFor(workerId: string): void {
    if (typeof workerId === "string" && workerId === this.#worker) return
    this.#inner.set_worker(nameArgument("workerId", workerId))
    this.#worker = workerId
  }

  protected async ackMany(given: readonly number[]): Promise<number> {
    const chosen = ids("ids", given)
    return this.call(this.op.AckBatch, undefined, undefined, undefined, undefined, chosen)
  }

  protected async deliver(workerId: string, delivery: (job: ClaimedJob<P>) => unknown): Promise<boolean> {
    this.#live.checkedName("WorkerId", workerId)
    callback("delivery", delivery)
    // Tells the engine by value how it went: nothing, or the error's text.
    const run = async (job: Claimed): Promise<string | undefined> => {
      try {
        // On a stack of its own: a delivery may call its own runOnce, a thousand deep.
        await null
        await delivery(Claimed.adopt(job, this, workerId) as ClaimedJob<P>)
        return undefined
      } catch (error) {
        return thrownText(error)
      }
    }
    return this.#live.paced(this.#live.owed(this.#inner.run_once(workerId, run)))
  }
}

export class QueueImpl<P> extends QueueHandle<P> implements Queue<P> {
  static override readonly name = "Queue"

  async claimOne(workerId: string): Promise<ClaimedJob<P> | null> {
    return this.claimNext(workerId)
  }

  async claimBatch(workerId: string, n: number): Promise<ClaimedJob<P>[]> {
    return this.claimMany(workerId, n)
  }

  ackBatch(given: readonly number[]): Promise<number> {
    return this.ackMany(given)
  }
}

export class OutboxImpl<P> extends QueueHandle<P> implements Outbox<P> {
  static override readonly name = "Outbox"

  runOnce(workerId: string, delivery: (job: ClaimedJob<P>) => unknown): Promise<boolean> {
    return this.deliver(workerId, delivery)
  }
}
