// Opening a store, and the store itself.

import { callback, count, invalid, nameArgument, options, queueOptions, scheduleOptions, ttl } from "./arguments.js"
import { asyncDispose } from "./dispose.js"
import { AlkstoreError } from "./errors.js"
import { clockArgument, createHost } from "./host.js"
import { Live } from "./live.js"
import { engine as loadEngine } from "./load.js"
import { LockImpl } from "./lock.js"
import { memory } from "./memory.js"
import { OutboxImpl, QueueImpl } from "./queue.js"
import { Adapter, type Hold } from "./storage.js"
import { runTransaction } from "./transaction.js"
import type {
  Clock,
  Durability,
  Duration,
  Lock,
  OpenOptions,
  Outbox,
  Queue,
  QueueOptions,
  RunSchedulesOptions,
  Schedule,
  ScheduleInfo,
  ScheduleOptions,
  Store,
  Transaction
} from "./types.js"

export { memory }

const OPEN_KINDS = {
  storage: (_: string, value: unknown): unknown => Adapter.holdOf(value),
  clock: (_: string, value: unknown): unknown => clockArgument(value),
  seed: count
}

/**
 * Opens a store, loading the engine first if need be.
 *
 * Rejects with `InvalidArgument` for a wrong option, with `Unavailable` if the engine cannot start, and with `Storage`
 * if the storage cannot be opened.
 */
export async function open(given?: OpenOptions | null): Promise<Store> {
  const read = options("options", given, OPEN_KINDS)
  const seed = (read.seed as number | undefined) ?? Number.NaN
  const storage = ((read.storage ?? Adapter.holdOf(memory())) as () => Hold)()
  try {
    const engine = await loadEngine()
    const inner = await storage.attach(engine)
    const host = createHost((read.clock as Clock | undefined) ?? null, engine.pending)
    return new StoreImpl(new Live(engine, new engine.glue.Store(inner, host, seed), storage))
  } catch (error) {
    storage.release()
    throw error
  }
}

class StoreImpl implements Store {
  static readonly name = "Store"

  readonly #live: Live

  constructor(live: Live) {
    this.#live = live
  }

  queue<P>(given: string, options?: QueueOptions | null): Queue<P> {
    const name = this.#live.checkedName("Queue", given)
    const read = queueOptions(options)
    const { visibilityTimeout, maxAttempts, backoffBase, deadLetterRetention } = read
    const inner = this.#live.inner.queue(name, visibilityTimeout, maxAttempts, backoffBase, deadLetterRetention)
    return new QueueImpl<P>(this.#live, inner, name)
  }

  outbox<P>(given: string, ...others: unknown[]): Outbox<P> {
    const name = this.#live.checkedName("Outbox", given)
    const [options = null] = others
    if (options !== null) throw invalid("options", options, "absent: an outbox has none, its enqueue does")
    return new OutboxImpl<P>(this.#live, this.#live.inner.outbox(name), name)
  }

  async tryLock(givenName: string, givenOwner: string, givenTtl: Duration): Promise<Lock | null> {
    const name = this.#live.checkedName("Name", givenName)
    const owner = this.#live.checkedName("Owner", givenOwner)
    const ms = ttl("ttl", givenTtl)
    const { Try } = this.#live.engine.glue.LockOp
    const granted: boolean = await this.#live.owed(this.#live.inner.lock(Try, name, owner, ms))
    return granted ? new LockImpl(this.#live, name, owner) : null
  }

  async schedule<P>(
    givenName: string,
    spec: string,
    givenQueue: string,
    payload: P,
    given?: ScheduleOptions | null
  ): Promise<Schedule> {
    const name = this.#live.checkedName("Name", givenName)
    const queue = this.#live.checkedName("Queue", givenQueue)
    const { priority, maxAttempts, expires } = scheduleOptions(given)
    if (typeof spec !== "string") throw invalid("spec", spec, "a string")
    const { inner } = this.#live
    inner.check(this.#live.engine.glue.Argument.Spec, spec)
    const refused = await this.#live.owed(
      inner.schedule(name, spec, queue, this.#live.copyIn(payload), priority, maxAttempts, expires)
    )
    if (refused !== undefined) throw refused
    const options = { priority: orNull(priority), maxAttempts: orNull(maxAttempts), expires: orNull(expires) }
    return { name, spec, queue, options }
  }

  async unschedule(name: string): Promise<boolean> {
    return this.#live.owed(this.#live.inner.unschedule(nameArgument("name", name)))
  }

  async schedules(): Promise<ScheduleInfo[]> {
    const rows: unknown[][] = await this.#live.owed(this.#live.inner.schedules())
    return rows.map(([name, spec, queue, priority, maxAttempts, expires, nextFireAt]) => {
      return { name, spec, queue, options: { priority, maxAttempts, expires }, nextFireAt } as ScheduleInfo
    })
  }

  async runSchedules(signal?: AbortSignal | null, given?: RunSchedulesOptions | null): Promise<void> {
    return this.#live.untilStopped(signal, (stop) => {
      const { standby = false } = options("options", given, RUN_KINDS)
      return this.#live.inner.run_schedules(stop, standby as boolean)
    })
  }

  async transaction<T>(body: (tx: Transaction) => T | Promise<T>): Promise<T> {
    callback("body", body)
    return runTransaction(this.#live, this.#live.inner.transaction(), body)
  }

  async durability(): Promise<Durability> {
    this.#checkOpen()
    return this.#live.storage.driver?.durability() ?? "memory"
  }

  async persist(): Promise<Durability> {
    this.#checkOpen()
    return this.#live.storage.driver?.persist() ?? "memory"
  }

  async close(): Promise<void> {
    this.#live.isClosed = true
    try {
      await this.#live.owed(this.#live.inner.close())
    } finally {
      this.#live.storage.release()
    }
  }

  // For what the engine is not asked about.
  #checkOpen(): void {
    if (this.#live.isClosed) throw new AlkstoreError("Closed", "the store is closed")
  }

  async [asyncDispose](): Promise<void> {
    await this.close()
  }
}

const RUN_KINDS = {
  standby: (name: string, value: unknown): unknown => {
    if (typeof value !== "boolean") throw invalid(name, value, "true or false")
    return value
  }
}

// As the engine keeps it: whole, within the safe integers, and without a negative zero.
function orNull(value: number): number | null {
  if (Number.isNaN(value)) return null
  return Math.min(Math.max(Math.trunc(value), -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER) + 0
}
