// The handle of a lock that was granted.

import { ttl } from "./arguments.js"
import { asyncDispose } from "./dispose.js"
import type { Live } from "./live.js"
import type { Duration, Lock } from "./types.js"

export class LockImpl implements Lock {
  static readonly name = "Lock"

  readonly name: string
  readonly #live: Live
  readonly #owner: string

  constructor(live: Live, name: string, owner: string) {
    this.name = name
    this.#live = live
    this.#owner = owner
  }

  async renew(given: Duration): Promise<boolean> {
    const ms = ttl("ttl", given)
    return this.#live.owed(this.#live.inner.lock(this.#live.engine.glue.LockOp.Renew, this.name, this.#owner, ms))
  }

  async release(): Promise<boolean> {
    return this.#live.owed(this.#live.inner.lock(this.#live.engine.glue.LockOp.Release, this.name, this.#owner, 0))
  }

  async [asyncDispose](): Promise<void> {
    await this.release()
  }
}
