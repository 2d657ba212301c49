// The handle that a transaction's body gets.

import type { Transaction as InnerTransaction } from "../target/engine/bindgen/alkstore.js"
import { count, enqueueOptions, invalid } from "./arguments.js"
import { copyOut } from "./codec.js"
import type { Live } from "./live.js"
import type { EnqueueOptions, Job, Transaction } from "./types.js"

export class TransactionImpl implements Transaction {
  static readonly name = "Transaction"

  readonly #live: Live
  readonly #inner: InnerTransaction

  constructor(live: Live, inner: InnerTransaction) {
    this.#live = live
    this.#inner = inner
  }

  async enqueue<P>(queue: string, payload: P, options?: EnqueueOptions | null): Promise<number> {
    this.#live.checkedName("Queue", queue)
    return this.#stage(false, queue, payload, options)
  }

  async outboxEnqueue<P>(outbox: string, payload: P, options?: EnqueueOptions | null): Promise<number> {
    this.#live.checkedName("Outbox", outbox)
    return this.#stage(true, outbox, payload, options)
  }

  #stage(outbox: boolean, name: string, payload: unknown, options: unknown): any {
    const { delay, runAt, priority, maxAttempts, expires, transaction } = enqueueOptions(options)
    if (transaction !== undefined) throw invalid("transaction", transaction, "absent: this is a transaction already")
    const copy = this.#live.copyIn(payload)
    return this.#live.owed(this.#inner.enqueue(outbox, name, copy, delay, runAt, priority, maxAttempts, expires))
  }

  async get<P>(queue: string, id: number): Promise<Job<P> | null> {
    this.#live.checkedName("Queue", queue)
    const job: Job<P> | null = await this.#live.owed(this.#inner.get(queue, count("id", id)))
    // What it has staged is kept until the commit, whatever the storage.
    if (job !== null) (job as { payload: P }).payload = copyOut(job.payload)
    return job
  }
}

/** Runs `body`, and commits what it staged if it succeeds. What it throws comes out unchanged. */
export async function runTransaction<T>(
  live: Live,
  inner: InnerTransaction,
  body: (tx: Transaction) => T | Promise<T>
): Promise<T> {
  let result: T
  try {
    const returned = body(new TransactionImpl(live, inner))
    // Not awaited where there is nothing to wait for: a call made after the body is none of the transaction's.
    result = isThenable(returned) ? await returned : returned
  } catch (error) {
    rollBack(inner)
    throw error
  }
  await live.owed(inner.commit())
  return result
}

function isThenable<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function"
}

// An engine that has ended has nothing left to roll back, and what the body threw is what counts.
function rollBack(inner: InnerTransaction): void {
  try {
    inner.roll_back()
  } catch {
    return
  }
}
