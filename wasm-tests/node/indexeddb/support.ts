import "fake-indexeddb/auto"
import { expect, onTestFinished } from "vitest"
import { AlkstoreError } from "../../../js/errors.js"
import { OwnDatabase } from "../../../js/indexeddb/database.js"
import { IndexedDbDriver } from "../../../js/indexeddb/driver.js"
import type { Key, KeyedTransaction } from "../../../js/keyed.js"
import { freshName } from "../../shared/databases.js"

/** An adapter over a database of its own, connected; closed when the test ends. */
export async function start(name = freshName()): Promise<{ name: string; driver: IndexedDbDriver }> {
  const driver = new IndexedDbDriver(new OwnDatabase(name), "strict")
  await driver.connect()
  onTestFinished(() => driver.close())
  return { name, driver }
}

/** A transaction's writes, committed. */
export async function write(driver: IndexedDbDriver, work: (tx: KeyedTransaction) => void): Promise<void> {
  const tx = await driver.begin()
  work(tx)
  await tx.commit()
}

/** A job's row as the engine might write it. */
export function insert(tx: KeyedTransaction, id: number, payload: unknown, k: Key[] = [["q", "o", id]]): void {
  tx.insert(id, k, [1, id, "pending"], payload)
}

export async function rejection(promise: Promise<unknown>): Promise<AlkstoreError> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason
  )
  expect(error).toBeInstanceOf(AlkstoreError)
  return error as AlkstoreError
}
