// The memory of a tab of Chromium on a storage with many waiting jobs and with none: another tab has stored them, a fresh
// one opens it, enqueues, claims, acks, and waits.
//
//   node benches/tab-memory.mjs [--check] [--rounds N] [--jobs N,…]
//
// What is counted lives: the garbage is collected first. Wasm memory never shrinks, so that is the most there has been.
// With --check the exit code is 1 if a median with jobs is over FLAT_MAX of the one without.

import { parseArgs } from "node:util"
import { byTurns, elapsed, limits, median, table } from "./lib/figures.mjs"
import { inChromium, inTab } from "./lib/pages.mjs"

const FLAT_MAX = 1.1
const BATCH = 2_000
/** How many jobs a tab enqueues one by one, claims and acks, each of so many times. */
const USES = 10
const CLAIM = 32

const { values: flags } = parseArgs({
  options: {
    check: { type: "boolean" },
    rounds: { type: "string", default: "5" },
    jobs: { type: "string", default: "10000,100000" }
  }
})
const depths = [0, ...flags.jobs.split(",").map(Number)]

const PAGE = `
import { open } from "alkstore-wasm"
import { indexedDb } from "alkstore-wasm/indexeddb"
Object.assign(globalThis, { open, indexedDb })
`
await inChromium({ memory: { code: PAGE } }, measure)

async function measure(chromium) {
  const took = await elapsed(async () => {
    for (const jobs of depths) await inTab(chromium, "memory", (tab) => tab.evaluate(fill, jobs, BATCH))
  })
  console.log(`${depths.join(", ")} jobs stored in ${(took / 1000).toFixed(1)} s; ${flags.rounds} fresh tabs each, medians\n`)
  const sides = Object.fromEntries(depths.map((jobs) => [jobs, () => used(chromium, jobs)]))
  const figures = await byTurns(sides, Number(flags.rounds))
  const middle = (jobs, part) => median(figures[jobs].map((figure) => figure[part]))
  const kb = (jobs, part) => (middle(jobs, part) / 1000).toFixed(0)
  table([
    ["KB", "JavaScript", "DOM", "wasm memory", "all", "beside empty"],
    ...depths.map((jobs) => [
      `${jobs} waiting`,
      ...["heap", "dom", "wasm", "all"].map((part) => kb(jobs, part)),
      (middle(jobs, "all") / middle(0, "all")).toFixed(3)
    ])
  ])
  console.log()
  const held = limits(flags.check)
  for (const jobs of depths.slice(1)) {
    held.atMost(`memory with ${jobs} waiting, beside an empty storage`, middle(jobs, "all") / middle(0, "all"), FLAT_MAX)
  }
  held.end()
}

function used(chromium, jobs) {
  return inTab(chromium, "memory", async (tab) => {
    await tab.evaluate(use, jobs, USES, CLAIM)
    const devtools = await chromium.browser.native.newCDPSession(tab.native)
    for (let time = 0; time < 2; time++) await devtools.send("HeapProfiler.collectGarbage")
    const { usedSize: heap, embedderHeapUsedSize: dom } = await devtools.send("Runtime.getHeapUsage")
    const wasm = await tab.evaluate(() => memories.reduce((sum, memory) => sum + (memory.deref()?.buffer.byteLength ?? 0), 0))
    if (wasm === 0) throw new Error("the engine was made in another way than this knows")
    return { heap, dom, wasm, all: heap + dom + wasm }
  })
}

// In the page. A third each is ready, delayed and under a lease.
async function fill(jobs, batch) {
  await import("/memory.js")
  const store = await open({ storage: indexedDb(`${jobs} waiting`, { durability: "relaxed" }) })
  const queue = store.queue("mail", { visibilityTimeout: "1d" })
  const payload = (n) => ({ id: n, to: "somebody@example.org", subject: "Your order is ready" })
  for (let first = 0; first < jobs; first += batch) {
    const count = Math.min(batch, jobs - first)
    const options = (n) => (n % 3 === 0 ? { delay: "1d" } : {})
    await Promise.all(Array.from({ length: count }, (_, n) => queue.enqueue(payload(first + n), options(n))))
    await queue.claimBatch("holder", Math.floor(count / 3))
  }
  await store.close()
}

// In the page. Resolves with a wait under way: for another queue, or it would end. What unpacks the engine has a memory of its
// own, which is garbage by then.
async function use(jobs, uses, claim) {
  globalThis.memories = []
  WebAssembly.Instance = class extends WebAssembly.Instance {
    constructor(...given) {
      super(...given)
      for (const one of Object.values(this.exports)) if (one instanceof WebAssembly.Memory) memories.push(new WeakRef(one))
    }
  }
  await import("/memory.js")
  const store = await open({ storage: indexedDb(`${jobs} waiting`) })
  const queue = store.queue("mail")
  for (let time = 0; time < uses; time++) {
    await queue.enqueue({ to: "somebody@example.org" }, { priority: 1 })
    await (await queue.claimOne("worker")).ack()
  }
  const enqueued = Array.from({ length: claim }, (_, n) => queue.enqueue({ n }, { priority: 1 }))
  await Promise.all(enqueued)
  await queue.ackBatch((await queue.claimBatch("worker", claim)).map(({ id }) => id))
  await queue.stats()
  globalThis.waiting = store.queue("other").wait()
  await store.queue("other").stats()
}
