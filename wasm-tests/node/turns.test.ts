// A store in memory answers in microtasks: its workers give the event loop a turn now and then.

import { expect, onTestFinished, test, vi } from "vitest"
import { open } from "alkstore-wasm"
import type { Outbox, Queue, Store } from "alkstore-wasm"
import { follow, must, start } from "../shared/support.js"

/** More than are worked through before a timer of a millisecond fires. */
const JOBS_MAX = 100_000
const CALLS_PER_TURN = 512

const microtasks = async (): Promise<void> => {
  for (let turn = 0; turn < 100; turn++) await null
}

async function opened(): Promise<Store> {
  const store = await open()
  onTestFinished(() => store.close())
  return store
}

const deliver = (outbox: Outbox, after: () => void) => (): Promise<boolean> =>
  outbox.runOnce("w", async () => {
    after()
    await outbox.enqueue("the next one")
  })

async function claim(queue: Queue, after: () => void): Promise<void> {
  const job = must(await queue.claimOne("w"))
  after()
  await queue.enqueue("the next one")
  await job.ack()
}

test.each<[what: string, work: (store: Store, stop: AbortSignal, after: () => void) => Promise<void>]>([
  ["a worker", async (store, stop, after) => {
    const outbox = store.outbox("mail")
    await outbox.enqueue("first")
    const next = deliver(outbox, after)
    while (await outbox.wait(stop)) await next()
  }],
  ["two workers", async (store, stop, after) => {
    const outbox = store.outbox("mail")
    for (const payload of ["first", "second"]) await outbox.enqueue(payload)
    const next = deliver(outbox, after)
    const work = async (): Promise<void> => {
      while (await outbox.wait(stop)) await next()
    }
    await Promise.all([work(), work()])
  }],
  ["one that only delivers", async (store, stop, after) => {
    const outbox = store.outbox("mail")
    await outbox.enqueue("first")
    const next = deliver(outbox, after)
    while (!stop.aborted) await next()
  }],
  ["one that waits and claims", async (store, stop, after) => {
    const queue = store.queue("mail")
    await queue.enqueue("first")
    while (await queue.wait(stop)) await claim(queue, after)
  }],
])("%s that never runs out of jobs stops when a timer says so", async (_, work) => {
  const stop = new AbortController()
  setTimeout(() => stop.abort(), 1)
  let jobs = 0
  await work(await opened(), stop.signal, () => {
    jobs += 1
    if (jobs === JOBS_MAX) stop.abort(new Error("no timer had its turn"))
  })
  expect(jobs).toBeLessThan(JOBS_MAX)
})

test("a delivery is acknowledged before the turn that it gives", async () => {
  const outbox = (await opened()).outbox("mail")
  for (let n = 1; n < CALLS_PER_TURN; n++) expect(await outbox.runOnce("w", () => {})).toBe(false)
  await outbox.enqueue("letter")
  const run = follow(outbox.runOnce("w", () => {}))
  await microtasks()
  expect(run.state).toBe("waiting")
  expect(await outbox.stats()).toMatchObject({ pending: 0, processing: 0 })
  await vi.waitFor(() => expect(run).toEqual({ state: "resolved", value: true }))
})

test.each<[what: string, end: (store: Store, stop: AbortController) => unknown, value: boolean]>([
  ["is stopped", (_, stop) => stop.abort(), false],
  ["is closed", (store) => store.close(), false],
  ["goes on", () => {}, true],
])("a wait that %s in the turn that it gives says so", async (_, end, value) => {
  const [store, stop] = [await opened(), new AbortController()]
  const queue = store.queue("mail")
  await queue.enqueue("letter")
  for (let n = 1; n < CALLS_PER_TURN; n++) expect(await queue.wait(stop.signal)).toBe(true)
  const wait = follow(queue.wait(stop.signal))
  await microtasks()
  expect(wait.state).toBe("waiting")
  end(store, stop)
  await vi.waitFor(() => expect(wait).toEqual({ state: "resolved", value }))
})

/** A worker's loop over `jobs` that all become ready in ten seconds: how many it has delivered. */
async function deliverLater(store: Store, jobs: number): Promise<() => number> {
  const outbox = store.outbox("mail")
  for (let n = 0; n < jobs; n++) await outbox.enqueue(n, { delay: "10s" })
  let delivered = 0
  const work = async (): Promise<void> => {
    while (await outbox.wait()) await outbox.runOnce("w", () => void (delivered += 1))
  }
  void work().catch(() => undefined)
  return () => delivered
}

test("a manual clock waits for all that a sleeper starts, however many turns it gives", async () => {
  const { store, clock } = await start()
  const delivered = await deliverLater(store, 5_000)
  await clock.advance("10s")
  expect(delivered()).toBe(5_000)
})

test("but not for work without end", async () => {
  const { store, clock } = await start()
  const outbox = store.outbox("mail")
  let isOver = false
  onTestFinished(() => void (isOver = true))
  const work = async (): Promise<void> => {
    while (!isOver) await outbox.runOnce("w", () => {})
  }
  void work()
  await clock.settle()
})

test("under fake timers no turn is given: who lets time pass finds all done", async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const delivered = await deliverLater(await opened(), 5_000)
  await vi.advanceTimersByTimeAsync(10_000)
  expect(delivered()).toBe(5_000)
})

test.each([true, false])("a module that was loaded under fake timers has real turns; with MessageChannel: %s", async (has) => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  vi.resetModules()
  const { giveTurn, turnsGiven } = await import("../../js/turn.js")
  await giveTurn()
  expect(turnsGiven()).toBe(0)
  vi.useRealTimers()
  if (!has) vi.stubGlobal("MessageChannel", undefined)
  onTestFinished(() => void vi.unstubAllGlobals())
  await giveTurn()
  expect(turnsGiven()).toBe(1)
})

test("a module that is loaded where nothing of the process may be called has turns of a timer", async () => {
  class Refusing {
    constructor() {
      throw new Error("A Node.js API is used which is not supported")
    }
  }
  vi.stubGlobal("process", { getBuiltinModule: () => new Refusing() })
  vi.stubGlobal("setImmediate", undefined)
  vi.stubGlobal("MessageChannel", Refusing)
  onTestFinished(() => void vi.unstubAllGlobals())
  vi.resetModules()
  const { macrotask } = await import("../../js/turn.js")
  let isLater = false
  setTimeout(() => void (isLater = true), 0)
  await macrotask()
  expect(isLater).toBe(true)
})

test("where no turn is to be had the work goes on", async () => {
  const refuse = (): never => {
    throw new Error("Disallowed operation called within global scope")
  }
  vi.stubGlobal("setImmediate", refuse)
  onTestFinished(() => void vi.unstubAllGlobals())
  vi.resetModules()
  const { giveTurn } = await import("../../js/turn.js")
  await giveTurn()
})
