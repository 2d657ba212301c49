// What may happen to a database under a store at work. One fault at a time: it is armed, and strikes the next request
// that it is meant for.

import type { Random } from "../shared/seeded.js"
import { settled } from "../shared/databases.js"
import type { Faults } from "./world.js"

/** After the next row is written. */
const AFTER_WRITE: Record<string, (transaction: IDBTransaction) => void> = {
  aborted: (transaction) => transaction.abort(),
  // As browsers do it: the request succeeds, and the transaction aborts when it is to be committed.
  "no room": (transaction) => {
    const error = new DOMException("the quota has been exceeded", "QuotaExceededError")
    Object.defineProperty(transaction, "error", { value: error })
    transaction.abort()
  },
  "connection closed": ({ db }) => db.close()
}

type Call = "write" | "read" | "begin"

/** In place of the next call of a kind: an error of that name. */
const INSTEAD: Record<string, { readonly of: Call; readonly error: string }> = {
  "write refused": { of: "write", error: "UnknownError" },
  "read refused": { of: "read", error: "UnknownError" },
  "connection lost": { of: "begin", error: "InvalidStateError" }
}

let armed: string | null = null
let struck = 0

export class DatabaseFaults implements Faults {
  readonly #database: string
  #upgrade: Promise<void> = Promise.resolve()

  constructor(database: string) {
    this.#database = database
  }

  get struck(): number {
    return struck
  }

  arm(random: Random): void {
    armed = random.pick([...Object.keys(AFTER_WRITE), ...Object.keys(INSTEAD), "upgraded"])
    if (armed !== "upgraded") return
    armed = null
    struck += 1
    this.#upgrade = this.#upgrade.then(() => this.#upgraded())
  }

  async calm(): Promise<void> {
    armed = null
    await this.#upgrade
  }

  // Another context wants a newer version: every connection is asked to close.
  async #upgraded(): Promise<void> {
    const known = (await indexedDB.databases()).find(({ name }) => name === this.#database)
    const db = await settled(indexedDB.open(this.#database, (known?.version ?? 1) + 1))
    db.close()
  }
}

const { put } = IDBObjectStore.prototype
IDBObjectStore.prototype.put = function (...given) {
  strikeInstead("write")
  const request = put.apply(this, given)
  const strike = armed === null ? undefined : AFTER_WRITE[armed]
  if (strike !== undefined) {
    disarm()
    strike(this.transaction)
  }
  return request
}

const { getAll } = IDBIndex.prototype
IDBIndex.prototype.getAll = function (...given) {
  strikeInstead("read")
  return getAll.apply(this, given)
}

const { transaction } = IDBDatabase.prototype
IDBDatabase.prototype.transaction = function (...given) {
  strikeInstead("begin")
  return transaction.apply(this, given)
}

function strikeInstead(call: Call): void {
  const fault = armed === null ? undefined : INSTEAD[armed]
  if (fault?.of !== call) return
  disarm()
  throw new DOMException("the disk is on fire", fault.error)
}

function disarm(): void {
  armed = null
  struck += 1
}
