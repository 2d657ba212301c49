// The books of both sides, side by side: what the relay counted, what the store holds, what the receiver got.

import { createHash } from "node:crypto"

/** The rows of the summary. Every sum in them is printed with its terms. */
export function summaryLines(books, paint) {
  const { source, deliveries, ledger, elapsed } = books
  const t = totals(books)
  const rows = [
    ["payloads", deliveries.length, source],
    ["queued", ledger.queued, `transactions: ${ledger.transactions}; each delivery with its audit job`],
    ["delivered", t.acked, "acked once each" + (t.waiting === 0 ? "" : `; ${t.waiting} still waiting`)],
    ["attempts", ledger.attempts, equation({ delivered: t.answered, retried: ledger.retried, dead: ledger.dead })],
    ["failures", t.failed, equation({ ...named(books.received.faults), "not injected": t.failed - t.faults })],
    ["received", t.distinct, `distinct ids; ${t.receipts} = ${t.distinct} + ${t.duplicates} duplicates`],
    ["duplicates", t.duplicates, `${t.explained} after a dropped answer, ${t.unexplained} unexplained`],
    ["audit jobs", ledger.audited.length, left(ledger.stats.audit)],
    ["reports", ledger.reports, left(ledger.stats.reports)],
    ["dead letters", ledger.stats.outbox.dead, ""],
    ["elapsed", `${(elapsed / 1000).toFixed(1)} s`, ""],
  ]
  const width = Math.max(...rows.map(([, value]) => String(value).length))
  return [
    paint("bold", "summary"),
    ...rows.map(([name, value, note]) => `  ${name.padEnd(14)}${String(value).padStart(width)}  ${note}`.trimEnd()),
  ]
}

/**
 * What is wrong with the books, as sentences; none if all is well. A run that was stopped leaves deliveries waiting,
 * which is in order; what it says must be true all the same. `complete`: the run ended by itself.
 */
export function findProblems(books, { complete }) {
  const { deliveries, ledger, received } = books
  const t = totals(books)
  const twice = ledger.delivered.length - new Set(ledger.delivered).size
  const auditedTwice = ledger.audited.length - new Set(ledger.audited).size
  const altered = deliveries.filter(({ id, body }) => t.seen(id) && received.received.get(id).digest !== digestOf(body))
  const lost = ledger.delivered.filter((id) => !t.seen(id))

  const problems = [
    // An attempt that timed out is a failure not injected: its answer may have been lost like a dropped one.
    [t.unexplained > Math.max(0, t.failed - t.faults), `${t.unexplained} receipts were doubled without a lost answer`],
    [twice > 0, `${twice} deliveries were delivered again after they were acknowledged`],
    [altered.length > 0, `${altered.length} payloads arrived altered, first ${altered[0]?.id}`],
    [lost.length > 0, `${lost.length} acknowledged deliveries never reached the receiver, first ${lost[0]}`],
    [t.dead > 0, `${t.dead} deliveries are dead letters`],
    [auditedTwice > 0, `${auditedTwice} audit jobs were handed out twice`],
    differ("deliveries acked and answered", t.acked, t.answered),
    differ("attempts and their outcomes", ledger.attempts, t.answered + t.failed),
    [t.faults > t.failed, `${t.faults} requests were failed on purpose, but only ${t.failed} attempts failed`],
    [received.requests > ledger.attempts, `${received.requests} requests came of ${ledger.attempts} attempts`],
  ]
  if (complete) {
    problems.push(
      differ("payloads and queued", deliveries.length, ledger.queued),
      differ("queued and delivered", ledger.queued, t.acked),
      differ("queued and received", ledger.queued, t.distinct),
      differ("queued and audited", ledger.queued, ledger.audited.length),
      [ledger.stats.audit.pending + ledger.stats.audit.processing > 0, "audit jobs are left over"],
      [ledger.stats.reports.pending + ledger.stats.reports.processing > 0, "reports are left over"],
    )
  }
  return problems.filter(([wrong]) => wrong).map(([, sentence]) => sentence)
}

function totals({ ledger, received: { faults, received } }) {
  const { pending, processing, dead } = ledger.stats.outbox
  const entries = [...received.values()]
  const receipts = sum(entries.map((entry) => entry.receipts))
  // A dropped answer explains one more receipt, no more.
  const unexplained = sum(entries.map((entry) => Math.max(0, entry.receipts - 1 - entry.answersDropped)))
  return {
    dead,
    waiting: pending + processing,
    // An acked job leaves no row: what was queued and is not there any more was acked.
    acked: ledger.queued - pending - processing - dead,
    answered: ledger.delivered.length,
    failed: ledger.retried + ledger.dead,
    faults: sum(Object.values(faults)),
    distinct: received.size,
    receipts,
    duplicates: receipts - received.size,
    explained: receipts - received.size - unexplained,
    unexplained,
    seen: (id) => received.has(id),
  }
}

function differ(what, a, b) {
  return [a !== b, `the numbers of ${what} differ: ${a} and ${b}`]
}

function named({ answered500, droppedBefore, droppedAfter }) {
  return {
    "answered 500": answered500,
    "dropped before receipt": droppedBefore,
    "dropped after receipt": droppedAfter,
  }
}

/** "= 3 delivered + 1 retried"; a term that is zero is left out unless all are. */
function equation(terms) {
  const entries = Object.entries(terms)
  const shown = entries.some(([, n]) => n > 0) ? entries.filter(([, n]) => n > 0) : entries.slice(0, 1)
  return `= ${shown.map(([name, n]) => `${n} ${name}`).join(" + ")}`
}

function left({ pending, processing }) {
  return `${pending + processing} left`
}

function digestOf(body) {
  return createHash("sha256").update(typeof body === "string" ? body : JSON.stringify(body)).digest("hex")
}

function sum(numbers) {
  return numbers.reduce((total, n) => total + n, 0)
}
