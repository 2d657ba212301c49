// What the board says of a note, as a table.

import assert from "node:assert/strict"
import { describe as group, it } from "node:test"
import { boardOf, describe, ticks } from "../../examples/field-notes/src/board.js"

const NOW = 1_000_000
const note = (id, at = NOW) => ({ id, text: id, at })
const PENDING = { id: 1, payload: { id: "n" }, state: "pending", runAt: NOW, attempts: 0, maxAttempts: 5 }
const job = (fields) => ({ ...PENDING, ...fields })
const sending = (fields) => job({ state: "processing", workerId: "Tab 1", attempts: 1, claimExpiresAt: NOW, ...fields })

const ROWS = [
  // job, state, line, changes by itself
  [job({}), "queued", "waiting for a worker", false],
  [job({ runAt: NOW + 2_001 }), "queued", "due in 3 s", true],
  [sending({}), "sending", "Tab 1, attempt 1 of 5", true],
  [sending({ claimExpiresAt: NOW - 1 }), "sending", "Tab 1 is gone, next worker takes over", false],
  [job({ attempts: 2, runAt: NOW + 1 }), "retrying", "attempt 2 of 5 failed, next in 1 s", true],
  [job({ attempts: 2 }), "retrying", "attempt 2 of 5 failed, next is due", false],
  [job({ state: "dead", attempts: 5, lastError: "no" }), "dead", "5 attempts: no", false],
  [null, "delivered", "", false]
]

group("the board", () => {
  for (const [given, state, line, changes] of ROWS) {
    it(`says of a note that is ${state}: ${line || "nothing"}`, () => {
      const { entries, counts } = boardOf([note("n")], given === null ? [] : [given])
      assert.equal(entries[0].state, state)
      assert.equal(counts[state], 1)
      assert.equal(describe(entries[0], { online: true, now: NOW }), line)
      assert.equal(ticks(entries[0], NOW), changes)
    })
  }

  it("says of a queued note without a network what it waits for", () => {
    const [entry] = boardOf([note("n")], [job({})]).entries
    assert.equal(describe(entry, { online: false, now: NOW }), "waiting for the network")
  })

  it("tells what the server has received", () => {
    const [entry] = boardOf([note("n")], []).entries
    const said = (receipt) => describe(entry, { receipt, online: true, now: NOW })
    assert.equal(said({ by: "Tab 1", requests: 1, receipts: 1 }), "by Tab 1, received once")
    assert.equal(said({ by: "Tab 2", requests: 2, receipts: 2 }), "by Tab 2, received 2×, kept once")
    assert.equal(said({ by: null, requests: 3, receipts: 1 }), "sent 3×, received once")
  })

  it("has the newest note first, and of one instant the one that was queued last", () => {
    const jobs = [job({ id: 7, payload: { id: "b" } }), job({ id: 8, payload: { id: "c" } })]
    const { entries } = boardOf([note("b"), note("c"), note("a", NOW - 1), note("d", NOW + 1)], jobs)
    assert.deepEqual(entries.map(({ note }) => note.id), ["d", "c", "b", "a"])
  })
})
