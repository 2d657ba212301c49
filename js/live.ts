// A store's connection to the instance of the engine that it was opened on.

import type { Stop, Store as InnerStore } from "../target/engine/bindgen/alkstore.js"
import { invalid, nameArgument, show, signalArgument } from "./arguments.js"
import { copyIn, copyOut } from "./codec.js"
import { AlkstoreError } from "./errors.js"
import type { JoinedTransaction } from "./keyed.js"
import { type Engine, whileAlive } from "./load.js"
import type { Hold } from "./storage.js"
import { giveTurn } from "./turn.js"
import type { Job } from "./types.js"

/**
 * After so many calls of its workers' loops a store in memory, which answers all of them in microtasks, gives the event
 * loop a turn. Counted, not timed: a clock may be a test's own, a count comes out the same every time, and when the loop
 * had its last turn nobody tells. A turn costs as much as a delivery in Node, in Chromium some twenty.
 */
const CALLS_PER_TURN = 512

export class Live {
  readonly engine: Engine
  readonly inner: InnerStore
  readonly storage: Hold
  /** Set as soon as the store is told to close. */
  isClosed = false
  #calls = 0
  /** The loops that each signal stops: one listener serves all of them. */
  readonly #watched = new Map<AbortSignal, { readonly stops: Set<Stop>; readonly onAbort: () => void }>()

  constructor(engine: Engine, inner: InnerStore, storage: Hold) {
    this.engine = engine
    this.inner = inner
    this.storage = storage
  }

  /** A name, checked ahead of the arguments that come after it. */
  checkedName(argument: "Name" | "Queue" | "Outbox" | "Owner" | "WorkerId", value: unknown): string {
    const name = nameArgument(argument.charAt(0).toLowerCase() + argument.slice(1), value)
    this.inner.check(this.engine.glue.Argument[argument], name)
    return name
  }

  /** What an export returned: its answer, or a promise of it that rejects if the engine ends first. */
  owed(value: unknown): any {
    return value instanceof Promise ? whileAlive(this.engine, value) : value
  }

  /** The answer to a call of a worker's loop; after every so many of them, and a turn of the event loop, what `again` gives. */
  paced(answer: any, again = (): unknown => answer): any {
    this.#calls += 1
    if (this.#calls % CALLS_PER_TURN > 0 || this.storage.driver !== null) return answer
    return Promise.resolve(answer).then(giveTurn).then(again)
  }

  /** A copy of a payload for the storage to keep. Throws `Codec` for what it cannot keep. */
  copyIn(payload: unknown): unknown {
    const copy = copyIn(payload)
    this.storage.driver?.check(copy)
    return copy
  }

  /** What is handed out of what the storage gave: memory gives what it keeps, the others a copy that is nobody's. */
  copyOut<P>(given: P): P {
    return this.storage.driver === null ? copyOut(given) : given
  }

  /** A job that was read, with a payload for whoever asked. */
  handedOut<P>(job: Job<P> | null): Job<P> | null {
    if (job !== null) (job as { payload: P }).payload = this.copyOut(job.payload)
    return job
  }

  /** The caller's own transaction, checked. */
  join(transaction: unknown): JoinedTransaction {
    const { driver } = this.storage
    if (driver !== null) return driver.join(transaction)
    throw invalid("transaction", transaction, "absent: this storage has no transactions of the caller's own")
  }

  /** Runs a loop that `signal` stops. No listener stays behind, however the loops end. */
  async untilStopped(signal: unknown, run: (stop: Stop) => unknown): Promise<any> {
    const watched = signalArgument(signal)
    this.storage.driver?.listen()
    const stop = new this.engine.glue.Stop()
    try {
      if (watched?.aborted) stop.set()
      else if (watched !== null) this.#watch(watched.signal, stop)
      return await this.owed(run(stop))
    } finally {
      if (watched !== null) this.#unwatch(watched.signal, stop)
      stop.free()
    }
  }

  #watch(signal: AbortSignal, stop: Stop): void {
    const known = this.#watched.get(signal)
    if (known !== undefined) {
      known.stops.add(stop)
      return
    }
    const stops = new Set([stop])
    const onAbort = (): void => stops.forEach((each) => each.set())
    this.#watched.set(signal, { stops, onAbort })
    try {
      signal.addEventListener("abort", onAbort)
    } catch (cause) {
      throw new AlkstoreError("InvalidArgument", `signal could not be listened to: it threw ${show(cause)}`, { cause })
    }
  }

  #unwatch(signal: AbortSignal, stop: Stop): void {
    const known = this.#watched.get(signal)
    if (known === undefined || !known.stops.delete(stop) || known.stops.size > 0) return
    this.#watched.delete(signal)
    try {
      signal.removeEventListener("abort", known.onAbort)
    } catch {
      // The signal's own fault, and no loop's: a listener that stays stops nothing.
    }
  }
}
