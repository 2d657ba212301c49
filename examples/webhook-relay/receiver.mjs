// The other side: an HTTP endpoint that receives webhooks, and fails some requests on purpose.
//
// A sender that promises at-least-once repeats a delivery whenever it has not seen the answer. So the receiver keeps
// the `Idempotency-Key` of what it has taken in, and answers a repetition without doing the work again.

import { createHash } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"

import { FAULT_SHARES } from "./faults.mjs"

/** Longer than any retry waits: an idle connection must not close just as the sender reuses it. */
const KEEP_ALIVE_MS = 60_000

/** Listens on a free port of 127.0.0.1. `faultOf(id, n)` says how the n-th request of a delivery fails, or null. */
export async function startReceiver({ faultOf }) {
  const requests = new Map() // id → how many have arrived
  const received = new Map() // id → { digest, receipts, answersDropped }
  const faults = Object.fromEntries(Object.keys(FAULT_SHARES).map((kind) => [kind, 0]))

  const server = createServer((request, response) => {
    // A sender that goes away in the middle of its request has delivered nothing.
    receive(request, response).catch(() => response.destroy())
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.listen(0, "127.0.0.1")
  await once(server, "listening")

  async function receive(request, response) {
    const id = request.headers["idempotency-key"]
    if (id === undefined) return answer(response, 400)

    const attempt = (requests.get(id) ?? 0) + 1
    requests.set(id, attempt)
    const fault = faultOf(id, attempt)
    if (fault !== null) faults[fault] += 1

    if (fault === "droppedBefore") return request.destroy()
    const digest = await digestOf(request)
    if (fault === "answered500") return answer(response, 500)
    takeIn(id, digest, { answerDropped: fault === "droppedAfter" })
    if (fault === "droppedAfter") return response.destroy()
    answer(response, 200)
  }

  function takeIn(id, digest, { answerDropped }) {
    const entry = received.get(id) ?? { digest, receipts: 0, answersDropped: 0 }
    entry.receipts += 1
    if (answerDropped) entry.answersDropped += 1
    received.set(id, entry)
  }

  return {
    url: `http://127.0.0.1:${server.address().port}/webhooks`,
    /** What was received, to be compared with what was sent. */
    books() {
      return { requests: sum([...requests.values()]), faults: { ...faults }, received }
    },
    async close() {
      const closed = once(server, "close")
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** Not a copy of the body but its digest: a body may be large. */
async function digestOf(body) {
  const hash = createHash("sha256")
  for await (const chunk of body) hash.update(chunk)
  return hash.digest("hex")
}

function answer(response, status) {
  response.writeHead(status).end()
}

function sum(numbers) {
  return numbers.reduce((total, n) => total + n, 0)
}
