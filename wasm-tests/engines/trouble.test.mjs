// What only the browser can do to a database, in Chromium: no room left, and connections closed by force.

import assert from "node:assert/strict"
import { inEachEngine } from "./harness/each.mjs"

const LARGE_BYTES = 4_000_000
/** Room for what is small. */
const QUOTA_BYTES = 2_000_000

inEachEngine(({ engine, test }) => {
  if (engine.name !== "chromium") return

  test("without room an enqueue is Storage and has not happened, and the store goes on", async ({ open, server }) => {
    const tab = await open("pages/tab")
    const { origin } = server
    const session = await tab.native.context().newCDPSession(tab.native)
    // Before the database is used: for a while Chromium goes by what there was.
    await session.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: QUOTA_BYTES })
    await tab.evaluate(start, "full")
    const full = await tab.evaluate(enqueueTogether, LARGE_BYTES)
    for (const outcome of full) assert.deepEqual(outcome, { code: "Storage", cause: "QuotaExceededError" })
    assert.deepEqual(await tab.evaluate(payloads), ["before"], "none of those that shared the transaction")
    assert.equal(await tab.evaluate(work), true, "what is there can be claimed and acked")

    await session.send("Storage.overrideQuotaForOrigin", { origin })
    assert.equal(await tab.evaluate(enqueueLarge, LARGE_BYTES), LARGE_BYTES, "with room again it fits")
  })

  test("when site data is cleared under load, stores go on in a new database", async ({ t, open, server }) => {
    const [tab, other] = [await open("pages/tab"), await open("pages/tab")]
    const session = await tab.native.context().newCDPSession(tab.native)
    for (const each of [tab, other]) await each.evaluate(start, "cleared")
    for (const each of [tab, other]) await each.evaluate(beginLoad)
    await session.send("Storage.clearDataForOrigin", { origin: server.origin, storageTypes: "indexeddb" })
    const outcomes = [await tab.evaluate(endLoad), await other.evaluate(endLoad)]
    for (const { codes, acknowledged } of outcomes) {
      t.diagnostic(`${acknowledged.length} acknowledged, ${codes.length} failed`)
      assert.deepEqual(codes.filter((code) => code !== "Storage"), [])
    }
    const there = new Set(await tab.evaluate(payloads))
    const kept = outcomes.flatMap(({ acknowledged }) => acknowledged.slice(-5))
    assert.deepEqual(kept.filter((n) => !there.has(n)), [], "what was acknowledged since is there")
    assert.equal(await other.evaluate(work), true)
  })
})

// From here on: what is evaluated in tabs.

async function start(name) {
  globalThis.store = await alkstore.open({ storage: indexeddb.indexedDb(name) })
  globalThis.queue = store.queue("mail")
  await queue.enqueue("before")
}

async function payloads() {
  return (await queue.list({ limit: 100_000 })).map((job) => job.payload)
}

/** Several at once, one of which is large; how each ended. */
async function enqueueTogether(bytes) {
  // Random, because what is stored is compressed; and not more than 65,536 at once.
  const pieces = Array.from({ length: bytes / 65_536 }, () => crypto.getRandomValues(new Uint8Array(65_536)))
  // In one turn, and so in one transaction.
  const together = ["small", { pieces }, "small too"].map((payload) => queue.enqueue(payload))
  const outcomes = await Promise.allSettled(together)
  return outcomes.map(({ reason }) => ({ code: reason?.code, cause: reason?.cause?.name }))
}

async function enqueueLarge(bytes) {
  const id = await queue.enqueue(new Uint8Array(bytes))
  const { payload } = await queue.get(id)
  return payload.length
}

async function work() {
  const job = await queue.claimOne("w")
  return job.ack()
}

async function beginLoad() {
  const [codes, acknowledged] = [[], []]
  let stopped = false
  let enough
  const begun = new Promise((resolve) => (enough = resolve))
  const loading = (async () => {
    for (let n = 0; !stopped; n++) {
      const mark = `${performance.timeOrigin} ${n}`
      await queue.enqueue(mark).then(() => acknowledged.push(mark), (error) => codes.push(error.code))
      if (n === 10) enough()
    }
  })()
  globalThis.endOfLoad = async () => {
    const until = acknowledged.length + 10
    while (acknowledged.length < until) await queue.stats().catch(() => {})
    stopped = true
    await loading
    return { codes, acknowledged }
  }
  return begun
}

function endLoad() {
  return endOfLoad()
}
