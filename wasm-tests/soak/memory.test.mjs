// The soak on memory, for some days of the year; `npm run soak:year` goes on for all of them. And that it finds what it
// is there to find.

import assert from "node:assert/strict"
import { test } from "node:test"
import { open } from "alkstore-wasm"
import { soakOnMemory } from "./bundle.mjs"
import { drive, report } from "./drive.mjs"
import { notFlat } from "./flat.mjs"

const DAYS = 30
const LOAD = { sessions: 1, stepsPerSession: 6, actionsPerStep: 16, specs: ["@every 20s", "@every 1d"] }
const LIMITS = { minutes: 5 }

const { begin } = await soakOnMemory()

test(`${DAYS} days of mixed load on memory: nothing grows, and the books add up`, async (t) => {
  const result = await drive(await begin(LOAD, 1), { ...LIMITS, days: DAYS })
  t.diagnostic(report(result))
  assert.deepEqual(result.violations, [])
  assert.equal(result.days, DAYS)
  const { actions, claims, late, jumps } = result.counts
  assert.ok(actions > DAYS * 90 && claims > DAYS * 60 && late > 0 && jumps > 0, "there was a load")
  assert.ok(result.schedules.fired > DAYS * 50 && result.schedules.skipped > 0, "schedules fired, and caught up")
  for (const { enqueued, acked } of Object.values(result.balance)) assert.ok(acked > 0 || enqueued === 0)
})

// What each plants in the classes of a queue and of a claimed job, and what must be said of it.
const PLANTED = {
  "an ack that is told and not done": {
    plant: ({ job }) => replace(job, "ack", (ack) => function () { return this.id % 20 === 0 ? true : ack.call(this) }),
    found: /came from nowhere, or back/
  },
  "an enqueue that is told and not done": {
    plant: ({ queue }) => replace(queue, "enqueue", (enqueue) => async function (payload, options) {
      return payload.n % 20 === 0 ? 1e9 + payload.n : enqueue.call(this, payload, options)
    }),
    found: /lost 10000/
  },
  "a job that nobody has enqueued": {
    plant: ({ queue }) => replace(queue, "sweepExpired", (sweep) => async function () {
      const swept = await sweep.call(this)
      await this.enqueue({ n: 1 }, { delay: "1h" })
      return swept
    }),
    found: /came from nowhere/
  },
  "a payload that is another's": {
    plant: ({ queue }) => replace(queue, "copyOut", (copyOut) => function (payload) {
      return copyOut.call(this, payload?.n % 20 === 0 ? { ...payload, text: "another's" } : payload)
    }),
    found: /the payload is not what was enqueued/
  },
  "a listener that stays": {
    plant: ({ queue }) => replace(queue, "wait", (wait) => function (signal) {
      signal.addEventListener("abort", () => {})
      return wait.call(this, signal)
    }),
    found: /^listeners: /
  }
}

for (const [name, { plant, found }] of Object.entries(PLANTED)) {
  test(`${name} is found`, async () => {
    const restore = plant(await classes())
    try {
      const { violations } = await drive(await begin(LOAD, 2), { ...LIMITS, days: 2 })
      assert.ok(violations.some((text) => found.test(text)), violations.join("\n"))
    } finally {
      restore()
    }
  })
}

test("what has grown by more than its margin is not flat, and what is left when all is quiet is not nothing", () => {
  const sample = { day: 1, sleepers: 0, engineBytes: 1_000_000, heapBytes: 10_000_000 }
  const grown = { ...sample, engineBytes: 1_600_000, heapBytes: 12_400_000 }
  const samples = [sample, sample, sample, sample, { ...sample, sleepers: 1, day: 5 }, sample, sample, grown]
  assert.deepEqual(notFlat(samples), [
    "engineBytes grew from 1000000 on day 1 to 1600000 on day 1",
    "sleepers: 1 on day 5"
  ])
})

/** The prototypes that stores hand out instances of. */
async function classes() {
  const store = await open()
  const queue = store.queue("mail")
  await queue.enqueue(null)
  const job = await queue.claimOne("w")
  await store.close()
  return { job: Object.getPrototypeOf(job), queue: Object.getPrototypeOf(Object.getPrototypeOf(queue)) }
}

/** Replaces a method by what `make` makes of it; the result puts it back. */
function replace(prototype, name, make) {
  const original = prototype[name]
  prototype[name] = make(original)
  return () => {
    prototype[name] = original
  }
}
