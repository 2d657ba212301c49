// Every transaction and opening of a database in this context: whether one is under way, and when that may have changed.

import type { Elsewhere } from "./clock.js"

const underWay = new Set<object>()
let changed: (() => void)[] = []

export const databaseWork: Elsewhere = {
  isBusy: () => underWay.size > 0,
  done: () => (underWay.size === 0 ? Promise.resolve() : new Promise((resolve) => void changed.push(resolve)))
}

/** How many transactions and openings are under way. */
export function transactionsUnderWay(): number {
  return underWay.size
}

const { transaction } = IDBDatabase.prototype
IDBDatabase.prototype.transaction = function (...given) {
  return watch(transaction.apply(this, given), ["complete", "abort"])
}

for (const name of ["open", "deleteDatabase"] as const) {
  const original = IDBFactory.prototype[name]
  IDBFactory.prototype[name] = function (this: IDBFactory, ...given: [string, number?]) {
    return watch(original.apply(this, given as [string]), ["success", "error"])
  }
}

function watch<T extends EventTarget>(work: T, ends: string[]): T {
  underWay.add(work)
  const end = (): void => {
    underWay.delete(work)
    if (underWay.size > 0) return
    const told = changed
    changed = []
    for (const tell of told) tell()
  }
  for (const type of ends) work.addEventListener(type, end, { once: true })
  return work
}
