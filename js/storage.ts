// The storages that `open` takes. Memory lives inside an instance of the engine, and ends with it.

import type { Memory as InnerMemory } from "../target/engine/bindgen/alkstore.js"
import { invalid } from "./arguments.js"
import { AlkstoreError } from "./errors.js"
import type { Engine } from "./load.js"
import type { StorageAdapter } from "./types.js"

export class MemoryAdapter implements StorageAdapter {
  readonly kind = "memory"
  #engine: Engine | null = null
  #inner: InnerMemory | null = null

  /** By what only our own have: neither a Proxy nor an heir of one will do. */
  static is(value: unknown): value is MemoryAdapter {
    return typeof value === "object" && value !== null && #inner in value
  }

  /** The state, made by the first store that opens it. */
  static attach(adapter: MemoryAdapter, engine: Engine): InnerMemory {
    if (adapter.#inner === null) {
      adapter.#engine = engine
      adapter.#inner = new engine.glue.Memory()
    } else if (adapter.#engine !== engine) {
      throw new AlkstoreError(
        "Panicked",
        "this memory storage was lost with the engine that held it, which stopped at a defect; open a new memory()"
      )
    }
    return adapter.#inner
  }
}

/** Checks what a user gave as a storage. */
export function storageArgument(storage: unknown): (engine: Engine) => InnerMemory {
  if (!MemoryAdapter.is(storage)) throw invalid("storage", storage, "an adapter such as memory()")
  return (engine) => MemoryAdapter.attach(storage, engine)
}
