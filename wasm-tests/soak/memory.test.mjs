// The soak on memory, for some days of the year; `npm run soak:year` goes on for all of them.

import assert from "node:assert/strict"
import { test } from "node:test"
import { soakOnMemory } from "./bundle.mjs"
import { drive, report } from "./drive.mjs"

const DAYS = 30
const LOAD = { sessions: 1, stepsPerSession: 6, actionsPerStep: 16, specs: ["@every 20s", "@every 1d"] }

test(`${DAYS} days of mixed load on memory: nothing grows, and the books add up`, async (t) => {
  const { begin } = await soakOnMemory()
  const result = await drive(await begin(LOAD, 1), { days: DAYS, minutes: 5 })
  t.diagnostic(report(result))
  assert.deepEqual(result.violations, [])
  const { actions, claims, late, jumps } = result.counts
  assert.ok(actions > DAYS * 90 && claims > DAYS * 60 && late > 0 && jumps > 0, "there was a load")
  assert.ok(result.schedules.fired > DAYS * 50 && result.schedules.skipped > 0, "schedules fired, and caught up")
  for (const { enqueued, acked } of Object.values(result.balance)) assert.ok(acked > 0 || enqueued === 0)
})
