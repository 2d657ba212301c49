// The storages that `open` takes, and memory, which lives inside an instance of the engine and ends with it.

import type { Storage as InnerStorage } from "../target/engine/bindgen/alkstore.js"
import { invalid } from "./arguments.js"
import { AlkstoreError } from "./errors.js"
import type { KeyedDriver } from "./keyed.js"
import type { Engine } from "./load.js"
import type { StorageAdapter } from "./types.js"

/** One store's hold on its storage. */
export interface Hold {
  /** Of a keyed storage. */
  readonly driver: KeyedDriver | null
  /** The storage as the engine has it, opened. */
  attach(engine: Engine): InnerStorage | Promise<InnerStorage>
  /** The store is closed, or was never opened. Again is nothing. */
  release(): void
}

/** What all storages are, whichever entry makes them. */
export abstract class Adapter implements StorageAdapter {
  readonly kind: string
  readonly #hold: () => Hold

  constructor(kind: string, hold: () => Hold) {
    this.kind = kind
    this.#hold = hold
  }

  /** How a store takes hold of what a user gave as a storage, by what only our own have: a Proxy will not do. */
  static holdOf(storage: unknown): () => Hold {
    if (typeof storage === "object" && storage !== null && #hold in storage) return storage.#hold
    throw invalid("storage", storage, "an adapter such as memory() or indexedDb(name) of this copy of the package")
  }
}

export class MemoryAdapter extends Adapter {
  #engine: Engine | null = null
  #inner: InnerStorage | null = null

  constructor() {
    super("memory", () => ({ driver: null, attach: (engine) => this.#in(engine), release: () => undefined }))
  }

  // The state, made by the first store that opens it.
  #in(engine: Engine): InnerStorage {
    if (this.#inner === null) {
      this.#engine = engine
      this.#inner = engine.glue.Storage.memory()
    } else if (this.#engine !== engine) {
      throw new AlkstoreError(
        "Panicked",
        "this memory storage was lost with the engine that held it, which stopped at a defect; open a new memory()"
      )
    }
    return this.#inner
  }
}
