// What is shown of the notes: a state for each. Pure.

export const STATES = ["queued", "sending", "retrying", "delivered", "dead"]

/**
 * `notes` and `jobs` as `{ entries, counts }`; an entry is `{ note, job, state }`, newest first. A note and its job
 * were written together and the job goes when it is delivered: a note without a job has arrived. For that `notes`
 * must be the earlier reading of the two.
 */
export function boardOf(notes, jobs) {
  const jobOf = new Map(jobs.map((job) => [job.payload.id, job]))
  const counts = Object.fromEntries(STATES.map((state) => [state, 0]))
  const entries = notes.map((note) => {
    const job = jobOf.get(note.id) ?? null
    const state = stateOf(job)
    counts[state] += 1
    return { note, job, state }
  })
  entries.sort((a, b) => b.note.at - a.note.at || (b.job?.id ?? 0) - (a.job?.id ?? 0))
  return { entries, counts }
}

function stateOf(job) {
  if (job === null) return "delivered"
  if (job.state === "processing") return "sending"
  if (job.state === "dead") return "dead"
  return job.attempts === 0 ? "queued" : "retrying"
}

/** One line about an entry at `now`; `receipt` is what the server said of it, `online` what the browser says. */
export function describe({ job, state }, { receipt, online, now }) {
  const attempt = job === null ? "" : `attempt ${job.attempts} of ${job.maxAttempts}`
  switch (state) {
    case "queued":
      if (job.runAt > now) return `due in ${seconds(job.runAt - now)}`
      return online ? "waiting for a worker" : "waiting for the network"
    case "sending":
      if (job.claimExpiresAt < now) return `${job.workerId} is gone, next worker takes over`
      return `${job.workerId}, ${attempt}`
    case "retrying":
      return `${attempt} failed, next ${job.runAt > now ? `in ${seconds(job.runAt - now)}` : "is due"}`
    case "dead":
      return `${job.attempts} attempts: ${job.lastError}`
    default:
      return receipt === undefined ? "" : receiptText(receipt)
  }
}

/** Whether what `describe` says of an entry changes by itself as time goes on. */
export function ticks({ job, state }, now) {
  if (state === "sending") return job.claimExpiresAt >= now
  return (state === "queued" || state === "retrying") && job.runAt > now
}

function receiptText({ by, requests, receipts }) {
  const kept = receipts > 1 ? `received ${receipts}×, kept once` : "received once"
  const sent = requests > receipts ? `sent ${requests}×, ` : ""
  return by === null ? `${sent}${kept}` : `by ${by}, ${sent}${kept}`
}

function seconds(ms) {
  return `${Math.ceil(ms / 1000)} s`
}
