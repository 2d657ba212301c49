// The soak on IndexedDB, for some days of the year; `npm run soak:year` goes on for all of them.

import assert from "node:assert/strict"
import { soakOnIndexedDb } from "../soak/chromium.mjs"
import { drive, report } from "../soak/drive.mjs"
import { inEachEngine } from "./harness/each.mjs"

const DAYS = 12
const TEST_MS_MAX = 300_000
const OPTIONS = { durability: "relaxed", sessionsPerErrand: 4 }
const LOAD = { sessions: 1, stepsPerSession: 3, actionsPerStep: 8, specs: ["@every 20m"] }

inEachEngine(({ engine, test }) => {
  if (engine.name !== "chromium") return

  const name = `${DAYS} days of mixed load and faults: nothing grows, and the books add up`
  test(name, { timeout: TEST_MS_MAX }, async ({ t, openDurable }) => {
    const tab = await openDurable("soak/tab")
    const subject = await soakOnIndexedDb(tab, { load: LOAD, seed: 1, name: "soak", options: OPTIONS })
    const result = await drive(subject, { days: DAYS, minutes: 5 })
    t.diagnostic(report(result))
    assert.deepEqual(result.violations, [])
    assert.equal(result.days, DAYS)
    const { faults, refused, jumps } = result.counts
    assert.ok(faults > 0 && jumps > 0, "faults struck")
  })
})
