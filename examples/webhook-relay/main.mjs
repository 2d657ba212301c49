#!/usr/bin/env node
// Relays webhooks from a transactional outbox to an HTTP receiver that fails now and then, and checks the books.
//
//   node examples/webhook-relay/main.mjs [FILE.jsonl]

import { parseArgs } from "node:util"

import { faultPlan } from "./faults.mjs"
import { InputError, examplePayloads, filePayloads } from "./payloads.mjs"
import { createPaint, createProgress } from "./progress.mjs"
import { startReceiver } from "./receiver.mjs"
import { relay } from "./relay.mjs"
import { findProblems, summaryLines } from "./summary.mjs"

const USAGE = `usage: npm start [-- FILE.jsonl]

Without a file, relays every payload of @octokit/webhooks-examples. With one, relays its lines, each a JSON value.`

/** The same seed fails the same deliveries in every run. */
const FAULT_SEED = 1
/** A run that takes longer has failed; a long file of one's own gets more, by the line. */
const LIMIT_MS = 30_000
const LIMIT_PER_PAYLOAD_MS = 15
/** How long running deliveries may take to end after a stop before the process gives up on them. */
const GRACE_MS = 12_000
/** `npm start` passes a Ctrl-C on to a process that the terminal has signalled already: both are one request. */
const SAME_SIGNAL_MS = 1_000

const EXIT = { ok: 0, failed: 1, input: 2, SIGINT: 130, SIGTERM: 143 }

process.stdout.on("error", (error) => process.exit(error.code === "EPIPE" ? EXIT.ok : EXIT.failed))
process.exitCode = await main(process.argv.slice(2))

async function main(args) {
  try {
    const file = parseArguments(args)
    if (file === "--help") {
      console.log(USAGE)
      return EXIT.ok
    }
    const { deliveries, source } = file === undefined ? await examplePayloads() : await filePayloads(file)
    if (deliveries.length === 0) {
      console.log(`${source} holds no payloads: nothing to relay`)
      return EXIT.ok
    }
    return await run(deliveries, source)
  } catch (error) {
    console.error(error instanceof InputError ? `webhook-relay: ${error.message}` : error)
    return error instanceof InputError ? EXIT.input : EXIT.failed
  }
}

function parseArguments(args) {
  try {
    const options = { help: { type: "boolean", short: "h" } }
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
    if (values.help) return "--help"
    if (positionals.length > 1) throw new Error("one file at most")
    return positionals[0]
  } catch (error) {
    throw new InputError(`${error.message}\n\n${USAGE}`)
  }
}

/** Resolves with the exit code. Everything that ends a run early is the abort reason of one signal. */
async function run(deliveries, source) {
  const started = performance.now()
  const limit = Math.max(LIMIT_MS, deliveries.length * LIMIT_PER_PAYLOAD_MS)
  const stopping = new AbortController()
  const release = stopOn(stopping, limit)
  const progress = createProgress(process.stdout, { total: deliveries.length })
  const receiver = await startReceiver({ faultOf: faultPlan(FAULT_SEED) })
  let ledger
  try {
    progress.line(`relaying ${deliveries.length} payloads (${source}) to ${receiver.url}`)
    ledger = await relay(deliveries, { url: receiver.url, stopping, progress })
  } finally {
    progress.end()
    await receiver.close()
    release()
  }

  const { reason } = stopping.signal
  const books = { source, deliveries, ledger, received: receiver.books(), elapsed: performance.now() - started }
  const problems = findProblems(books, { complete: reason === "finished" })
  if (reason === "time limit") problems.unshift(`not finished within ${limit / 1000} s`)

  const paint = createPaint(process.stdout)
  if (reason in EXIT) console.log(`stopped by ${reason}`)
  console.log(summaryLines(books, paint).join("\n"))
  for (const problem of problems) console.error(paint("red", `webhook-relay: ${problem}`))
  if (reason in EXIT) return EXIT[reason]
  return problems.length === 0 ? EXIT.ok : EXIT.failed
}

/** Aborts on a signal or at the time limit; a later second signal, or a stop that hangs, ends the process. */
function stopOn(stopping, limit) {
  const giveUp = (code, why) => {
    console.error(`webhook-relay: ${why}`)
    process.exit(code)
  }
  const timers = [setTimeout(() => stopping.abort("time limit"), limit)]
  stopping.signal.addEventListener("abort", () => {
    const why = `still not stopped ${GRACE_MS / 1000} s after: ${stopping.signal.reason}`
    timers.push(setTimeout(giveUp, GRACE_MS, EXIT.failed, why))
  })

  let signalledAt = null
  const onSignal = (name) => {
    if (signalledAt !== null && performance.now() - signalledAt > SAME_SIGNAL_MS) giveUp(EXIT[name], "stopped at once")
    signalledAt ??= performance.now()
    stopping.abort(name)
  }
  process.on("SIGINT", onSignal)
  process.on("SIGTERM", onSignal)

  return () => {
    timers.forEach(clearTimeout)
    process.off("SIGINT", onSignal)
    process.off("SIGTERM", onSignal)
  }
}
