// Browsers that are killed at random moments under load, and started again. KILLS says how often, in each engine:
//
//   KILLS=100 ENGINES=chromium node --test wasm-tests/engines/restart.test.mjs

import assert from "node:assert/strict"
import { inEachEngine } from "./harness/each.mjs"
import { Restartable } from "./harness/restart.mjs"

const KILLS = { chromium: 5, firefox: 1, webkit: 4 }
const KILL_MS_MAX = 60_000
const REPORTS_MAX = 150
const DELAY_MS_MAX = 20
/** Payloads of one round start here after those of the one before. */
const ROUND = 1_000_000

inEachEngine(({ engine, test }) => {
  const kills = Number(process.env.KILLS ?? KILLS[engine.name])
  const name = `nothing acknowledged is lost, or comes back, when the browser is killed (${kills} times)`
  test(name, { timeout: kills * KILL_MS_MAX }, async ({ t, server }) => {
    const subject = new Restartable(engine, server)
    try {
      for (let round = 0; round < kills; round++) {
        const moment = randomMoment()
        t.diagnostic(`killed ${moment.delayMs} ms after report ${moment.reportsMin}`)
        const reports = await subject.workUntilKilled("pages/jobs", { phase: "write", first: round * ROUND }, moment)
        check(reports, await subject.ask("pages/jobs", { phase: "read" }))
      }
    } finally {
      await subject.close()
    }
  })
})

function check(reports, { found, redelivered }) {
  const [enqueued, claimed, held, acked] = ["enqueued", "claimed", "held", "acked"].map(
    (step) => new Set(reports.flatMap((report) => (step in report ? [report[step]] : [])))
  )
  const there = new Set(found)
  const untouched = [...enqueued].filter((n) => !claimed.has(n))
  assert.deepEqual(untouched.filter((n) => !there.has(n)), [], "an acknowledged enqueue is there")
  assert.deepEqual([...held].filter((n) => !there.has(n)), [], "a job in flight is there")
  assert.deepEqual(found.filter((n) => acked.has(n)), [], "an acked job does not come back")
  assert.deepEqual([...redelivered].sort((a, b) => a - b), [...found].sort((a, b) => a - b), "all is handed out, once")
}

function randomMoment() {
  return {
    reportsMin: 1 + Math.floor(Math.random() * REPORTS_MAX),
    delayMs: Math.floor(Math.random() * DELAY_MS_MAX)
  }
}
