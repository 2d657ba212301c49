// Schedules among several contexts: one leads, and when it goes away another does. On a clock that runs faster, so that
// leases end soon.

import assert from "node:assert/strict"
import { inEachEngine } from "./harness/each.mjs"
import { waysIn, withTabs } from "./harness/vanish.mjs"
import { startWorker } from "./harness/workers.mjs"

/** How fast the clock runs. */
const SPEED = 10
const INTERVAL_MS = 2_000
/** When the next leader fires at the latest, after one that gave its lease back: a renewal later, and a boundary. */
const HAND_OVER_MS_MAX = 2_000 + INTERVAL_MS
/** After one that did not: when its lease has ended. */
const TAKE_OVER_MS_MAX = 10_000 + HAND_OVER_MS_MAX
/** What the machine may need, by the real clock. */
const SLACK_MS = 1_000 * SPEED

inEachEngine(({ engine, test }) => {
  const ways = Object.entries(waysIn(engine)).map(([how, way]) => [`its tab is ${how}`, way])
  const closing = { vanish: (tab) => tab.evaluate(() => store.close()), releases: true }

  for (const [how, way] of [...ways, ["its store closes", closing]]) {
    test(`of two tabs and a service worker one leads; when ${how} another does, each boundary fires once`, (context) =>
      withTabs(way, context, async (open) => {
        const [leader, other] = [await open("pages/tab"), await open("pages/tab")]
        const standbys = [other, await startWorker("service", other)]
        const settings = { name: `led until ${how}`, speed: SPEED, since: Date.now() }
        const first = await leader.evaluate(lead, settings, INTERVAL_MS)
        for (const standby of standbys) await standby.evaluate(standBy, settings)

        await other.evaluate(firedAfter, first)
        if (way.freezable) await leader.evaluate(asleep)
        await way.vanish(leader)
        const vanished = await other.evaluate(() => clock.now())
        const pause = (await other.evaluate(firedAfter, vanished)) - vanished
        context.t.diagnostic(`the next boundary was fired ${pause} ms later`)
        assert.ok(pause <= (way.releases ? HAND_OVER_MS_MAX : TAKE_OVER_MS_MAX) + SLACK_MS, `${pause} ms`)

        if (way.thaw) {
          await way.thaw(leader)
          assert.equal(await leader.evaluate(() => running), "LeadershipLost")
        }
        for (const standby of standbys) await standby.evaluate(stopRunning)
        const { count, next } = await other.evaluate(allFired)
        assert.equal(count, (next - first) / INTERVAL_MS, "each boundary fires once")
      })
    )
  }
})

// From here on: what is evaluated in contexts.

/** Leads; resolves to the first boundary. */
async function lead({ name, speed, since }, intervalMs) {
  globalThis.clock = fastClock(speed, since)
  globalThis.store = await alkstore.open({ storage: indexeddb.indexedDb(name), clock })
  await store.schedule("tick", `@every ${intervalMs / 1000}s`, "ticks", null)
  const [{ nextFireAt }] = await store.schedules()
  globalThis.running = store.runSchedules().then(() => "resolved", (error) => error.code)
  // Whatever is called later happens later: it leads when this is answered.
  await store.schedules()
  return nextFireAt
}

/** Sees that it may not lead, and stands by. */
async function standBy({ name, speed, since }) {
  globalThis.clock = fastClock(speed, since)
  globalThis.store = await alkstore.open({ storage: indexeddb.indexedDb(name), clock })
  const refused = await store.runSchedules().catch((error) => error.code)
  if (refused !== "LeadershipLost") throw new Error(`two lead: ${refused}`)
  globalThis.stop = new AbortController()
  globalThis.running = store.runSchedules(stop.signal, { standby: true })
  globalThis.ticks = []
}

/** Resolves, once a boundary has been fired after `instant`, to when. */
async function firedAfter(instant) {
  const queue = store.queue("ticks")
  for (;;) {
    const found = ticks.find((firedAt) => firedAt > instant)
    if (found !== undefined) return found
    await queue.wait()
    const jobs = await queue.claimBatch("reader", 100)
    await queue.ackBatch(jobs.map((job) => job.id))
    ticks.push(...jobs.map((job) => job.createdAt))
  }
}

/**
 * Resolves when the leader sleeps, which it does until the tab is thawed: one that is frozen within a transaction holds up
 * all others.
 */
function asleep() {
  const { sleep } = clock
  return new Promise((resolve) => {
    clock.sleep = () => {
      clock.sleep = sleep
      resolve()
      return new Promise((thawed) => document.addEventListener("resume", thawed, { once: true }))
    }
  })
}

async function stopRunning() {
  stop.abort()
  await running
}

/** How many boundaries were fired, and which is the next one. */
async function allFired() {
  const { pending } = await store.queue("ticks").stats()
  return { count: ticks.length + pending, next: (await store.schedules())[0].nextFireAt }
}
