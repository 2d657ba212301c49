// The seam between the engine and a storage of rows under keys. Which rows are read, which index entries a row has and
// what it holds is the engine's to decide (src/runtime/keyed); an adapter moves rows. What it is asked for and given
// crosses as js/crossing.ts says.
//
// One store of rows with keys given from outside, and one index with any number of entries for each row. A job lies at
// its id, everything else at an array: ["m"], ["l", name], ["s", name], and ["p", id] for a payload kept apart.

import type { Durability } from "./types.js"

/** The key of a row, or of an index entry. */
export type Key = number | string | Key[]

/** One request: a row, the rows of a range of index entries, of keys, or how many entries; a limit of 0 is none. */
export type Read =
  | ["get", Key]
  | ["index", from: Key, to: Key, limit: number]
  | ["rows", from: Key, to: Key, limit: number]
  | ["count", from: Key, to: Key]

/** What lies at a key. */
export interface Row {
  /** Its index entries. */
  k?: Key[]
  /** Its columns, made by the engine. */
  v: unknown[]
  /** A payload that is kept in the row. */
  p?: unknown
}

/** The column of a job's row that holds its id; in other rows it is no number. */
export const ID_COLUMN = 1

/** A transaction under way, called by the engine. Writing never throws: what fails makes `commit` reject. */
export interface KeyedTransaction {
  /** Issues all of them at once and resolves in the last one's turn: a row or `undefined`, rows, or a number each. */
  read(reads: Read[]): Promise<unknown[]>
  /** A new job. A payload that is small and plain goes into the row, any other into a record of its own. */
  insert(id: number, k: Key[], v: unknown[], payload: unknown): void
  /** A job that this transaction has read or inserted. Its payload stays where it is. */
  update(id: number, k: Key[], v: unknown[]): void
  /** A job, with its payload. */
  remove(id: number): void
  /** Anything else: no entries are `[]`, no payload is `undefined`. */
  put(key: Key, k: Key[], v: unknown[], payload: unknown): void
  delete(key: Key): void
  /** Resolves once it is durable; in the caller's own transaction once all has been written. */
  commit(): Promise<void>
  abort(): void
}

/** The same in a transaction that is the caller's own. */
export interface JoinedTransaction extends KeyedTransaction {
  /** Tells everybody, here and elsewhere, once it has completed. */
  wakeAfter(topics: string[]): void
}

/** What the engine calls of a storage. */
export interface KeyedAdapter {
  /** Begins a transaction: a promise only if it must connect first. */
  begin(): KeyedTransaction | Promise<KeyedTransaction>
  /** Tells the other contexts: called just before a commit is asked for, and done beside it. */
  wake(topics: string[]): void
}

/** What the JavaScript side calls of it. */
export interface KeyedDriver extends KeyedAdapter {
  readonly kind: string
  /** Called with what another context has told. */
  onWake: (topic: string) => void
  /** Opens the storage for the stores to come. */
  connect(): Promise<void>
  /** No store is left: lets go of the storage once what is under way has ended. */
  close(): void
  /** The engine has ended: no transaction that it was working on may commit by itself. */
  abandon(): void
  /** Somebody is going to wait for wakes. */
  listen(): void
  /** Throws `Codec` for what can be copied but not stored. */
  check(payload: unknown): void
  /** The caller's own transaction, checked. */
  join(transaction: unknown): JoinedTransaction
  durability(): Promise<Durability>
  /** Asks for persistence. */
  persist(): Promise<Durability>
}
