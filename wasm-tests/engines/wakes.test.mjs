// What ends a wait, and how soon; and that nothing happens meanwhile.

import assert from "node:assert/strict"
import { inEachEngine } from "./harness/each.mjs"

const ROUNDS = 20
const JOBS = 3
const WAKE_MS_MAX = 100
/** How late a deadline may end a wait, however busy the machine: a wait without a timer of its own looks after a minute. */
const LATE_MS_MAX = 15_000
/** No wait sleeps longer before it looks again: the clock may have been set, and another may have vanished with its wake. */
const WALL_SLEEP_MS_MAX = 60_000
/** A timer that WebKit's driver sets, in the page, for each script that it runs there. */
const DRIVER_TIMER_MS = 30_000

inEachEngine(({ engine, test }) => {
  test(`a job ends another tab's wait within ${WAKE_MS_MAX} ms, its commit included`, async ({ t, open }) => {
    const tabs = [await open("pages/tab"), await open("pages/tab")]
    for (const tab of tabs) await tab.evaluate(openStore, "wakes")
    const [there, back] = await Promise.all([
      tabs[0].evaluate(answer, "ping", "pong", ROUNDS),
      tabs[1].evaluate(ask, "ping", "pong", ROUNDS)
    ])
    for (const [way, took] of Object.entries({ there, back })) {
      t.diagnostic(`${way}: ${took.join(", ")} ms`)
      assert.equal(took.length, ROUNDS)
      assert.ok(median(took) < WAKE_MS_MAX, `a median of ${median(took)} ms`)
    }
  })

  test("whichever of two tabs comes first, a wait hears of the other's jobs", async ({ t, open }) => {
    const [speaker, waiter] = [await open("pages/tab"), await open("pages/tab")]
    // Nothing is told again because a second has passed.
    await speaker.evaluate(() => void (performance.now = () => 0))
    const took = []
    for (let round = 0; round < ROUNDS; round++) {
      const began = Date.now()
      const database = `meeting ${round}`
      await Promise.all([speaker.evaluate(enqueueEach, database, JOBS), waiter.evaluate(waitForEach, database, JOBS)])
      took.push(Date.now() - began)
      for (const tab of [speaker, waiter]) await tab.evaluate(() => store.close())
    }
    t.diagnostic(`${took.join(", ")} ms`)
    assert.ok(Math.max(...took) < LATE_MS_MAX, "no wait has slept until it looked by itself")
  })

  test("without BroadcastChannel a wait ends at the next deadline, not before", async ({ t, open }) => {
    const [silent, other] = [await open("pages/silent-tab"), await open("pages/tab")]
    await silent.evaluate(openStore, "silent")
    await other.evaluate(openStore, "silent")
    const deadline = await silent.evaluate(async () => {
      const id = await store.queue("mail").enqueue("later", { delay: 1_000 })
      globalThis.waiting = store.queue("mail").wait().then(() => Date.now())
      return (await store.queue("mail").get(id)).runAt
    })
    const enqueued = await other.evaluate(async () => {
      await store.queue("mail").enqueue("now")
      return Date.now()
    })
    const ended = await silent.evaluate("waiting")
    t.diagnostic(`${ended - enqueued} ms after another's job, ${ended - deadline} ms after the deadline`)
    assert.ok(ended >= deadline && ended - deadline <= LATE_MS_MAX, `${ended - deadline} ms late`)
    const claimed = await silent.evaluate(() => store.queue("mail").claimBatch("w", 5))
    assert.deepEqual(claimed.map((job) => job.attempts), [1, 1])
  })

  test("delays, retries and leases end waits on time, in their own tab and in another", async ({ t, open }) => {
    const tabs = [await open("pages/tab"), await open("pages/tab")]
    for (const tab of tabs) await tab.evaluate(openStore, "deadlines")
    await tabs[0].evaluate(claimTwo)
    for (const tab of tabs) await tab.evaluate(beginWaits, ["delayed", "retried", "leased"])
    const deadlines = await tabs[0].evaluate(makeDeadlines, 800)
    for (const [at, tab] of tabs.entries()) {
      const ended = await tab.evaluate("waits")
      const late = Object.entries(deadlines).map(([what, deadline]) => [what, ended[what] - deadline])
      t.diagnostic(`tab ${at}: ${late.map(([what, ms]) => `${what} ${ms} ms`).join(", ")} after the deadline`)
      for (const [what, ms] of late) assert.ok(ms >= 0 && ms <= LATE_MS_MAX, `tab ${at}, ${what}: ${ms} ms late`)
    }
  })

  test("who waits does nothing meanwhile: one timer sleeps, and no transaction begins", async ({ open }) => {
    const [waiter, other] = [await open("pages/watched-tab"), await open("pages/tab")]
    const ofDriver = engine.name === "webkit" ? DRIVER_TIMER_MS : null
    const watched = () => waiter.evaluate(running, ofDriver)

    await waiter.evaluate(openStore, "idle")
    await waiter.evaluate(() => store.queue("mail").stats())
    const idle = await watched()
    assert.deepEqual(idle.timers, [], "an open store holds no timer")

    await waiter.evaluate(beginWait)
    const began = await watched()
    assert.deepEqual(began.timers, [WALL_SLEEP_MS_MAX], "nothing is due, ever")
    await other.evaluate(openStore, "idle")
    await other.evaluate(() => Promise.all(Array.from({ length: 20 }, (_, n) => store.queue("other").enqueue(n))))
    assert.deepEqual(await watched(), began, "another queue is none of its business")

    await other.evaluate(() => store.queue("mail").enqueue("in an hour", { delay: "1h" }))
    await waiter.evaluate(sleepsAfter, began.transactions, WALL_SLEEP_MS_MAX)
    const looked = await watched()
    assert.deepEqual(looked, { timers: [WALL_SLEEP_MS_MAX], transactions: began.transactions + 1 }, "a wake, a look")
    assert.equal(await waiter.evaluate("ended"), false)

    await other.evaluate(() => store.queue("mail").enqueue("now"))
    assert.equal(await waiter.evaluate("waiting"), true)
    assert.deepEqual((await watched()).timers, [], "it leaves nothing behind")
  })

  test("a wait for what is due in an hour looks at the clock once a minute, and not more often", async ({ open }) => {
    const tab = await open("pages/watched-tab")
    const looks = await tab.evaluate(async () => {
      const clock = new testing.ManualClock()
      const store = await alkstore.open({ storage: indexeddb.indexedDb("hour"), clock })
      const queue = store.queue("mail")
      await queue.enqueue("in an hour", { delay: "1h" })
      const { transactions } = watched()
      let ended = false
      void queue.wait().then(() => (ended = true))
      while (!ended) {
        if (clock.pending > 0) await clock.advance("1m")
        else await clock.settle()
      }
      return watched().transactions - transactions
    })
    assert.equal(looks, 1 + 60)
  })
})

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]

// From here on: what is evaluated in tabs.

async function openStore(name) {
  globalThis.store = await alkstore.open({ storage: indexeddb.indexedDb(name) })
}

/** Asks by a job in one queue, waits for one in the other; how long each of those took to end the wait. */
async function ask(asked, answered, rounds) {
  const took = []
  for (let round = 0; round < rounds; round++) {
    await store.queue(asked).enqueue(Date.now())
    await store.queue(answered).wait()
    const now = Date.now()
    const job = await store.queue(answered).claimOne("asker")
    took.push(now - job.payload)
    await job.ack()
  }
  return took
}

async function answer(asked, answered, rounds) {
  const took = []
  for (let round = 0; round < rounds; round++) {
    await store.queue(asked).wait()
    const now = Date.now()
    const job = await store.queue(asked).claimOne("answerer")
    took.push(now - job.payload)
    await job.ack()
    await store.queue(answered).enqueue(Date.now())
  }
  return took
}

async function enqueueEach(database, jobs) {
  globalThis.store = await alkstore.open({ storage: indexeddb.indexedDb(database) })
  for (let job = 0; job < jobs; job++) await store.queue("mail").enqueue(job)
}

/** Takes so many jobs, and waits whenever there is none. */
async function waitForEach(database, jobs) {
  globalThis.store = await alkstore.open({ storage: indexeddb.indexedDb(database) })
  const queue = store.queue("mail")
  for (let taken = 0; taken < jobs; ) {
    const job = await queue.claimOne("waiter")
    if (job === null) await queue.wait()
    else taken += Number(await job.ack())
  }
}

/** Two jobs that are held for long. */
async function claimTwo() {
  globalThis.claimed = {}
  for (const name of ["retried", "leased"]) {
    await store.queue(name).enqueue(null)
    claimed[name] = await store.queue(name).claimOne("w")
  }
}

/** Begins to wait in each of the queues, for `waits`: when each ended. */
async function beginWaits(names) {
  const ends = names.map(async (name) => {
    await store.queue(name).wait()
    return [name, Date.now()]
  })
  globalThis.waits = Promise.all(ends).then(Object.fromEntries)
  // Whatever is called later happens later, the first looks of the waits before this.
  await store.queue(names[0]).stats()
}

/** Brings all three to an end about `ms` from now; resolves to the instants at which their jobs become claimable. */
async function makeDeadlines(ms) {
  const id = await store.queue("delayed").enqueue(null, { delay: ms })
  await claimed.retried.retry("again", ms)
  await claimed.leased.heartbeat(ms)
  const { runAt: delayed } = await store.queue("delayed").get(id)
  const { runAt: retried } = await store.queue("retried").get(claimed.retried.id)
  const { claimExpiresAt } = await store.queue("leased").get(claimed.leased.id)
  return { delayed, retried, leased: claimExpiresAt + 1 }
}

async function beginWait() {
  globalThis.ended = false
  globalThis.waiting = store.queue("mail").wait().finally(() => (globalThis.ended = true))
  // Whatever is called later happens later, the first look of the wait before this.
  await store.queue("mail").stats()
}

/**
 * What goes on between transactions, which have timers of their own and may end later than the calls that were answered
 * from them; without what the test's driver does.
 */
async function running(ofDriver) {
  while (transactionsUnderWay() > 0) await turn()
  const { timers, transactions } = watched()
  return { timers: timers.filter((ms) => ms !== ofDriver), transactions }
}

/** Resolves when, after more than so many transactions, a timer for `ms` runs. */
async function sleepsAfter(transactions, ms) {
  while (watched().transactions <= transactions || !watched().timers.includes(ms)) await turn()
}
