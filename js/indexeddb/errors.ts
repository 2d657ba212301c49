import { show } from "../arguments.js"
import { AlkstoreError } from "../errors.js"

/** The storage failed. A cause says its own name, `QuotaExceededError` for example. */
export function storageError(what: string, cause?: unknown): AlkstoreError {
  if (cause instanceof AlkstoreError) return cause
  if (cause === undefined || cause === null) return new AlkstoreError("Storage", what)
  return new AlkstoreError("Storage", `${what}: ${show(cause)}`, { cause })
}

export function nameOf(error: unknown): unknown {
  return (error as { name?: unknown } | null | undefined)?.name
}
