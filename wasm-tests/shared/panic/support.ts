// A defect of the engine's, in a build made for that: it strikes wherever code of a test's own is called.

import { engine } from "../../../target/panic-build/index.mjs"
import type { Clock, ErrorCode } from "../../../js/types.js"
import { START } from "../support.js"

export { AlkstoreError, engine, indexedDb, memory, open, upgrade } from "../../../target/panic-build/index.mjs"

export const DEFECT = "a defect"

/** What strikes the engine that runs now. */
export async function striker(message = DEFECT): Promise<() => void> {
  const { glue } = await engine()
  return () => {
    try {
      glue.testPanic(message)
    } catch {
      return
    }
    throw new Error("it did not panic")
  }
}

/** Strikes now. */
export async function panic(message?: string): Promise<void> {
  const strike = await striker(message)
  strike()
}

/** A clock that stands still. The engine reads it in the middle of every operation. */
export class StruckClock implements Clock {
  at = START
  /** Called once, at the next reading. */
  strike: (() => void) | null = null

  now(): number {
    const strike = this.strike
    this.strike = null
    strike?.()
    return this.at
  }

  sleep(_: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve()))
  }
}

export interface Failure {
  code: ErrorCode | "none"
  message: string
}

/** What a call comes to, whether it throws or rejects. */
export async function failureOf(call: () => unknown): Promise<Failure> {
  try {
    await call()
    return { code: "none", message: "it succeeded" }
  } catch (error) {
    return error as Failure
  }
}
