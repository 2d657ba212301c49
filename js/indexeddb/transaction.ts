// A transaction under way: requests out, rows in. Our own and the caller's, which differ in how they end.

import { show } from "../arguments.js"
import { Crossing } from "../crossing.js"
import { AlkstoreError } from "../errors.js"
import { ID_COLUMN, type JoinedTransaction, type Key, type Read, type Row } from "../keyed.js"
import { Deadline, DEADLINE_TEXT } from "./deadline.js"
import { nameOf, storageError } from "./errors.js"
import { INDEX, payloadKey } from "./layout.js"
import { isInline } from "./placement.js"

/** Every so many writes their answer is listened to. */
const WRITES_HEARD = 64

const NOT_STORED = "the payload cannot be stored by IndexedDB"

export abstract class RowTransaction extends Crossing {
  protected readonly store: IDBObjectStore
  /** Set before the first request that writes is made. */
  protected hasWritten = false
  /** The last request that writes: requests succeed in the order in which they were made. */
  protected written: IDBRequest | null = null
  #writes = 0
  protected committing = false
  /** Whether the database has begun it, and not only queued it behind others. */
  protected isUnderWay = false
  protected failure: AlkstoreError | null = null
  /** Of the rows that were read or inserted here: payloads that lie in them. */
  readonly #inline = new Map<number, unknown>()
  readonly #waiting = new Set<(failure: AlkstoreError) => void>()

  constructor(store: IDBObjectStore) {
    super()
    this.store = store
  }

  /** The engine has ended. Half an operation must not commit by itself. */
  abandon(): void {
    if (this.committing) return
    this.fail(new AlkstoreError("Storage", "the engine stopped at a defect"))
    if (this.hasWritten) abortQuietly(this.store.transaction)
  }

  read(reads: Read[]): Promise<unknown[]> {
    return this.whenDone((done) => {
      const requests = reads.map((read) => this.#request(read))
      const last = requests[requests.length - 1]
      const answer = (): void => {
        this.answered()
        done(requests.map(({ result }, at) => this.#noticed(reads[at] as Read, result)))
      }
      if (last === undefined) answer()
      else last.onsuccess = answer
    })
  }

  insert(id: number, k: Key[], v: unknown[], payload: unknown): void {
    if (isInline(payload)) {
      this.#inline.set(id, payload)
      this.#add(id, { k, v, p: payload })
    } else {
      this.#put(payloadKey(id), { p: payload })
      this.#add(id, { k, v })
    }
  }

  update(id: number, k: Key[], v: unknown[]): void {
    this.#put(id, this.#inline.has(id) ? { k, v, p: this.#inline.get(id) } : { k, v })
  }

  remove(id: number): void {
    this.delete(id)
    if (!this.#inline.has(id)) this.delete(payloadKey(id))
  }

  put(key: Key, k: Key[], v: unknown[], payload: unknown): void {
    this.#put(key, { ...(k.length > 0 && { k }), v, ...(payload !== undefined && { p: payload }) })
  }

  delete(key: Key): void {
    this.#write(() => this.store.delete(key))
  }

  /** Fails the transaction if there is a row: a damaged header must not cost another job. */
  #add(key: Key, row: Partial<Row>): void {
    this.#write(() => this.store.add(row, key))
  }

  #put(key: Key, row: Partial<Row>): void {
    this.#write(() => this.store.put(row, key))
  }

  // Never throws: the engine must not be left by an exception.
  #write(request: () => IDBRequest): void {
    if (this.failure !== null) return
    this.hasWritten = true
    try {
      this.written = request()
      this.#writes += 1
      if (this.#writes % WRITES_HEARD === 0) this.written.onsuccess = () => this.answered()
    } catch (cause) {
      const isCodec = nameOf(cause) === "DataCloneError"
      const codec = (): AlkstoreError => new AlkstoreError("Codec", `${NOT_STORED}: ${show(cause)}`, { cause })
      this.fail(isCodec ? codec() : this.refusal("writing failed", cause))
      this.abort()
    }
  }

  #request(read: Read): IDBRequest {
    if (read[0] === "get") return this.store.get(read[1])
    const range = IDBKeyRange.bound(read[1], read[2])
    if (read[0] === "count") return this.store.index(INDEX).count(range)
    return (read[0] === "index" ? this.store.index(INDEX) : this.store).getAll(range, read[3] || undefined)
  }

  #noticed(read: Read, result: unknown): unknown {
    if (read[0] !== "count") for (const row of read[0] === "get" ? [result] : (result as unknown[])) this.#notice(row)
    return result
  }

  #notice(row: unknown): void {
    // A damaged one may be anything.
    if (typeof row !== "object" || row === null || !("p" in row)) return
    const id = (row as Partial<Row>).v?.[ID_COLUMN]
    if (typeof id === "number") this.#inline.set(id, (row as Row).p)
  }

  /** A promise that `start` settles, or rejects by throwing; or the transaction by failing first. */
  protected whenDone<T>(start: (done: (value: T) => void) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.failure !== null) return reject(this.failure)
      this.#waiting.add(reject)
      try {
        start((value) => {
          this.#waiting.delete(reject)
          resolve(value)
        })
      } catch (cause) {
        this.fail(this.refusal("reading failed", cause))
        this.abort()
      }
    })
  }

  protected answered(): void {
    this.isUnderWay = true
  }

  protected refusal(what: string, cause: unknown): AlkstoreError {
    return storageError(what, cause)
  }

  /** The first failure is the one that counts. */
  protected fail(failure: AlkstoreError): void {
    this.failure ??= failure
    for (const reject of this.#waiting) reject(this.failure)
    this.#waiting.clear()
  }
}

/**
 * A transaction of our own: durable when it completes, and aborted if the database answers nothing for too long. `ended` is
 * told whether the connection may no longer be trusted.
 */
export class OwnTransaction extends RowTransaction {
  #completed: (() => void) | null = null
  #isComplete = false
  readonly #ended: (isLost: boolean) => void
  readonly #deadline = new Deadline(() => this.#expire())

  constructor(store: IDBObjectStore, ended: (isLost: boolean) => void) {
    super(store)
    this.#ended = ended
    const { transaction } = store
    transaction.oncomplete = () => {
      this.#isComplete = true
      this.#end(false)
      this.#completed?.()
    }
    // Its failures are told by promises: they are none of the handlers' that an app has on its own database.
    transaction.onerror = (event) => {
      event.stopPropagation()
      event.preventDefault()
      // Each request of one that is aborted fails once more.
      if (this.failure !== null) return
      this.fail(storageError("the transaction failed", transaction.error ?? (event.target as IDBRequest).error))
      this.abort()
    }
    transaction.onabort = (event) => {
      event.stopPropagation()
      this.fail(storageError("the transaction was aborted", transaction.error))
      this.#end(nameOf(this.failure?.cause) === "UnknownError")
    }
  }

  commit(): Promise<void> {
    return this.whenDone((done) => {
      this.committing = true
      // What was read alone has nothing to wait for.
      if (this.#isComplete || !this.hasWritten) done()
      else this.#completed = done
      // Sooner than by itself. One that still waits for others could not be aborted any more.
      if (this.isUnderWay) commitQuietly(this.store.transaction)
    })
  }

  abort(): void {
    this.fail(new AlkstoreError("Storage", "the transaction was aborted"))
    abortQuietly(this.store.transaction)
  }

  protected override answered(): void {
    super.answered()
    this.#deadline.renew()
  }

  #end(isLost: boolean): void {
    this.#deadline.cancel()
    this.#ended(isLost)
  }

  #expire(): void {
    const isAborted = abortQuietly(this.store.transaction)
    const unknown = isAborted ? "" : ": it was being committed, and whether it was is not known"
    this.fail(new AlkstoreError("Storage", `the database did not answer for ${DEADLINE_TEXT}${unknown}`))
    this.#end(true)
  }
}

/** For the transactions of callers: who is at work in each. Ids are drawn by one after another. */
const turns = new WeakMap<IDBTransaction, Promise<void>>()

/**
 * Inside the caller's own transaction, which is the caller's to commit or abort. `topics` are those of all that this adapter
 * does there; `ended` is told whom to wake: the first is told all of them, and nobody any if it was aborted.
 */
export class CallersTransaction extends RowTransaction implements JoinedTransaction {
  #leave: (() => void) | null = null
  readonly #topics: Set<string>

  constructor(store: IDBObjectStore, topics: Set<string>, ended: (topics: string[]) => void) {
    super(store)
    this.#topics = topics
    const { transaction } = store
    const end = (how: string, told: string[]): void => {
      topics.clear()
      this.fail(storageError(`the caller's transaction ${how}`, transaction.error))
      this.#leave?.()
      ended(told)
    }
    // An app may keep its transaction from ending at an error. It cannot keep half an operation.
    transaction.addEventListener("error", ({ target }) => {
      if ((target as IDBRequest).source === store) abortQuietly(transaction)
    })
    transaction.addEventListener("abort", () => end("was aborted", []))
    transaction.addEventListener("complete", () => end("has ended", [...topics]))
  }

  wakeAfter(topics: string[]): void {
    for (const topic of topics) this.#topics.add(topic)
  }

  override async read(reads: Read[]): Promise<unknown[]> {
    const before = this.#leave === null ? this.#takeTurn() : undefined
    if (before !== undefined) await before
    return super.read(reads)
  }

  /** Resolves in the last request's turn, so that the caller may go on with its transaction. */
  commit(): Promise<void> {
    const promise = this.whenDone<void>((done) => {
      this.committing = true
      if (this.written === null || this.written.readyState === "done") return done()
      this.written.onsuccess = () => done()
    })
    this.#leave?.()
    return promise
  }

  abort(): void {
    this.#leave?.()
  }

  protected override refusal(what: string, cause: unknown): AlkstoreError {
    if (nameOf(cause) !== "TransactionInactiveError") return super.refusal(what, cause)
    const text = this.isUnderWay
      ? "transaction was committed before the enqueue had written: await enqueue first"
      : "transaction is not active: enqueue in the turn that began it, or in one of its requests' own"
    return new AlkstoreError("InvalidArgument", text, { cause })
  }

  // What another began here before, and has not written yet.
  #takeTurn(): Promise<void> | undefined {
    const { transaction } = this.store
    const before = turns.get(transaction)
    const mine = new Promise<void>((resolve) => {
      this.#leave = resolve
    })
    turns.set(transaction, mine)
    return before
  }
}

function commitQuietly(transaction: IDBTransaction): void {
  try {
    transaction.commit?.()
  } catch {
    // It has ended, and its events say how.
  }
}

/** Whether it could still be aborted. */
function abortQuietly(transaction: IDBTransaction): boolean {
  try {
    transaction.abort()
    return true
  } catch {
    return false
  }
}
