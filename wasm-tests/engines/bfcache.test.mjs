// Pages that go into the back/forward cache, and come back from it.

import assert from "node:assert/strict"
import { inEachEngine } from "./harness/each.mjs"

/** No wait sleeps longer before it looks again by itself. */
const WALL_SLEEP_MS_MAX = 60_000

// A page that may not be stored is kept in no cache.
const MAY_BE_KEPT = { "cache-control": "no-cache" }
const PAGE = `<!doctype html><script>globalThis.loading = import("/pages/tab.js").then(() => null)</script>`

inEachEngine(({ engine, test }) => {
  // The others' drivers keep no page there.
  if (engine.name !== "chromium") return

  test("a page that waits is kept there while another enqueues, and goes on when it comes back", async ({ t, server, openIn }) => {
    server.routes["/kept.html"] = () => [200, "text/html", PAGE, MAY_BE_KEPT]
    server.routes["/elsewhere.html"] = () => [200, "text/html", "elsewhere", MAY_BE_KEPT]
    const browser = await engine.launch({ bfcache: true })
    t.after(() => browser.kill())
    const [other, page] = [await openIn(browser, "kept"), await openIn(browser, "kept")]
    await other.evaluate(openStore)
    await page.evaluate(openStore)
    await page.evaluate(work)

    await page.native.goto(`${server.origin}/elsewhere.html`)
    await other.evaluate(until, "localStorage.frozen")
    for (const payload of ["meanwhile", "again"]) await other.evaluate(enqueue, payload)
    await page.native.goBack({ waitUntil: "commit" })
    const why = () => JSON.stringify(performance.getEntriesByType("navigation")[0].notRestoredReasons)
    assert.equal(await page.evaluate("typeof delivered"), "object", await page.evaluate(why))

    const began = Date.now()
    await page.evaluate(until, "delivered.length >= 3")
    for (const payload of ["further", "and further"]) await other.evaluate(enqueue, payload)
    await page.evaluate(until, "delivered.length >= 5")
    const took = Date.now() - began
    t.diagnostic(`${took} ms`)
    assert.ok(took < WALL_SLEEP_MS_MAX, "no wait has slept until it looked by itself")
    assert.deepEqual(await page.evaluate("delivered"), ["before", "meanwhile", "again", "further", "and further"])
  })
})

// From here on: what is evaluated in tabs.

async function openStore() {
  globalThis.store = await alkstore.open({ storage: indexeddb.indexedDb("bfcache") })
  globalThis.turn = () => new Promise((resolve) => setTimeout(resolve))
}

/** Delivers all that comes, to `delivered`; resolves when it waits again, after the first. */
async function work() {
  globalThis.delivered = []
  document.addEventListener("freeze", () => (localStorage.frozen = true))
  const outbox = store.outbox("orders")
  await outbox.enqueue("before")
  const working = async () => {
    while (await outbox.wait()) await outbox.runOnce("page", ({ payload }) => void delivered.push(payload))
  }
  void working()
  while (delivered.length === 0) await turn()
  // Whatever is called later happens later, the acknowledgement and the next look before this.
  for (const _ of [1, 2]) await outbox.stats()
}

async function enqueue(payload) {
  await store.outbox("orders").enqueue(payload)
}

async function until(expression) {
  while (!(0, eval)(expression)) await turn()
}
