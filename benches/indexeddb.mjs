// The durable path in a browser: the package on IndexedDB, beside raw IndexedDB doing the least possible and beside
// what people use, in one page, by turns.
//
//   node benches/indexeddb.mjs [--check] [--rounds N] [--jobs N] [--browser chromium|firefox] [--no-peers]
//
// Every transaction of the package's and of the raw side's is strict; what the peers do is said beside their figures.
// A line is measured in slices, one of each side after another, and ratios are those of slices that ran side by side.
// With --check the exit code is 1 if a median ratio misses its limit.

import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { build } from "esbuild"
import { engines } from "../wasm-tests/engines/harness/engines.mjs"
import { serve } from "../wasm-tests/engines/harness/server.mjs"
import { byTurns, limits, median, ratios, spread, table } from "./lib/figures.mjs"

const { values: flags } = parseArgs({
  options: {
    check: { type: "boolean" },
    rounds: { type: "string", default: "15" },
    jobs: { type: "string", default: "100000" },
    browser: { type: "string", default: "chromium" },
    peers: { type: "boolean", default: true }
  },
  allowNegative: true
})
const jobs = Number(flags.jobs)

/** What is done, how often in a slice, with how many jobs at a time, and by whom beside us: what is enqueued is taken away. */
const QUEUES = ["raw", "bare", "workbox", "dexie", "dexie, strict"]
const LINES = {
  enqueue: { title: "enqueue, one by one", work: "enqueue", times: 40, n: 1, beside: QUEUES, limit: 1.4 },
  together: { title: "100 enqueues at once", work: "enqueueAll", times: 2, n: 100, beside: QUEUES, limit: 1.3 },
  cycle: { title: "claim + ack, one by one", work: "claimAck", times: 48, n: 1, beside: QUEUES, limit: 1.4 },
  batch: { title: "claim + ackBatch of 32", work: "claimAck", times: 3, n: 32, beside: QUEUES, limit: 1.4 },
  each: { title: "claim of 32 + 32 acks at once", work: "claimAckEach", times: 3, n: 32, beside: ["raw", "bare"], limit: 1.4 },
  delivery: { title: "enqueue + delivery, one by one", work: "deliver", times: 20, n: 1, beside: ["tanstack"] }
}
const FULL_MAX = 1.2
const WORKBOX_MIN = 3

const engine = engines().find(({ name }) => name === flags.browser)
if (engine === undefined) throw new Error(`${flags.browser} is not installed`)
const server = await serve({ routes: await routes() })
const browser = await engine.launch({ durable: true, onDisk: true, whole: true })
try {
  await compare(await browser.open(`${server.origin}/bench.html`))
} finally {
  // Its profile goes with it.
  await browser.kill()
  await server.close()
}

async function routes() {
  const entry = fileURLToPath(new URL("lib/indexeddb/page.mjs", import.meta.url))
  const define = { "process.env.NODE_ENV": '"production"' }
  const options = { entryPoints: [entry], bundle: true, write: false, format: "esm", target: "es2022", define }
  const { outputFiles } = await build({ ...options, logLevel: "error" })
  const html = '<!doctype html><script type="module">globalThis.loading = import("/bench.js").then(() => null)</script>'
  return {
    "/bench.js": () => [200, "text/javascript; charset=utf-8", outputFiles[0].text],
    "/bench.html": () => [200, "text/html; charset=utf-8", html]
  }
}

async function compare(tab) {
  await tab.evaluate("loading")
  const began = performance.now()
  await tab.evaluate((...given) => openAll(...given), jobs, flags.peers)
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  console.log(`${flags.browser}, strict durability; ${jobs} jobs stored in ${seconds} s; ${flags.rounds} rounds`)
  const figures = await measureAll(tab)
  console.log("\nmilliseconds, medians; ours / raw: median (quartiles)\n")
  const held = limits(flags.check)
  const depths = jobs > 0 ? ["empty", "full"] : ["empty"]
  const rows = [["", "stored", "ours", "raw", "ours / raw", "ours / no index"]]
  for (const depth of depths) {
    for (const line of Object.values(LINES).filter(({ beside }) => beside.includes("raw"))) {
      const [ours, raw] = [figures[line.title][`${depth} ours`], figures[line.title][`${depth} raw`]]
      const bare = figures[line.title][`${depth} bare`]
      const cells = [ms(ours), ms(raw), spread(ratios(ours, raw), 2), bare ? spread(ratios(ours, bare), 2) : ""]
      rows.push([line.title, depth === "full" ? jobs : 0, ...cells])
    }
  }
  table(rows)
  if (flags.peers) besidePeers(figures)
  console.log()
  for (const depth of depths) checkLimits(depth, figures, held)
  // One by one, what Workbox leaves to the operating system costs less than a disk: raw strict writes are not 3 times as
  // fast either.
  for (const { title } of flags.peers ? [LINES.together, LINES.batch] : []) {
    const { "empty ours": ours, "empty workbox": workbox } = figures[title]
    held.atLeast(`${title}: Workbox / ours`, median(ratios(workbox, ours)), WORKBOX_MIN)
  }
  held.end()
}

function checkLimits(depth, figures, held) {
  const stored = depth === "full" ? jobs : 0
  for (const { title, limit } of Object.values(LINES).filter((line) => line.limit !== undefined)) {
    const { [`${depth} ours`]: ours, [`${depth} raw`]: raw, "empty ours": empty } = figures[title]
    held.atMost(`${title}, ${stored} stored: ours / raw`, median(ratios(ours, raw)), limit)
    if (depth === "full") held.atMost(`${title}: ${stored} stored / 0 stored`, median(ratios(ours, empty)), FULL_MAX)
  }
}

function besidePeers(figures) {
  console.log("\nbeside what others have built, nothing stored; milliseconds, medians; in brackets theirs / ours\n")
  const rows = [["", "ours", "Workbox", "Dexie", "Dexie, strict", "TanStack"]]
  for (const { title } of Object.values(LINES)) {
    const of = (peer) => figures[title][`empty ${peer}`]
    const cell = (peer) => of(peer) && `${ms(of(peer))} (${median(ratios(of(peer), of("ours"))).toFixed(2)})`
    const peers = ["workbox", "dexie", "dexie, strict", "tanstack"].map((peer) => cell(peer) ?? "")
    if (peers.some((text) => text !== "")) rows.push([title, ms(of("ours")), ...peers])
  }
  table(rows)
}

// Line after line, so that slices that are compared lie close together.
async function measureAll(tab) {
  const figures = {}
  for (const { title } of Object.values(LINES)) figures[title] = {}
  for (let round = -1; round < Number(flags.rounds); round++) {
    for (const { title, work, times, n, beside } of Object.values(LINES)) {
      const sides = sidesOf(beside).map(([depth, side]) => {
        return [`${depth} ${side}`, () => tab.evaluate((...given) => measure(...given), depth, side, work, times, n)]
      })
      const slices = await byTurns(Object.fromEntries(round % 2 ? sides.reverse() : sides), 1, { warmUps: 0 })
      for (const [side, [figure]] of Object.entries(slices)) if (round >= 0) (figures[title][side] ??= []).push(figure)
    }
  }
  return figures
}

function sidesOf(beside) {
  const present = ["ours", ...beside].filter((side) => flags.peers || ["ours", "raw", "bare"].includes(side))
  const full = jobs > 0 ? present.filter((side) => side === "raw" || beside.includes("raw") && side === "ours") : []
  return [...present.map((side) => ["empty", side]), ...full.map((side) => ["full", side])]
}

function ms(figures) {
  return median(figures).toFixed(3)
}
