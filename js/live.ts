// A store's connection to the instance of the engine that it was opened on.

import type { Argument, Stop, Store as InnerStore } from "../target/engine/bindgen/alkstore.js"
import { invalid, nameArgument, type ParseDuration } from "./arguments.js"
import { type Engine, whileAlive } from "./load.js"

export class Live {
  readonly engine: Engine
  readonly inner: InnerStore
  readonly parse: ParseDuration

  constructor(engine: Engine, inner: InnerStore) {
    this.engine = engine
    this.inner = inner
    this.parse = engine.glue.parse_duration
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

  /** Runs a loop that `signal` stops. No listener stays behind, however the loop ends. */
  async untilStopped(signal: unknown, run: (stop: Stop) => unknown): Promise<any> {
    const watched = signalArgument(signal)
    const stop = new this.engine.glue.Stop()
    const onAbort = (): void => stop.set()
    try {
      if (watched?.aborted) stop.set()
      else watched?.addEventListener("abort", onAbort)
      return await this.owed(run(stop))
    } finally {
      watched?.removeEventListener("abort", onAbort)
      stop.free()
    }
  }
}

// Anything that looks like a signal is one: there are polyfills, and other realms.
function signalArgument(signal: unknown): AbortSignal | null {
  if (signal === undefined || signal === null) return null
  const given = signal as AbortSignal
  if (
    typeof given !== "object" ||
    typeof given.aborted !== "boolean" ||
    typeof given.addEventListener !== "function" ||
    typeof given.removeEventListener !== "function"
  ) {
    throw invalid("signal", signal, "an AbortSignal")
  }
  return given
}
