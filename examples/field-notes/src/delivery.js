// Delivering, the same in every tab and in the service worker. Nobody leads: each claims a note of its own.

/** An attempt that takes longer has failed; well below the 60 s after which its claim would lapse. */
const ATTEMPT_MS_MAX = 10_000
/** How long to leave a failing storage alone. */
const STORAGE_REST_MS = 5_000

/** Delivers as `worker` until `signal` aborts, waiting while there is nothing to do or no network. */
export async function deliverUntil(signal, { outbox, worker, onChange, onError }) {
  while (!signal.aborted) {
    try {
      if (!(await outbox.wait(signal))) return
      // Offline is no attempt. Online proves nothing, so the outcome of each attempt decides.
      if (navigator.onLine === false) await nextEvent(self, "online", signal)
      else await deliverOne({ outbox, worker, onChange })
    } catch (error) {
      // Whoever aborted has said why.
      if (signal.aborted || error?.code === "Closed") return
      onError(error)
      await pause(STORAGE_REST_MS, signal)
    }
  }
}

/** Delivers what can be claimed within `ms`, retries included; starts nothing later, and ends as soon as it can. */
export async function deliverFor(ms, { outbox, worker, onChange }) {
  const time = AbortSignal.timeout(ms)
  const end = Date.now() + ms
  for (;;) {
    const { nextDeadline } = await outbox.stats()
    if (nextDeadline === null || nextDeadline > end) return
    if (!(await outbox.wait(time))) return
    await deliverOne({ outbox, worker, onChange })
  }
}

async function deliverOne({ outbox, worker, onChange }) {
  const found = await outbox.runOnce(worker, async (job) => {
    onChange()
    await post(job.payload, worker)
  })
  if (found) onChange()
  return found
}

// To return is to acknowledge; to throw is a retry after a backoff, until the note is out of attempts.
async function post(note, worker) {
  const response = await fetch("api/notes", {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": note.id, "delivered-by": worker },
    body: JSON.stringify(note),
    signal: AbortSignal.timeout(ATTEMPT_MS_MAX)
  })
  if (!response.ok) throw new Error(`the server answered ${response.status}`)
}

function nextEvent(target, name, signal) {
  return new Promise((resolve) => {
    const done = () => {
      target.removeEventListener(name, done)
      signal.removeEventListener("abort", done)
      resolve()
    }
    target.addEventListener(name, done)
    signal.addEventListener("abort", done)
    if (signal.aborted) done()
  })
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener("abort", done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener("abort", done)
    if (signal.aborted) done()
  })
}
