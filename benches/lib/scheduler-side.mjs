// One scheduler in a process of its own: `node --expose-gc scheduler-side.mjs SIDE DAILY OFTEN PERIOD TIMES`. Registers so
// many schedules that fire once a day and so many that fire once in each period of so many seconds, lets that pass so many
// times, and prints as JSON what registering took, what memory it has, and what each period cost: CPU time, timers that
// ended, calls of schedules.

import { setTimeout as wait } from "node:timers/promises"

const [side, ...numbers] = process.argv.slice(2)
const [daily, often, period, times] = numbers.map(Number)
/** What follows the registration: garbage, the first turns. */
const SETTLE_MS = 1_500

// Timers of everybody but this file, which has Node's own.
let ended = 0
const { setTimeout: real } = globalThis
globalThis.setTimeout = Object.assign((callback, ms, ...args) => {
  return real((...given) => {
    ended++
    callback(...given)
  }, ms, ...args)
}, real)

let fired = 0
const fire = () => void fired++

const SIDES = {
  /** What measuring costs. */
  none: async () => async () => {},

  async "alkstore-wasm"() {
    const { open } = await import("alkstore-wasm")
    const store = await open()
    return async (counts) => {
      for (const [spec, count] of [["@every 1d", counts.daily], [`@every ${period}s`, counts.often]]) {
        for (let n = 0; n < count; n++) await store.schedule(`${spec} ${n}`, spec, "jobs", { n })
      }
      void store.runSchedules()
      return async () => {
        const { pending } = await store.queue("jobs").stats()
        return pending
      }
    }
  },

  async croner() {
    const { Cron } = await import("croner")
    return ofPatterns((pattern) => new Cron(pattern, fire))
  },

  async "node-cron"() {
    const { default: cron } = await import("node-cron")
    return ofPatterns((pattern) => cron.schedule(pattern, fire, { suppressMissedWarning: true }))
  }
}

// Once a day is half a day away: none may come due meanwhile.
function ofPatterns(schedule) {
  const hour = (new Date().getHours() + 12) % 24
  return async (counts) => {
    for (let n = 0; n < counts.daily; n++) schedule(`0 0 ${hour} * * *`)
    for (let n = 0; n < counts.often; n++) schedule(`*/${period} * * * * *`)
    return async () => fired
  }
}

/** Milliseconds of CPU time since `before`. */
const spent = (before) => {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

const memory = () => {
  globalThis.gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const register = await SIDES[side]()
const empty = memory()
const began = process.cpuUsage()
const firedSoFar = (await register({ daily, often })) ?? (async () => 0)
const registered = spent(began)
const held = memory() - empty
await wait(SETTLE_MS)

const each = []
const before = { fired: await firedSoFar(), ended }
for (let time = 0; time < times; time++) {
  const cpu = process.cpuUsage()
  await wait(period * 1_000)
  each.push(spent(cpu))
}
const result = { registered, held, each, fired: (await firedSoFar()) - before.fired, timers: ended - before.ended }
console.log(JSON.stringify(result))
process.exit()
