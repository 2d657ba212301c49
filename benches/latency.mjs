// How long a job takes from one tab of Chromium to its delivery in another, which waits in the loop of a worker.
//
//   node benches/latency.mjs [--check] [--rounds N]
//
// By turns with it, between the same two tabs: a message over a BroadcastChannel and back; and the least that a durable
// hand-over can be, on raw IndexedDB: a put in one transaction, a read and a put in the other tab's, which waits in line
// behind it, both strict.
//
// A tab's clock is not another's. That of the second tab is read on the first one's by the quickest of all raw round
// trips: their difference is constant, and known to half of that trip. With --check the exit code is 1 if a median
// from the call of enqueue to the delivery is over HAND_OVERS_MAX raw hand-overs.

import { parseArgs } from "node:util"
import { byTurns, limits, median, spread, table } from "./lib/figures.mjs"
import { inChromium } from "./lib/pages.mjs"

/** From the call of enqueue to the delivery, in raw hand-overs. */
const HAND_OVERS_MAX = 2

const { values: flags } = parseArgs({
  options: { check: { type: "boolean" }, rounds: { type: "string", default: "101" } }
})

const PAGE = `
import { open } from "alkstore-wasm"
import { indexedDb } from "alkstore-wasm/indexeddb"
import { sender, worker } from "./pages/latency.mjs"

const start = async () => (await open({ storage: indexedDb("latency") })).outbox("orders")
Object.assign(globalThis, { sender: async () => sender(await start()), worker: async () => worker(await start()) })
`

await inChromium({ latency: { code: PAGE } }, measure)

async function measure({ browser, url }) {
  const tabs = [await browser.open(url("latency")), await browser.open(url("latency"))]
  for (const tab of tabs) await tab.evaluate(() => import("/latency.js").then(() => null))
  await tabs[1].evaluate(() => worker())
  await tabs[0].evaluate(async () => void (globalThis.sides = await sender()))
  const side = (name) => () => tabs[0].evaluate((name) => sides[name](), name)
  const sides = { job: side("job"), handOver: side("handOver"), message: side("message") }
  const figures = await byTurns(sides, Number(flags.rounds), { warmUps: 10 })
  report(figures)
}

function report({ job, handOver, message }) {
  const trips = message.map(({ sent, answered }) => answered - sent)
  const quickest = message[trips.indexOf(Math.min(...trips))]
  const ahead = quickest.echoed - (quickest.sent + quickest.answered) / 2
  const trip = median(trips)
  const parts = (rounds) => ({
    commit: rounds.map(({ called, committed }) => committed - called),
    hop: rounds.map(({ committed, heard }) => heard - ahead - committed),
    look: rounds.map(({ heard, looked }) => looked - heard),
    claim: rounds.map(({ looked, delivered }) => delivered - looked),
    after: rounds.map(({ committed, delivered }) => delivered - ahead - committed),
    all: rounds.map(({ called, delivered }) => delivered - ahead - called)
  })
  const [ours, raw] = [parts(job), parts(handOver)]
  const inTrips = (...both) => both.filter(Boolean).map((values) => (median(values) / trip).toFixed(1)).join(", ")
  const row = (title, values, beside) => [title, spread(values, 2), beside ? spread(beside, 2) : "", inTrips(values, beside)]
  console.log(`${flags.rounds} rounds, milliseconds, medians (quartiles)\n`)
  table([
    ["", "a job of ours", "raw hand-over", "both in messages there and back"],
    row("call of enqueue → its commit", ours.commit, raw.commit),
    row("commit → the other tab hears of it", ours.hop, raw.hop),
    row("heard → wait has ended", ours.look),
    row("ended → claimed, delivery called", ours.claim, raw.claim),
    row("commit → delivery", ours.after, raw.after),
    row("call of enqueue → delivery", ours.all, raw.all)
  ])
  console.log(`\na message there and back: ${spread(trips, 2)}; the tabs' clocks compare to ± ${(Math.min(...trips) / 2).toFixed(2)} ms\n`)
  const held = limits(flags.check)
  held.atMost("enqueue → delivery, in raw hand-overs", median(ours.all) / median(raw.all), HAND_OVERS_MAX)
  held.end()
}
