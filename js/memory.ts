import { MemoryAdapter } from "./storage.js"
import type { StorageAdapter } from "./types.js"

/** A storage in memory, gone with the process. Two opens of one adapter share its state. */
export function memory(): StorageAdapter {
  return new MemoryAdapter()
}
