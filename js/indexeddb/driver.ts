// The adapter: connections, transactions and wakes of one database, for all stores that are open on it.

import { notCopied } from "../codec.js"
import { AlkstoreError } from "../errors.js"
import type { JoinedTransaction, KeyedDriver, KeyedTransaction } from "../keyed.js"
import type { Durability } from "../types.js"
import { EVERYTHING, WakeChannel } from "./channel.js"
import type { Database } from "./database.js"
import { nameOf, storageError } from "./errors.js"
import { storeOf } from "./join.js"
import { payloadKey, STORE } from "./layout.js"
import { isOfTheLanguage } from "./placement.js"
import { CallersTransaction, OwnTransaction, type RowTransaction } from "./transaction.js"

export class IndexedDbDriver implements KeyedDriver {
  readonly kind = "indexeddb"
  onWake: (topic: string) => void = () => undefined
  readonly database: Database
  readonly #options: IDBTransactionOptions
  readonly #channel: WakeChannel
  readonly #live = new Set<RowTransaction>()
  /** What is told when a caller's transaction has completed. */
  readonly #topics = new WeakMap<IDBTransaction, Set<string>>()
  /** Whether a store is open. */
  #used = false

  constructor(database: Database, durability: IDBTransactionDurability) {
    this.database = database
    this.#options = { durability }
    this.#channel = new WakeChannel(database.name, (topic) => this.onWake(topic))
    // The app's own connection, which the browser closes when the site's data are cleared: who waits is to hear so.
    database.current?.addEventListener("close", () => this.onWake(EVERYTHING))
  }

  async connect(): Promise<void> {
    this.#used = true
    await this.database.open()
    // Perhaps in vain: what else an open store needs may have failed meanwhile.
    this.#closeUnused()
  }

  begin(): KeyedTransaction | Promise<KeyedTransaction> {
    const begun = this.#start(this.database.current)
    if (begun !== null) return begun
    // Of the global class, by which the engine knows it: while a Dexie transaction runs that is Dexie's own.
    return new Promise((resolve, reject) => void this.#reconnect().then(resolve, reject))
  }

  async #reconnect(): Promise<KeyedTransaction> {
    for (let attempt = 1; attempt <= CONNECT_ATTEMPTS; attempt++) {
      const begun = this.#start(await this.database.open())
      if (begun !== null) return begun
    }
    throw new AlkstoreError("Storage", `the database "${this.database.name}" closes as soon as it is opened`)
  }

  // `null` if the connection is closed, or closing.
  #start(connection: IDBDatabase | null): OwnTransaction | null {
    if (connection === null) return null
    let store: IDBObjectStore
    try {
      store = connection.transaction(STORE, "readwrite", this.#options).objectStore(STORE)
    } catch (cause) {
      this.database.drop(connection)
      if (nameOf(cause) === "InvalidStateError") return null
      throw storageError("a transaction could not begin", cause)
    }
    const transaction = new OwnTransaction(store, (isLost) => {
      if (isLost) this.database.drop(connection)
      this.#ended(transaction)
    })
    this.#live.add(transaction)
    return transaction
  }

  join(given: unknown): JoinedTransaction {
    const store = storeOf(given, this.database.name)
    const gathered = this.#topics.get(store.transaction) ?? new Set()
    this.#topics.set(store.transaction, gathered)
    const transaction = new CallersTransaction(store, gathered, (topics) => {
      if (topics.length > 0) {
        topics.forEach(this.onWake)
        this.wake(topics)
      }
      this.#ended(transaction)
    })
    this.#live.add(transaction)
    return transaction
  }

  wake(topics: string[]): void {
    // In this turn still, and behind the commit that is asked for in it: sending takes as long as a request.
    void Promise.resolve().then(() => {
      this.#channel.tell(topics)
      this.#closeUnused()
    })
  }

  listen(): void {
    // A store that is closed waits for nothing.
    if (this.#used) this.#channel.listen()
  }

  // What the platform added to the language may be copied and not be stored. The database alone knows, and says so at
  // once: a transaction that is aborted in the same turn never begins.
  check(payload: unknown): void {
    const connection = this.database.current
    if (connection === null || isOfTheLanguage(payload)) return
    let store: IDBObjectStore
    try {
      store = connection.transaction(STORE, "readwrite").objectStore(STORE)
    } catch {
      return
    }
    const { transaction } = store
    transaction.onerror = transaction.onabort = (event) => event.stopPropagation()
    const put = (part: unknown): unknown => store.put({ p: part }, payloadKey(0))
    try {
      put(payload)
    } catch (cause) {
      throw notCopied("stored by IndexedDB", payload, put, cause)
    } finally {
      transaction.abort()
    }
  }

  async durability(): Promise<Durability> {
    const persisted = await globalThis.navigator?.storage?.persisted?.().catch(() => false)
    return persisted === true ? "persistent" : "best-effort"
  }

  async persist(): Promise<Durability> {
    await globalThis.navigator?.storage?.persist?.().catch(() => false)
    return this.durability()
  }

  close(): void {
    this.#used = false
    this.#closeUnused()
  }

  abandon(): void {
    for (const transaction of this.#live) transaction.abandon()
  }

  #ended(transaction: RowTransaction): void {
    this.#live.delete(transaction)
    this.#closeUnused()
  }

  // What was begun before the last store closed still ends well, and wakes whom it should.
  #closeUnused(): void {
    if (this.#used || this.#live.size > 0) return
    this.database.drop(this.database.current)
    this.#channel.close()
  }
}

/** One that was lost unnoticed is opened again; so is one that another context closes at this very moment. */
const CONNECT_ATTEMPTS = 2
