// A page with a strict content security policy in its header: what the package needs of it, and nothing else.

import assert from "node:assert/strict"
import { inEachEngine } from "./harness/each.mjs"

/** Everything is forbidden that is not named: connections, workers, frames, styles, and strings as code. */
const STRICT = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
const TRUSTED_TYPES = "require-trusted-types-for 'script'; trusted-types 'none'"

const PAGE = `<!doctype html>
<meta charset="utf-8">
<title>guarded</title>
<script src="/guarded.js" type="module"></script>
`

const scriptOf = (entry) => `
import { memory, open } from "/dist/${entry}.mjs"
import { indexedDb } from "/dist/indexeddb.mjs"

const violations = []
addEventListener("securitypolicyviolation", ({ effectiveDirective }) => violations.push(effectiveDirective))

async function roundTrip(store) {
  const outbox = store.outbox("mail")
  await outbox.enqueue({ to: "ada" })
  await store.schedule("cleanup", "@every 1h", "chores", null)
  const stop = new AbortController()
  const running = store.runSchedules(stop.signal)
  let delivered = null
  const deliver = ({ payload }) => void (delivered = payload.to)
  while (delivered === null && (await outbox.wait())) await outbox.runOnce("w", deliver)
  stop.abort()
  await running
  await store.close()
  return delivered
}

const tell = ({ code, message }) => ({ code, message })
globalThis.outcome = (async () => {
  const inMemory = await open({ storage: memory() }).then(roundTrip, tell)
  const durable = await open({ storage: indexedDb("guarded") }).then(roundTrip, tell)
  return { inMemory, durable, violations: [...new Set(violations)] }
})()
`

const DELIVERED = { inMemory: "ada", durable: "ada", violations: [] }

inEachEngine(({ engine, test }) => {
  // WebKit's driver evaluates by a string, which such a policy forbids.
  if (engine.name === "webkit") return

  test("'self' and 'wasm-unsafe-eval' in script-src are enough", async (context) => {
    const policy = `${STRICT}; script-src 'self' 'wasm-unsafe-eval'; ${TRUSTED_TYPES}`
    assert.deepEqual(await outcomeUnder(policy, "index", context), DELIVERED)
  })

  test("the entry that fetches its engine needs connect-src too", async (context) => {
    const policy = `${STRICT}; script-src 'self' 'wasm-unsafe-eval'`
    assert.deepEqual(await outcomeUnder(`${policy}; connect-src 'self'`, "url", context), DELIVERED)
    const { inMemory } = await outcomeUnder(policy, "url", context)
    assert.equal(inMemory.code, "Unavailable")
    assert.match(inMemory.message, /cannot fetch .*connect-src needs its origin/)
  })

  test("without 'wasm-unsafe-eval' a store cannot be opened, and the error says what is missing", async (context) => {
    const { inMemory, durable } = await outcomeUnder(`${STRICT}; script-src 'self'`, "index", context)
    for (const { code, message } of [inMemory, durable]) {
      assert.equal(code, "Unavailable")
      assert.match(message, /script-src needs 'wasm-unsafe-eval'/)
    }
  })
})

async function outcomeUnder(policy, entry, { server, browser }) {
  const headers = { "content-security-policy": policy }
  server.routes["/guarded"] = () => [200, "text/html", PAGE, headers]
  server.routes["/guarded.js"] = () => [200, "text/javascript", scriptOf(entry)]
  const tab = await (await browser()).open(`${server.origin}/guarded`)
  try {
    return await tab.evaluate("outcome")
  } finally {
    await tab.close()
  }
}
