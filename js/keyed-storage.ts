// A storage of rows under keys, as a user holds it: it lives outside the engine, and outlives any number of them.

import type { Storage as InnerStorage } from "../target/engine/bindgen/alkstore.js"
import type { KeyedDriver } from "./keyed.js"
import type { Engine } from "./load.js"
import { Adapter, type Hold } from "./storage.js"

/** The stores that are open on it share its connection. */
export class KeyedStorage extends Adapter {
  readonly #driver: KeyedDriver
  /** Each open store's hold, and the engine that it is attached to. */
  readonly #holds = new Map<Hold, Engine | null>()
  #attached: { readonly engine: Engine; readonly inner: InnerStorage; readonly onEnd: () => void } | null = null

  constructor(driver: KeyedDriver) {
    super(driver.kind, () => this.#hold())
    this.#driver = driver
    driver.onWake = (topic) => this.#wake(topic)
  }

  #hold(): Hold {
    // Beside the loading of the engine. Its failure is told to whoever attaches.
    const connecting = this.#driver.connect()
    connecting.catch(() => undefined)
    const hold: Hold = {
      driver: this.#driver,
      attach: async (engine) => {
        await connecting
        const inner = this.#in(engine)
        this.#holds.set(hold, engine)
        return inner
      },
      release: () => this.#release(hold)
    }
    this.#holds.set(hold, null)
    return hold
  }

  #in(engine: Engine): InnerStorage {
    if (this.#attached?.engine !== engine) {
      const inner = engine.glue.Storage.keyed(this.#driver)
      const onEnd = (): void => this.#ended(engine)
      engine.pending.add(onEnd)
      this.#attached = { engine, inner, onEnd }
    }
    return this.#attached.inner
  }

  #release(hold: Hold): void {
    if (!this.#holds.delete(hold) || this.#holds.size > 0) return
    this.#attached?.engine.pending.delete(this.#attached.onEnd)
    this.#attached = null
    this.#driver.close()
  }

  // A store whose engine has ended is never closed. What is stored is intact: the next one attaches anew.
  #ended(engine: Engine): void {
    this.#attached = null
    this.#driver.abandon()
    for (const [hold, attached] of this.#holds) if (attached === engine) this.#release(hold)
  }

  #wake(topic: string): void {
    try {
      this.#attached?.inner.wake(topic)
    } catch {
      // The engine has ended, and has told everybody who waits.
    }
  }
}
