// Finds the engine's bytes, compiles them once and keeps one live instance. Nothing here runs at import: no
// top-level await, no `import.meta`, no Node builtin, so that every bundler, worker and test runner can load it.

import { createGlue, type Glue } from "../target/engine/glue.js"
import { compileEngine } from "./compile.js"
import { AlkstoreError } from "./errors.js"
import { FallbackDecoder, FallbackEncoder } from "./text-codec.js"
import type { InitInput } from "./init-input.js"

/** One instance of the engine. A panic ends it; the next `engine()` is a fresh one, which knows nothing of it. */
export interface Engine {
  /** The generated classes and functions. After the end every call into them throws `Panicked`. */
  readonly glue: Glue
  /** The first panic's message, once there was one. */
  dead: string | null
  /** Called with `Panicked` when it ends: what rejects the promises that it still owes, and what stops its timers. */
  readonly pending: Set<(error: AlkstoreError) => void>
}

// Jest's and Sinon's fake timers replace queueMicrotask, on which the engine polls its futures.
const settled = Promise.resolve()

const NOT_OURS = "the wasm is not the engine of this package, or of another version of it"

let source: (() => InitInput) | null = null
let compiled: Promise<WebAssembly.Module> | null = null
let current: Promise<Engine> | null = null

/** Says where the bytes come from if nobody calls `init`. The entries do, once; the first one counts. */
export function setSource(load: () => InitInput): void {
  source ??= load
}

/**
 * Loads the engine from `input`, or from the entry's own source without one. Calling it again, at once or later,
 * is fine and changes nothing; after a failure the next call starts afresh.
 */
export async function init(input?: InitInput): Promise<void> {
  if (input === undefined) return void (await engine())
  // It is looked at only if nobody else has begun, and a rejection of it handled all the same.
  const given = async (): Promise<unknown> => input
  given().catch(() => undefined)
  for (;;) {
    const joined = current
    try {
      return void (await engine(() => input))
    } catch (error) {
      // Of another source that failed nothing is to be told to whoever has brought one.
      if (joined === null) throw error
    }
  }
}

/** The live instance: the same for all callers until it panics. Rejects with `Unavailable`. */
export function engine(load: (() => InitInput) | null = source): Promise<Engine> {
  if (current !== null) return current
  const starting = start(load)
  current = starting
  starting.catch(() => forget(starting))
  return starting
}

/** Ends `engine` for good: rejects what it owes, and lets the next `engine()` start a fresh instance. */
export function retire(engine: Engine, message: string): void {
  if (engine.dead !== null) return
  let hasEnded = false
  const end = (): void => {
    if (hasEnded) return
    engine.glue.__stop(() => panicked(message))
    forget(null)
    for (const reject of engine.pending) reject(panicked(message))
    engine.pending.clear()
    hasEnded = true
  }
  // Also on a stack of its own: what ended the engine may have been the end of this one, which has no room for that.
  void settled.then(end)
  engine.dead = message
  try {
    end()
  } catch {
    return
  }
}

/** `promise`, or `Panicked` if the engine ends first: a promise made by a dead engine never settles by itself. */
export function whileAlive<T>(engine: Engine, promise: PromiseLike<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    engine.pending.add(reject)
    promise.then(
      (value) => {
        engine.pending.delete(reject)
        resolve(value)
      },
      (error: unknown) => {
        engine.pending.delete(reject)
        reject(error)
      }
    )
  })
}

async function start(load: (() => InitInput) | null): Promise<Engine> {
  const compiling = (compiled ??= compile(load))
  try {
    return instantiate(await compiling)
  } catch (error) {
    if (compiled === compiling) compiled = null
    throw error
  }
}

async function compile(load: (() => InitInput) | null): Promise<WebAssembly.Module> {
  if (load === null) {
    throw new AlkstoreError(
      "Unavailable",
      "this entry carries no engine: call init(input) with its bytes or its address first"
    )
  }
  return compileEngine(load)
}

interface Timer {
  handle?: unknown
  isOver: boolean
  /** What stops it: a test may put fake timers in the place of the real ones meanwhile, or take them back. */
  readonly clear: typeof clearTimeout
}

function instantiate(module: WebAssembly.Module): Engine {
  let panic: string | null = null
  const end = (error?: unknown) => {
    retire(engine, panic ?? String(error))
    return panicked(engine.dead as string, error)
  }
  const timers = new Set<Timer>()
  const settle = (timer: Timer): void => {
    timer.isOver = true
    timers.delete(timer)
  }
  const stop = (timer: Timer): void => {
    settle(timer)
    // A browser's, which is nobody's method.
    const { clear, handle } = timer
    clear(handle as number)
  }
  const glue = createGlue({
    TextDecoder: globalThis.TextDecoder ?? FallbackDecoder,
    TextEncoder: globalThis.TextEncoder ?? FallbackEncoder,
    queueMicrotask: (task) => {
      void settled.then(() => {
        try {
          task()
        } catch (error) {
          end(error)
        }
      })
    },
    setTimeout: (task, ms) => {
      const timer: Timer = { clear: clearTimeout, isOver: false }
      timer.handle = setTimeout(() => {
        // That of another kind may not have stopped it, and what it was for is gone.
        if (timer.isOver) return
        settle(timer)
        task()
      }, ms)
      if (!timer.isOver) timers.add(timer)
      return timer
    },
    clearTimeout: (timer) => stop(timer as Timer),
    alkstorePanicked: (message) => void (panic ??= message),
    onTrap: end,
    Refusal: AlkstoreError
  })
  // What an ended engine sleeps for must not keep a process alive.
  const engine: Engine = { glue, dead: null, pending: new Set([() => timers.forEach(stop)]) }
  try {
    glue.__start(module)
  } catch (cause) {
    const fault = cause instanceof RangeError ? "there is no memory for the engine" : NOT_OURS
    throw new AlkstoreError("Unavailable", `${fault}: ${String(cause)}`, { cause })
  }
  return engine
}

// With a promise only if it is still the current one; the compiled module stays, whatever happened to an instance.
function forget(starting: Promise<Engine> | null): void {
  if (starting === null || current === starting) current = null
}

function panicked(message: string, cause?: unknown): AlkstoreError {
  const text = `the engine stopped at a defect: ${message}; open again, what was committed is intact`
  return new AlkstoreError("Panicked", text, cause === undefined ? undefined : { cause })
}
