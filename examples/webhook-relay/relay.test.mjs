// The relay as a user runs it, in child processes, and its pieces.

import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, describe, it } from "node:test"
import { fileURLToPath } from "node:url"

import { FAULTS_PER_DELIVERY_MAX, FAULT_SHARES, faultPlan } from "./faults.mjs"
import { InputError, examplePayloads, filePayloads } from "./payloads.mjs"
import { createProgress } from "./progress.mjs"
import { startReceiver } from "./receiver.mjs"
import { findProblems } from "./summary.mjs"

const MAIN = fileURLToPath(new URL("./main.mjs", import.meta.url))
/** The seed that main.mjs fixes. */
const SEED = 1

let directory
before(async () => {
  directory = await mkdtemp(join(tmpdir(), "webhook-relay-"))
})
after(() => rm(directory, { recursive: true }))

async function file(name, content) {
  const path = join(directory, name)
  await writeFile(path, content)
  return path
}

/** Runs main.mjs to its end; `onOutput(stdout so far, child)` sees every piece of output. */
async function run(args, onOutput = () => {}) {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ["ignore", "pipe", "pipe"] })
  let stdout = ""
  let stderr = ""
  child.stdout.setEncoding("utf8").on("data", (text) => onOutput((stdout += text), child))
  child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text))
  const [code, signal] = await once(child, "close")
  return { code, signal, stdout, stderr }
}

/** The number in a row of the summary, and the note behind it. */
function row(stdout, name) {
  const match = stdout.match(new RegExp(`^  ${name} +([0-9.]+)(?: s)?(?:  (.*))?$`, "m"))
  assert.ok(match, `no row "${name}" in:\n${stdout}`)
  return { value: Number(match[1]), note: match[2] ?? "" }
}

/** The first line numbers whose deliveries fail once, one of each kind, and `clean` ones that never fail. */
function chosenLines({ clean }) {
  const faultOf = faultPlan(SEED)
  const wanted = new Map([...Object.keys(FAULT_SHARES).map((kind) => [kind, 1]), [null, clean]])
  const lines = new Set()
  for (let n = 1; [...wanted.values()].some((left) => left > 0); n += 1) {
    const [first, second] = [faultOf(`line-${n}`, 1), faultOf(`line-${n}`, 2)]
    if (wanted.get(first) === 0 || (first !== null && second !== null)) continue
    wanted.set(first, wanted.get(first) - 1)
    lines.add(n)
  }
  return lines
}

describe("npm start -- FILE.jsonl", { concurrency: true }, () => {
  it("delivers every line in spite of every kind of fault, and its numbers add up", async () => {
    const chosen = chosenLines({ clean: 5 })
    const numbers = Array.from({ length: Math.max(...chosen) }, (_, i) => i + 1)
    const text = numbers.map((n) => (chosen.has(n) ? `{"n": ${n}.0}` : "")).join("\n")
    const { code, stdout, stderr } = await run([await file("small.jsonl", text)])

    assert.equal(stderr, "")
    assert.equal(code, 0)
    for (const name of ["payloads", "queued", "delivered", "received", "audit jobs"]) {
      assert.equal(row(stdout, name).value, 8, name)
    }
    assert.deepEqual(row(stdout, "attempts"), { value: 11, note: "= 8 delivered + 3 retried" })
    assert.deepEqual(row(stdout, "failures"), {
      value: 3,
      note: "= 1 answered 500 + 1 dropped before receipt + 1 dropped after receipt",
    })
    assert.deepEqual(row(stdout, "duplicates"), { value: 1, note: "1 after a dropped answer, 0 unexplained" })
    assert.equal(row(stdout, "dead letters").value, 0)
    assert.ok(row(stdout, "reports").value >= 1)
    assert.doesNotMatch(stdout, /\x1b/, "no control sequences without a terminal")
  })

  for (const [name, exitCode] of [["SIGINT", 130], ["SIGTERM", 143]]) {
    it(`ends cleanly on ${name}, also on one that comes twice, with the summary so far`, async () => {
      const path = await file(`${name}.jsonl`, "{}\n".repeat(300))
      let sent = 0
      const { code, stdout, stderr } = await run([path], (soFar, child) => {
        if (/^queued 300 /m.test(soFar) && sent < 2) sent += child.kill(name) + child.kill(name)
      })

      assert.equal(stderr, "")
      assert.equal(code, exitCode)
      assert.match(stdout, new RegExp(`^stopped by ${name}$`, "m"))
      const { value: delivered, note } = row(stdout, "delivered")
      const waiting = Number(note.match(/(\d+) still waiting/)[1])
      assert.equal(delivered + waiting, row(stdout, "queued").value)
    })
  }

  const refusals = [
    ["a malformed line, by number", () => file("bad.jsonl", '{"a":1}\n\n{"a":\n'), /bad\.jsonl:3: not a JSON value/],
    ["a missing file", () => join(directory, "missing.jsonl"), /cannot read .*missing\.jsonl: no such file/],
    ["a directory", () => directory, /cannot read .*EISDIR/],
    ["an unknown option", () => "--fast", /Unknown option '--fast'[^]*usage: npm start/],
  ]
  for (const [what, argument, message] of refusals) {
    it(`refuses ${what} with exit code 2 and relays nothing`, async () => {
      const { code, stdout, stderr } = await run([await argument()])
      assert.match(stderr, message)
      assert.doesNotMatch(stderr, /^ +at /m, "no stack trace")
      assert.equal(stdout, "")
      assert.equal(code, 2)
    })
  }

  it("says so when the file is empty", async () => {
    const { code, stdout } = await run([await file("empty.jsonl", "")])
    assert.match(stdout, /empty\.jsonl holds no payloads/)
    assert.equal(code, 0)
  })
})

describe("payloads", () => {
  it("are all examples of all editions, each under an id of its own", async () => {
    const { deliveries, source } = await examplePayloads()
    assert.match(source, /6 editions/)
    assert.ok(deliveries.length > 700)
    assert.equal(new Set(deliveries.map(({ id }) => id)).size, deliveries.length)
    assert.ok(deliveries.every(({ body }) => typeof body === "object"))
  })

  it("are a file's lines as they stand: big numbers, line separators in strings, CRLF, no last newline", async () => {
    const path = await file("lines.jsonl", '\ufeff12345678901234567890\r\n"a\u2028b"\n\r\n null')
    const { deliveries } = await filePayloads(path)
    assert.deepEqual(
      deliveries.map(({ id, body }) => [id, body]),
      [["line-1", "12345678901234567890"], ["line-2", '"a\u2028b"'], ["line-4", "null"]],
    )
  })

  it("may be lines longer than what is read at once", async () => {
    const long = JSON.stringify("x".repeat(1_000_000))
    const { deliveries } = await filePayloads(await file("long.jsonl", `1\n${long}\n2`))
    assert.deepEqual(deliveries.map(({ body }) => body.length), [1, long.length, 1])
  })

  it("must be UTF-8", async () => {
    const path = await file("latin.jsonl", Buffer.from([0x31, 0x0a, 0x22, 0xe9, 0x22]))
    const refused = (error) => error instanceof InputError && /:2: not UTF-8$/.test(error.message)
    await assert.rejects(filePayloads(path), refused)
  })
})

describe("the fault plan", () => {
  it("depends on nothing but seed, delivery and attempt, and spares every attempt past the limit", () => {
    const draw = (seed) => Array.from({ length: 10_000 }, (_, i) => faultPlan(seed)(`d-${i}`, 1))
    assert.deepEqual(draw(7), draw(7))
    assert.notDeepEqual(draw(7), draw(8))
    for (const [kind, share] of Object.entries(FAULT_SHARES)) {
      const percent = draw(7).filter((drawn) => drawn === kind).length / 100
      assert.ok(Math.abs(percent - share) < 1.5, `${kind}: ${percent} %`)
    }
    const spared = Array.from({ length: 1_000 }, (_, i) => faultPlan(7)(`d-${i}`, FAULTS_PER_DELIVERY_MAX + 1))
    assert.ok(spared.every((fault) => fault === null))
  })
})

describe("the receiver", () => {
  it("fails as planned and takes a repeated delivery in once", async () => {
    const plan = ["answered500", "droppedBefore", "droppedAfter", null]
    const receiver = await startReceiver({ faultOf: (id, n) => plan[n - 1] })
    const post = () =>
      fetch(receiver.url, { method: "POST", headers: { "idempotency-key": "d-1" }, body: "{}" }).then(
        (response) => response.status,
        () => "dropped",
      )
    const outcomes = [await post(), await post(), await post(), await post()]
    await receiver.close()

    assert.deepEqual(outcomes, [500, "dropped", "dropped", 200])
    const { requests, faults, received } = receiver.books()
    assert.equal(requests, 4)
    assert.deepEqual(faults, { answered500: 1, droppedBefore: 1, droppedAfter: 1 })
    assert.equal(received.size, 1)
    assert.equal(received.get("d-1").receipts, 2)
    assert.equal(received.get("d-1").answersDropped, 1)
  })
})

describe("the books", () => {
  const none = { pending: 0, processing: 0, dead: 0 }
  // sha256 of "1"
  const digest = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"

  /** Two deliveries, one of them received twice because its first answer was dropped; `spoil` changes them. */
  function problems(spoil, complete = true) {
    const books = {
      deliveries: [{ id: "a", body: "1" }, { id: "b", body: "1" }],
      ledger: {
        transactions: 1, queued: 2, attempts: 3, retried: 1, dead: 0, reports: 1,
        delivered: ["a", "b"], audited: ["a", "b"],
        stats: { outbox: { ...none }, audit: { ...none }, reports: { ...none } },
      },
      received: {
        requests: 3,
        faults: { answered500: 0, droppedBefore: 0, droppedAfter: 1 },
        received: new Map([
          ["a", { digest, receipts: 1, answersDropped: 0 }],
          ["b", { digest, receipts: 2, answersDropped: 1 }],
        ]),
      },
    }
    spoil(books)
    return findProblems(books, { complete }).join("\n")
  }

  const spoilt = [
    ["a lost delivery", ({ received: { received } }) => received.delete("a"), /never reached the receiver, first a/],
    ["a doubled one", ({ received: { received } }) => (received.get("a").receipts = 2), /1 receipts were doubled/],
    ["one delivered after its ack", ({ ledger }) => ledger.delivered.push("a"), /delivered again/],
    ["an altered payload", ({ deliveries }) => (deliveries[0].body = "2"), /arrived altered, first a/],
    ["a dead letter", ({ ledger: { stats } }) => (stats.outbox.dead = 1), /dead letters/],
    ["one left behind", ({ ledger: { stats } }) => (stats.outbox.pending = 1), /queued and delivered differ: 2 and 1/],
    ["one never queued", ({ ledger }) => (ledger.queued = 1), /payloads and queued differ: 2 and 1/],
    ["a missing audit job", ({ ledger }) => ledger.audited.pop(), /queued and audited differ: 2 and 1/],
    ["an ack in spite of a fault", ({ received: { faults } }) => (faults.answered500 = 1), /only 1 attempts failed/],
    ["a request too many", ({ received }) => (received.requests = 4), /4 requests came of 3 attempts/],
  ]
  for (const [what, spoil, message] of spoilt) {
    it(`show ${what}`, () => assert.match(problems(spoil), message))
  }

  it("are in order when the only duplicate follows a dropped answer", () => {
    assert.equal(problems(() => {}), "")
  })

  it("are in order for a stopped run that leaves deliveries waiting", () => {
    const stop = ({ ledger, received }) => {
      ledger.delivered = ["a"]
      ledger.attempts = received.requests = 2
      ledger.stats.outbox.pending = 1
      received.received.get("b").receipts = 1
    }
    assert.equal(problems(stop, false), "")
  })
})

describe("progress", () => {
  const counts = { queued: 8, delivered: ["a", "b"], retried: 1, dead: 0, waiting: 6 }

  function drawn({ isTTY, env = {} }) {
    let written = ""
    let time = 0
    const out = { isTTY, columns: 100, write: (text) => (written += text) }
    const progress = createProgress(out, { total: 8, env, now: () => time })
    for (time = 0; time < 7_000; time += 1_000) {
      progress.update(counts)
      progress.report(counts)
    }
    progress.end()
    return written
  }

  it("redraws one line with a bar on a terminal", () => {
    const written = drawn({ isTTY: true })
    assert.equal(written.split("\n").length, 2)
    assert.ok(written.includes("█".repeat(6)))
    assert.ok(written.includes("queued 8  delivered 2  retried 1  dead 0  waiting 6"))
    assert.match(written, /\x1b\[32m/)
  })

  it("uses no colour under NO_COLOR", () => {
    assert.doesNotMatch(drawn({ isTTY: true, env: { NO_COLOR: "1" } }), /\x1b\[\d+m/)
  })

  it("prints a plain line every three seconds elsewhere", () => {
    const written = drawn({ isTTY: false })
    assert.deepEqual(written.match(/[\d.]+ s$/gm), ["0.0 s", "3.0 s", "6.0 s"])
    assert.doesNotMatch(written, /[\x1b\r]/)
  })
})

it("a terminal of 80 columns shows a bar beside the counts, on one line", () => {
  let drawn = ""
  const out = { isTTY: true, columns: 80, write: (text) => void (drawn = text) }
  const progress = createProgress(out, { total: 726, env: { NO_COLOR: "1" }, now: () => 0 })
  progress.report({ queued: 726, delivered: Array(363), retried: 227, dead: 0, waiting: 363 })
  const line = drawn.replace("\r\x1b[K", "")
  assert.match(line, /^█+░+ queued 726 {2}delivered 363 {2}retried 227 {2}dead 0 /)
  assert.ok(line.length < 80, line)
})
