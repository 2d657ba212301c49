// Globals that are watched: loaded before the package, which must find them so. What is running can be asked for.

const { setTimeout: start, clearTimeout: clear } = globalThis

/** Timers that are running: what they were to take, by their ids. */
const timers = new Map<number, number>()
let transactions = 0

globalThis.setTimeout = ((call: () => void, ms = 0) => {
  const id = start(() => {
    timers.delete(id)
    call()
  }, ms) as unknown as number
  timers.set(id, ms)
  return id
}) as typeof setTimeout
globalThis.clearTimeout = ((id: number) => {
  timers.delete(id)
  clear(id)
}) as typeof clearTimeout
globalThis.setInterval = (() => {
  throw new Error("whoever needs an interval polls")
}) as unknown as typeof setInterval

const { transaction } = IDBDatabase.prototype
IDBDatabase.prototype.transaction = function (...given) {
  transactions += 1
  return transaction.apply(this, given)
}

Object.assign(globalThis, { watched: () => ({ timers: [...timers.values()], transactions }) })
