// What the engine needs of JavaScript: time, randomness, and the shapes of errors and jobs.

import { invalid, show } from "./arguments.js"
import { AlkstoreError } from "./errors.js"
import { Claimed, readJob } from "./jobs.js"
import type { Engine } from "./load.js"
import type { Clock, ErrorCode } from "./types.js"

/** Called by the engine only; see src/wasm/host.rs. */
export interface Host {
  readonly custom: boolean
  now(): number
  sleep(ms: number): { done: Promise<void>; cancel(): void }
  random(): number
  error(code: string, message: string, cause: unknown): AlkstoreError
  remember(memory: WebAssembly.Memory): void
  claimed(payload: unknown, columns: number): Claimed
  addClaimed(jobs: Claimed[], payload: unknown, columns: number): void
  job: typeof readJob
}

/** `ends` is called when the engine ends. */
export function createHost(clock: Clock | null, ends: Engine["pending"]): Host {
  let memory: WebAssembly.Memory
  // Of a memory that has grown since nothing is left.
  let numbers = new Float64Array(0)
  const claimed = (payload: unknown, columns: number): Claimed => {
    if (numbers.length === 0) numbers = new Float64Array(memory.buffer)
    return new Claimed(payload, numbers, columns / Float64Array.BYTES_PER_ELEMENT)
  }
  return {
    custom: clock !== null,
    now: () => read(clock ?? Date),
    sleep: (ms) => sleep(clock, ms, ends),
    random,
    error,
    remember: (given) => void (memory = given),
    claimed,
    addClaimed: (jobs, payload, columns) => void jobs.push(claimed(payload, columns)),
    job: readJob
  }
}

/** Checks what a user gave as a clock. */
export function clockArgument(clock: unknown): Clock {
  const given = clock as Clock
  let isClock = false
  try {
    isClock = typeof given === "object" && typeof given.now === "function" && typeof given.sleep === "function"
  } catch {
    // A getter threw: no clock.
  }
  if (!isClock) throw invalid("clock", clock, "an object with now() and sleep(ms, signal)")
  return given
}

// `Date` is a test's own now and then.
function read(clock: Pick<Clock, "now">): number {
  let now: unknown
  try {
    now = clock.now()
  } catch (cause) {
    throw new AlkstoreError("InvalidArgument", `${nameOf(clock)} must not throw, threw ${show(cause)}`, { cause })
  }
  if (typeof now !== "number" || !Number.isFinite(now)) throw invalid(nameOf(clock), now, "a finite number")
  return now
}

function nameOf(clock: Pick<Clock, "now">): string {
  return clock === Date ? "Date.now()" : "clock.now()"
}

function sleep(clock: Clock | null, ms: number, ends: Engine["pending"]): { done: Promise<void>; cancel(): void } {
  const stop = new AbortController()
  // A sleep that throws or rejects must not make a loop spin: real time it is, then.
  const instead = (): Promise<void> => realSleep(ms, stop.signal)
  const asked = async (): Promise<void> => clock?.sleep(ms, stop.signal)
  const cancel = (): void => stop.abort()
  ends.add(cancel)
  const done = asked().catch(instead).then(() => void ends.delete(cancel))
  // Whoever slept lets go of the sleep when it is over too, and an abort makes an error with a stack.
  return { done, cancel: () => void (ends.delete(cancel) && cancel()) }
}

function realSleep(ms: number, signal: AbortSignal): Promise<void> {
  // Many a sleep rejects when it is aborted, which is no failure.
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    // Of one kind: fake timers may come or go meanwhile.
    const clear = clearTimeout
    const timer = setTimeout(resolve, ms)
    signal.addEventListener("abort", () => {
      clear(timer)
      resolve()
    })
  })
}

// 53 bits. Not Math.random alone: tests like to pin that, and runners are told apart by these bits.
let calls = 0
function random(): number {
  const bits = new Uint32Array(2)
  try {
    globalThis.crypto.getRandomValues(bits)
  } catch {
    // There is none, or it is a test's own.
  }
  // A test's own may fill nothing.
  if (bits.every((word) => word === 0)) bits.set([Math.random() * 2 ** 32, Math.random() * 2 ** 32 + calls])
  calls += 1
  const [high = 0, low = 0] = bits
  return (high >>> 11) * 2 ** 32 + low
}

function error(code: string, message: string, cause: unknown): AlkstoreError {
  if (cause instanceof AlkstoreError) return cause
  return new AlkstoreError(code as ErrorCode, message, cause === undefined ? undefined : { cause })
}
