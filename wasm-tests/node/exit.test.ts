import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { expect, onTestFinished, test } from "vitest"

const HERE = fileURLToPath(new URL(".", import.meta.url))

/** A Node process that runs `source` as a module, with the package at hand. */
function run(source: string) {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
    cwd: HERE,
    stdio: ["ignore", "pipe", "pipe"],
  })
  onTestFinished(() => void child.kill("SIGKILL"))
  const lines: string[] = []
  const waiting = new Set<() => void>()
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line)
    for (const check of waiting) check()
  })
  let errors = ""
  child.stderr.on("data", (data: Buffer) => (errors += data.toString()))
  const exited = once(child, "close").then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as string | null,
    lines,
    errors,
  }))
  const says = (line: string): Promise<void> =>
    Promise.race([
      new Promise<void>((resolve) => {
        const check = (): void => {
          if (!lines.includes(line)) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      }),
      exited.then(({ code, errors }) => {
        if (!lines.includes(line)) throw new Error(`it ended with ${code} and never said "${line}": ${errors}`)
      }),
    ])
  return { child, exited, says }
}

const OPEN = `
  import { open } from "alkstore-wasm"
  const store = await open()
  const queue = store.queue("mail")
`
/** A timer that keeps no process alive, and a signal handler, which does not either. */
const STOP_ON_SIGTERM = `
  const stop = new AbortController()
  process.once("SIGTERM", () => stop.abort())
  setTimeout(() => console.log("still here"), 300).unref()
`

test("a process with nothing but an open store exits by itself", async () => {
  const { exited } = run(`${OPEN}
    await queue.enqueue("ready")
    await queue.enqueue("delayed", { delay: "1h", expires: "2h" })
    await queue.claimOne("w1")
    await store.tryLock("report", "tab", "1h")
    await store.schedule("report", "@every 1s", "mail", null)
    await store.transaction((tx) => tx.enqueue("mail", "staged"))
    console.log("done")
  `)
  expect(await exited).toEqual({ code: 0, signal: null, lines: ["done"], errors: "" })
})

test("so does one that closed its store with loops running", async () => {
  const { exited } = run(`${OPEN}
    const run = store.runSchedules()
    const wait = queue.wait()
    await queue.stats()
    await store.close()
    await run
    console.log(await wait)
  `)
  expect(await exited).toEqual({ code: 0, signal: null, lines: ["false"], errors: "" })
})

test("so does one that is not told to close, once its runner was refused", async () => {
  const { exited } = run(`${OPEN}
    const stop = new AbortController()
    const run = store.runSchedules(stop.signal)
    await queue.stats()
    await store.runSchedules().catch((error) => console.log(error.code))
    stop.abort()
    await run
  `)
  expect(await exited).toEqual({ code: 0, signal: null, lines: ["LeadershipLost"], errors: "" })
})

test.each([
  ["inside runSchedules", "store.runSchedules(stop.signal)"],
  [
    "inside runSchedules with a boundary far away",
    `store.schedule("yearly", "@every 365d", "mail", null).then(() => store.runSchedules(stop.signal))`,
  ],
  [
    "inside a worker that never runs out of jobs",
    `(async () => {
      const outbox = store.outbox("pages")
      await outbox.enqueue(1)
      while (await outbox.wait(stop.signal)) await outbox.runOnce("w", ({ payload }) => outbox.enqueue(payload + 1))
    })()`,
  ],
  ["waiting for a delayed job", `queue.enqueue(null, { delay: "1h" }).then(() => queue.wait(stop.signal))`],
])("a process %s stays alive until its signal, then exits", async (_, call) => {
  const { child, exited, says } = run(`${OPEN}${STOP_ON_SIGTERM}
    const loop = ${call}
    console.log("running")
    await loop
    console.log("stopped")
  `)
  await says("still here")
  child.kill("SIGTERM")
  expect(await exited).toEqual({ code: 0, signal: null, lines: ["running", "still here", "stopped"], errors: "" })
})

test("a schedule fires in real time, and its job wakes a waiting worker", async () => {
  const { exited } = run(`${OPEN}
    const stop = new AbortController()
    await store.schedule("tick", "@every 1s", "mail", "tick")
    const run = store.runSchedules(stop.signal)
    console.log(await queue.wait(), (await queue.claimOne("w1")).payload)
    stop.abort()
    await run
  `)
  expect(await exited).toEqual({ code: 0, signal: null, lines: ["true tick"], errors: "" })
})
