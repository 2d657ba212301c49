// What `open` and the first `enqueue` cost in a fresh tab of Chromium, with many jobs stored and with none.
//
//   node benches/indexeddb-open.mjs [--check] [--runs N] [--jobs N]
//
// Tabs on the empty database and on the full one are opened by turns. The engine is compiled before the clock starts:
// it costs the same in both, and would hide what the database costs. With --check the exit code is 1 if the medians'
// ratio is over RATIO_MAX.

import { parseArgs } from "node:util"
import { engines } from "../wasm-tests/engines/harness/engines.mjs"
import { serve } from "../wasm-tests/engines/harness/server.mjs"
import { byTurns, median, spread } from "./lib/figures.mjs"

const RATIO_MAX = 1.5
const WARM_UPS = 3
const BATCH = 2_000

const { values: flags } = parseArgs({
  options: {
    check: { type: "boolean" },
    runs: { type: "string", default: "41" },
    jobs: { type: "string", default: "100000" }
  }
})
const runs = Number(flags.runs)
const jobs = Number(flags.jobs)

const chromium = engines().find(({ name }) => name === "chromium")
if (chromium === undefined) throw new Error("Chromium is not installed")
const server = await serve()
const browser = await chromium.launch({ durable: true, onDisk: true, whole: true })
try {
  process.exitCode = (await compare()) || !flags.check ? 0 : 1
} finally {
  await browser.close()
  await server.close()
}

async function compare() {
  const began = performance.now()
  await inTab(fill, "full", jobs, BATCH)
  await inTab(fill, "empty", 0, BATCH)
  console.log(`${jobs} jobs stored in ${((performance.now() - began) / 1000).toFixed(1)} s; ${runs} fresh tabs each\n`)
  const sides = { empty: () => inTab(use, "empty"), full: () => inTab(use, "full") }
  const times = await byTurns(sides, runs, { warmUps: WARM_UPS })
  const heads = ["empty".padStart(20), "full".padStart(20), "ratio".padStart(8)]
  console.log("milliseconds, medians (quartiles)".padEnd(36), ...heads)
  for (const part of ["open", "enqueue"]) row(`  ${part}`, times, (time) => time[part])
  const ratio = row("  open + enqueue", times, ({ open, enqueue }) => open + enqueue)
  if (ratio > RATIO_MAX) console.log(`\nover ${RATIO_MAX}`)
  return ratio <= RATIO_MAX
}

async function inTab(work, ...given) {
  const tab = await browser.open(server.page("pages/tab").url)
  try {
    await tab.evaluate("loading")
    return await tab.evaluate(work, ...given)
  } finally {
    await tab.close()
  }
}

function row(title, { empty, full }, part) {
  const [left, right] = [empty, full].map((times) => times.map(part))
  const ratio = median(right) / median(left)
  console.log(title.padEnd(36), spread(left, 2).padStart(20), spread(right, 2).padStart(20), ratio.toFixed(2).padStart(8))
  return ratio
}

// In the page. A third each is ready, delayed and under a lease.
async function fill(database, jobs, batch) {
  const store = await alkstore.open({ storage: indexeddb.indexedDb(database, { durability: "relaxed" }) })
  const queue = store.queue("mail", { visibilityTimeout: "1d" })
  for (let first = 0; first < jobs; first += batch) {
    const count = Math.min(batch, jobs - first)
    const options = (n) => (n % 3 === 0 ? { delay: "1h" } : {})
    const payload = (n) => ({ id: n, to: "somebody@example.org", subject: "Your order is ready" })
    await Promise.all(Array.from({ length: count }, (_, n) => queue.enqueue(payload(first + n), options(n))))
    await queue.claimBatch("holder", Math.floor(count / 3))
  }
  await store.close()
}

// In the page. What it enqueues it takes away again.
async function use(database) {
  await (await alkstore.open()).close()
  const start = performance.now()
  const store = await alkstore.open({ storage: indexeddb.indexedDb(database) })
  const opened = performance.now()
  const queue = store.queue("mail")
  const id = await queue.enqueue({ to: "somebody@example.org" })
  const enqueued = performance.now()
  await queue.cancel(id)
  await store.close()
  return { open: opened - start, enqueue: enqueued - opened }
}
