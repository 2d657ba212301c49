// Memory: a queue's length is not in it. Chromium alone says how much a page takes.

import assert from "node:assert/strict"
import { inEachEngine } from "./harness/each.mjs"

const JOBS = 20_000
const PAYLOAD_BYTES = 2_000
const BATCH = 500
/** Two hundred bytes for each job. */
const ADDED_BYTES_MAX = 4_000_000
const TEST_MS_MAX = 300_000

inEachEngine(({ engine, test }) => {
  if (engine.name !== "chromium") return

  const name = `${JOBS} queued jobs of ${PAYLOAD_BYTES} bytes add less than ${ADDED_BYTES_MAX} bytes to a tab`
  test(name, { timeout: TEST_MS_MAX }, async ({ t, openDurable }) => {
    const filler = await openDurable("pages/tab")
    const session = await filler.native.context().newCDPSession(filler.native)
    await filler.evaluate(watchEngines)
    await filler.evaluate(fill, "long", 1, PAYLOAD_BYTES, BATCH)
    await filler.evaluate(fill, "short", 1, PAYLOAD_BYTES, BATCH)
    const before = await bytesOf(filler, session)
    await filler.evaluate(fill, "long", JOBS - 1, PAYLOAD_BYTES, BATCH)
    const filled = await bytesOf(filler, session)
    await filler.close()

    const empty = await bytesAfterUse(openDurable, "short", 1)
    const full = await bytesAfterUse(openDurable, "long", JOBS)
    t.diagnostic(`bytes of a tab: ${JSON.stringify({ empty, full, before, filled })}`)
    const added = { using: full.total - empty.total, filling: filled.total - before.total }
    assert.ok(added.using < ADDED_BYTES_MAX, `a tab that uses it takes ${added.using} bytes more`)
    assert.ok(added.filling < ADDED_BYTES_MAX, `the tab that filled it takes ${added.filling} bytes more`)
  })
})

/** What a tab takes that has opened the database, counted and claimed. */
async function bytesAfterUse(open, database, jobs) {
  const tab = await open("pages/tab")
  const session = await tab.native.context().newCDPSession(tab.native)
  await tab.evaluate(watchEngines)
  assert.equal(await tab.evaluate(use, database), jobs)
  const bytes = await bytesOf(tab, session)
  await tab.close()
  return bytes
}

/** What is left when all garbage is collected: the JavaScript heap, buffers outside it, and the engines' memories. */
async function bytesOf(tab, session) {
  await session.send("HeapProfiler.collectGarbage")
  const { usedSize, embedderHeapUsedSize, backingStorageSize } = await session.send("Runtime.getHeapUsage")
  const engine = await tab.evaluate(() => memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0))
  assert.ok(engine > 0, "an engine was watched")
  const heap = usedSize + embedderHeapUsedSize + backingStorageSize
  return { heap, engine, total: heap + engine }
}

// In the page, before the engine starts.
function watchEngines() {
  const { Instance } = WebAssembly
  globalThis.memories = []
  WebAssembly.Instance = new Proxy(Instance, {
    construct(target, given) {
      const instance = new target(...given)
      memories.push(...Object.values(instance.exports).filter((one) => one instanceof WebAssembly.Memory))
      return instance
    }
  })
}

async function fill(database, jobs, bytes, batch) {
  const storage = indexeddb.indexedDb(database, { durability: "relaxed" })
  globalThis.stores ??= {}
  const store = (stores[database] ??= await alkstore.open({ storage }))
  const queue = store.queue("mail")
  for (let first = 0; first < jobs; first += batch) {
    const some = Array.from({ length: Math.min(batch, jobs - first) }, (_, n) => `${first + n} `.padEnd(bytes, "x"))
    await Promise.all(some.map((payload) => queue.enqueue(payload)))
  }
}

async function use(database) {
  globalThis.store = await alkstore.open({ storage: indexeddb.indexedDb(database) })
  globalThis.queue = store.queue("mail")
  const { pending } = await queue.stats()
  await queue.wait()
  const job = await queue.claimOne("w")
  await job.retry(null, 0)
  return pending
}
