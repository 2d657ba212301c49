// The relay: payloads go into an outbox in transactions, workers deliver them, a schedule reports.

import { open } from "alkstore-wasm"

const OUTBOX = "deliveries"
const AUDIT = "audit"
const REPORTS = "reports"

const BATCH_SIZE = 50
const DELIVERY_WORKERS = 8
const AUDIT_BATCH_SIZE = 25
/** An attempt that takes longer has failed and is retried; well below the 60 s after which its claim would lapse. */
const ATTEMPT_TIMEOUT_MS = 10_000

/**
 * Relays `deliveries` to `url` until each is delivered or dead, or until `stopping` aborts. Aborts `stopping` itself
 * with "finished" when done. Resolves with the ledger: what was counted here, and the store's own stats at the end.
 */
export async function relay(deliveries, { url, stopping, progress }) {
  const { signal } = stopping
  const store = await open()
  const outbox = store.outbox(OUTBOX)
  const audit = store.queue(AUDIT)
  const reports = store.queue(REPORTS)
  const ledger = {
    transactions: 0, queued: 0, attempts: 0, retried: 0, dead: 0, reports: 0, delivered: [], audited: [], stats: null,
  }

  /** One transaction per batch: of each payload both the delivery and its audit job are queued, or neither. */
  async function takeIn() {
    for (let start = 0; start < deliveries.length && !signal.aborted; start += BATCH_SIZE) {
      const batch = deliveries.slice(start, start + BATCH_SIZE)
      await store.transaction(async (tx) => {
        for (const delivery of batch) {
          await tx.enqueue(AUDIT, { delivery: delivery.id, event: delivery.event })
          await tx.outboxEnqueue(OUTBOX, delivery)
        }
      })
      ledger.transactions += 1
      ledger.queued += batch.length
      progress.update(ledger)
    }
  }

  async function deliveryWorker(workerId) {
    while (await outbox.wait(signal)) await outbox.runOnce(workerId, deliver)
  }

  /** To return acks the delivery; to throw has it retried after a backoff, until it is dead. */
  async function deliver(job) {
    ledger.attempts += 1
    try {
      await post(url, job.payload)
      ledger.delivered.push(job.payload.id)
    } catch (error) {
      if (job.attempts < job.maxAttempts) ledger.retried += 1
      else ledger.dead += 1
      throw error
    } finally {
      settled()
    }
  }

  async function auditWorker(workerId) {
    while (await audit.wait(signal)) {
      const jobs = await audit.claimBatch(workerId, AUDIT_BATCH_SIZE)
      ledger.audited.push(...jobs.map((job) => job.payload.delivery))
      await audit.ackBatch(jobs.map((job) => job.id))
      settled()
    }
  }

  async function reportWorker(workerId) {
    while (await reports.wait(signal)) await report(workerId)
  }

  async function report(workerId) {
    const job = await reports.claimOne(workerId)
    if (job === null) return false
    const { pending, dead } = await outbox.stats()
    progress.report({ ...ledger, waiting: pending, dead })
    ledger.reports += 1
    return job.ack()
  }

  function settled() {
    progress.update(ledger)
    const total = deliveries.length
    if (ledger.delivered.length + ledger.dead >= total && ledger.audited.length >= total) stopping.abort("finished")
  }

  try {
    await store.schedule("report", "@every 1s", REPORTS, { of: OUTBOX })
    await untilStopped(stopping, [
      ...Array.from({ length: DELIVERY_WORKERS }, (_, i) => deliveryWorker(`delivery-${i + 1}`)),
      auditWorker("audit-1"),
      reportWorker("report-1"),
      store.runSchedules(signal),
      takeIn(),
    ])
    while (await report("report-1"));
    ledger.stats = { outbox: await outbox.stats(), audit: await audit.stats(), reports: await reports.stats() }
    progress.report({ ...ledger, waiting: ledger.stats.outbox.pending })
    return ledger
  } finally {
    await store.close()
  }
}

/** Waits for all loops. The first that fails stops the others, and its error is thrown when they have ended. */
async function untilStopped(stopping, loops) {
  for (const loop of loops) loop.catch((error) => stopping.abort(error))
  const outcomes = await Promise.allSettled(loops)
  for (const { status, reason } of outcomes) if (status === "rejected") throw reason
}

async function post(url, { id, event, body }) {
  const headers = { "content-type": "application/json", "idempotency-key": id, "webhook-event": event }
  const text = typeof body === "string" ? body : JSON.stringify(body)
  const response = await fetch(url, {
    method: "POST",
    headers,
    body: text,
    signal: AbortSignal.timeout(ATTEMPT_TIMEOUT_MS),
  })
  // The connection is free for the next delivery only once the answer has been read.
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`the receiver answered ${response.status}`)
}
