// The handle of a lock that was granted.

import type { Lock as InnerLock } from "../target/engine/bindgen/alkstore.js"
import { ttl } from "./arguments.js"
import { asyncDispose } from "./dispose.js"
import type { Live } from "./live.js"
import type { Duration, Lock } from "./types.js"

export class LockImpl implements Lock {
  static readonly name = "Lock"

  readonly name: string
  readonly #live: Live
  readonly #inner: InnerLock

  constructor(live: Live, inner: InnerLock, name: string) {
    this.name = name
    this.#live = live
    this.#inner = inner
  }

  async renew(given: Duration): Promise<boolean> {
    return this.#live.owed(this.#inner.renew(ttl("ttl", given)))
  }

  async release(): Promise<boolean> {
    return this.#live.owed(this.#inner.release())
  }

  async [asyncDispose](): Promise<void> {
    await this.release()
  }
}
