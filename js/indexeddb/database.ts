// The connection: to a database of our own, which is opened and opened again, or the app's, which is the app's.

import { AlkstoreError } from "../errors.js"
import { Deadline, DEADLINE_TEXT } from "./deadline.js"
import { nameOf, storageError } from "./errors.js"
import { faultOf, upgrade } from "./layout.js"

export interface Database {
  readonly name: string
  /** The open connection, as far as anybody knows. */
  readonly current: IDBDatabase | null
  /** Opens one, or says what is wrong. */
  open(): Promise<IDBDatabase>
  /** Lets go of a connection, which may be broken. */
  drop(connection: IDBDatabase | null): void
}

/** A newer release may have made the database, or an app that has our rows beside its own: any version will do. */
const VERSION = 1

export class OwnDatabase implements Database {
  readonly name: string
  current: IDBDatabase | null = null
  #opening: Promise<IDBDatabase> | null = null

  constructor(name: string) {
    this.name = name
  }

  open(): Promise<IDBDatabase> {
    this.#opening ??= this.#open().finally(() => {
      this.#opening = null
    })
    return this.#opening
  }

  drop(connection: IDBDatabase | null): void {
    if (connection === null) return
    if (this.current === connection) this.current = null
    // What is under way goes on to its end.
    connection.close()
  }

  async #open(): Promise<IDBDatabase> {
    if (this.current !== null) return this.current
    const connection = await this.#connect()
    let fault: string | null
    try {
      fault = faultOf(connection)
    } catch (cause) {
      connection.close()
      throw storageError(`the database "${this.name}" was closed while it opened`, cause)
    }
    if (fault !== null) {
      connection.close()
      const text = `the database "${this.name}" ${fault}: it is another program's, or a newer release's`
      throw new AlkstoreError("Storage", text)
    }
    // Another context wants to upgrade or delete it: it must not wait for us.
    connection.onversionchange = () => this.drop(connection)
    connection.onclose = () => this.drop(connection)
    this.current = connection
    return connection
  }

  async #connect(): Promise<IDBDatabase> {
    try {
      return await this.#request(VERSION).catch((error: unknown) => {
        if (nameOf(error) === "VersionError") return this.#request()
        throw error
      })
    } catch (cause) {
      throw storageError(`the database "${this.name}" could not be opened`, cause)
    }
  }

  #request(version?: number): Promise<IDBDatabase> {
    return new Promise((resolve, reject) => {
      if (globalThis.indexedDB === undefined) throw new AlkstoreError("Storage", "there is no IndexedDB here")
      const request = indexedDB.open(this.name, version)
      let given = false
      let blocked = ""
      const deadline = new Deadline(() => {
        given = true
        const text = `opening the database "${this.name}" took more than ${DEADLINE_TEXT}${blocked}`
        reject(new AlkstoreError("Storage", text))
      })
      request.onblocked = () => {
        blocked = ": another connection to it does not close"
      }
      request.onupgradeneeded = () => upgrade(request.result, request.transaction as IDBTransaction)
      request.onsuccess = () => {
        deadline.cancel()
        if (given) request.result.close()
        else resolve(request.result)
      }
      request.onerror = (event) => {
        event.preventDefault()
        deadline.cancel()
        reject(request.error)
      }
    })
  }
}

/** The app's own connection. Nobody but the app opens or closes it. */
export class GuestDatabase implements Database {
  readonly name: string
  readonly current: IDBDatabase

  constructor(connection: IDBDatabase) {
    this.name = connection.name
    this.current = connection
  }

  async open(): Promise<IDBDatabase> {
    let fault: string | null
    try {
      fault = faultOf(this.current)
    } catch (cause) {
      const text = `the connection to "${this.name}" is closed, or still upgrading: make the storage anew, of an open one`
      throw storageError(text, cause)
    }
    if (fault === null) return this.current
    const way = "call upgrade(db, transaction) where the app upgrades it, and delete before what is of another form"
    const text = `the database "${this.name}" ${fault}: ${way}`
    throw new AlkstoreError("InvalidArgument", text)
  }

  drop(): void {
    // Not ours.
  }
}
