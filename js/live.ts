// A store's connection to the instance of the engine that it was opened on.

import type { Argument, Stop, Store as InnerStore } from "../target/engine/bindgen/alkstore.js"
import { invalid, nameArgument } from "./arguments.js"
import { type Engine, whileAlive } from "./load.js"

export class Live {
  readonly engine: Engine
  readonly inner: InnerStore
  /** The loops that each signal stops: one listener serves all of them. */
  readonly #watched = new Map<AbortSignal, { readonly stops: Set<Stop>; readonly onAbort: () => void }>()

  constructor(engine: Engine, inner: InnerStore) {
    this.engine = engine
    this.inner = inner
  }

  /** A name that users share, checked ahead of the arguments that come after it. */
  sharedName(argument: Argument, value: unknown): string {
    const name = nameArgument(argument, value)
    this.inner.check_shared(name, argument)
    return name
  }

  /** The name of a worker or an owner, checked likewise. */
  localName(argument: Argument, value: unknown): string {
    const name = nameArgument(argument, value)
    this.inner.check_local(name, argument)
    return name
  }

  /** What an export returned: its answer, or a promise of it that rejects if the engine ends first. */
  owed(value: unknown): any {
    return value instanceof Promise ? whileAlive(this.engine, value) : value
  }

  /** Runs a loop that `signal` stops. No listener stays behind, however the loops end. */
  async untilStopped(signal: unknown, run: (stop: Stop) => unknown): Promise<any> {
    const watched = signalArgument(signal)
    const stop = new this.engine.glue.Stop()
    try {
      if (watched?.aborted) stop.set()
      else if (watched !== null) this.#watch(watched, stop)
      return await this.owed(run(stop))
    } finally {
      if (watched !== null) this.#unwatch(watched, stop)
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
    signal.addEventListener("abort", onAbort)
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

// Anything that looks like a signal is one: there are polyfills, and other realms.
function signalArgument(signal: unknown): AbortSignal | null {
  if (signal === undefined || signal === null) return null
  const given = signal as AbortSignal
  let isSignal = false
  try {
    isSignal =
      typeof given === "object" &&
      typeof given.aborted === "boolean" &&
      typeof given.addEventListener === "function" &&
      typeof given.removeEventListener === "function"
  } catch {
    // A getter threw: no signal.
  }
  if (!isSignal) throw invalid("signal", signal, "an AbortSignal")
  return given
}
