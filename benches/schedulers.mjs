// Ten thousand schedules in Node: runSchedules beside croner and node-cron.
//
//   node benches/schedulers.mjs [--check] [--schedules N] [--seconds N]
//
// Each runs in a process of its own, in real time, because each has timers of its own. What is shown is CPU time, which
// leaves out whatever else the machine does; what measuring costs is shown as "none". Ours writes a job for each call into a queue, under a lease that it renews
// every 2 s; the others call a function and keep nothing. Beside that, a turn of our runner under a clock that the bench
// moves: with none due (a renewal), one, and all. With --check the exit code is 1 if a limit is missed.

import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { parseArgs, promisify } from "node:util"
import { open } from "alkstore-wasm"
import { limits, median, spread, table } from "./lib/figures.mjs"

/** Renewals in a minute; the one on its border counts as well. */
const IDLE_TIMERS_MAX = (seconds) => seconds / 2 + 1
const ONE_DUE_US_MAX = 150
const DAY = 86_400_000
const RENEWAL = 2_000
const TURNS = 300
const ALL_DUE_TURNS = 9
const ONE_DUE_TIMES = 20
/** In seconds: once a second, ten thousand are more than one of the peers can do. */
const ALL_DUE_PERIOD = 10
const ALL_DUE_TIMES = 2

const { values: flags } = parseArgs({
  options: {
    check: { type: "boolean" },
    schedules: { type: "string", default: "10000" },
    seconds: { type: "string", default: "60" }
  }
})
const schedules = Number(flags.schedules)
const seconds = Number(flags.seconds)
const SIDES = ["none", "alkstore-wasm", "croner", "node-cron"]

await measure()

async function measure() {
  const turns = await ours()
  console.log(`${schedules} schedules, Node ${process.versions.node}\n`)
  table([
    ["a turn of ours: CPU time, µs, medians (quartiles)", ""],
    ...Object.entries(turns).map(([due, took]) => [due, spread(took)])
  ])
  // Asleep most of the time, they do not disturb each other.
  const [idle, one] = await Promise.all([
    each((name) => side(name, schedules, 0, 1, seconds)),
    each((name) => side(name, schedules - 1, 1, 1, ONE_DUE_TIMES))
  ])
  const all = await each((name) => side(name, 0, schedules, ALL_DUE_PERIOD, ALL_DUE_TIMES))
  console.log()
  table([
    ["", "registering: CPU, ms", "memory, MB", `idle ${seconds} s: CPU, ms`, "timers", "one due: CPU, ms", "all due: CPU, ms"],
    ...SIDES.map((name) => [
      name,
      ...(name === "none" ? ["", ""] : [idle[name].registered.toFixed(0), (idle[name].held / 1e6).toFixed(1)]),
      sum(idle[name].each).toFixed(0),
      idle[name].timers,
      spread(one[name].each, 2),
      median(all[name].each).toFixed(0)
    ])
  ])
  console.log()
  for (const name of SIDES.slice(1)) {
    // The first or the last may lie on the border.
    if (Math.abs(one[name].fired - ONE_DUE_TIMES) > 1) throw new Error(`${name} fired ${one[name].fired} times`)
    if (idle[name].fired > 0) throw new Error(`${name} fired while it should be idle`)
  }
  const held = limits(flags.check)
  held.atMost("timers of ours that end while idle", idle["alkstore-wasm"].timers, IDLE_TIMERS_MAX(seconds))
  held.atMost("a turn of ours with one due, µs", median(turns["one due"]), ONE_DUE_US_MAX)
  held.end()
}

// With a clock of its own a turn begins when the sleep ends, and is over with the next one.
async function ours() {
  const turn = async (due, everyTurn, turns) => {
    const clock = stepClock()
    const store = await open({ clock })
    for (let n = 0; n < schedules; n++) await store.schedule(`s${n}`, n < everyTurn ? "@every 2s" : "@every 365d", "jobs", n)
    const stop = new AbortController()
    const running = store.runSchedules(stop.signal)
    const took = []
    for (let n = -1; n < turns; n++) {
      const us = await clock.step(RENEWAL)
      if (n >= 0) took.push(us)
      await drain(store.queue("jobs", { visibilityTimeout: DAY }))
    }
    stop.abort()
    await running
    await store.close()
    return took
  }
  return {
    "none due": await turn("none", 0, TURNS),
    "one due": await turn("one", 1, TURNS),
    "all due": await turn("all", schedules, ALL_DUE_TURNS)
  }
}

async function drain(queue) {
  for (;;) {
    const jobs = await queue.claimBatch("bench", 1_000)
    if (jobs.length === 0) return
    await queue.ackBatch(jobs.map(({ id }) => id))
  }
}

function stepClock() {
  let now = 1_700_000_000_000
  let wake = () => {}
  let fellAsleep = () => {}
  let asleep = new Promise((resolve) => (fellAsleep = resolve))
  return {
    now: () => now,
    sleep: (_, signal) => new Promise((resolve) => {
      wake = resolve
      signal.addEventListener("abort", resolve)
      fellAsleep()
    }),
    async step(ms) {
      await asleep
      asleep = new Promise((resolve) => (fellAsleep = resolve))
      now += ms
      const began = process.cpuUsage()
      wake()
      await asleep
      const { user, system } = process.cpuUsage(began)
      return user + system
    }
  }
}

async function side(name, ...numbers) {
  const file = fileURLToPath(new URL("lib/scheduler-side.mjs", import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", file, name, ...numbers.map(String)])
  return JSON.parse(stdout)
}

async function each(work) {
  return Object.fromEntries(await Promise.all(SIDES.map(async (name) => [name, await work(name)])))
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0)
}
