// The public functions and types of every entry that opens stores. Written out, so that the declarations of the
// package reach types.ts and errors.ts only, never the engine's.

import { memory as makeMemory, open as openStore } from "../store.js"
import type { OpenOptions, StorageAdapter, Store } from "../types.js"

export { AlkstoreError } from "../errors.js"
export type * from "../types.js"

/**
 * Opens a store; the first call also loads the engine. Two stores opened on one storage share its jobs, locks and
 * schedules.
 *
 * Rejects with `InvalidArgument` for a wrong or unknown option, with `Unavailable` if the engine cannot start, and with
 * `Storage` if the storage cannot be opened: the message says why and what to do, and opening again tries again.
 */
export const open: (options?: OpenOptions | null) => Promise<Store> = openStore

/** A storage in memory, gone with the process. Stores opened on the same one share its state. */
export const memory: () => StorageAdapter = makeMemory
