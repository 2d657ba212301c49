// Payloads, in and out: copied as structured clone copies them, so that nobody shares an object with the queue.

import { show } from "./arguments.js"
import { AlkstoreError } from "./errors.js"

/** A copy that the queue keeps. Throws `Codec` for what structured clone cannot copy. */
export function copyIn(payload: unknown): unknown {
  if (isPlainValue(payload)) return payload
  try {
    return structuredClone(payload)
  } catch (cause) {
    throw new AlkstoreError("Codec", `the payload cannot be copied by structured clone: ${show(cause)}`, { cause })
  }
}

/** A fresh copy of what the queue keeps. */
export function copyOut<P>(kept: P): P {
  return isPlainValue(kept) ? kept : structuredClone(kept)
}

// What is its own copy.
function isPlainValue(value: unknown): boolean {
  return value === null || (typeof value !== "object" && typeof value !== "function" && typeof value !== "symbol")
}
