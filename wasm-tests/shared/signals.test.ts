import { describe, expect, test } from "vitest"
import type { Store } from "alkstore-wasm"
import { claim, follow, rejection, start, startQueue } from "./support.js"

const USES = 10_000

type Listener = ((event: unknown) => void) | { handleEvent(event: unknown): void }

/** As little of a signal as may be given: no prototype, no options, nothing that removes itself. */
class PlainSignal {
  aborted = false
  peak = 0
  added = 0
  readonly listeners: Listener[] = []

  addEventListener = (type: string, listener: Listener): void => {
    if (type !== "abort" || this.listeners.includes(listener)) return
    this.listeners.push(listener)
    this.added++
    this.peak = Math.max(this.peak, this.listeners.length)
  }

  removeEventListener = (type: string, listener: Listener): void => {
    const at = this.listeners.indexOf(listener)
    if (type === "abort" && at >= 0) this.listeners.splice(at, 1)
  }

  abort(): void {
    this.aborted = true
    for (const listener of [...this.listeners]) {
      if (typeof listener === "function") listener({ type: "abort" })
      else listener.handleEvent({ type: "abort" })
    }
  }
}

const plain = (): { signal: AbortSignal; counter: PlainSignal } => {
  const counter = new PlainSignal()
  return { signal: counter as unknown as AbortSignal, counter }
}

describe(`a signal used ${USES} times has no listener left`, () => {
  test("by waits that find a job at once", async () => {
    const { queue } = await startQueue()
    const { signal, counter } = plain()
    await queue.enqueue(null)
    for (let i = 0; i < USES; i++) expect(await queue.wait(signal)).toBe(true)
    expect(counter.listeners).toHaveLength(0)
    expect(counter.peak).toBeLessThanOrEqual(1)
  })

  test("by waits that are woken", async () => {
    const { queue } = await startQueue()
    const { signal, counter } = plain()
    for (let i = 0; i < USES / 100; i++) {
      const waits = Array.from({ length: 100 }, () => queue.wait(signal))
      await queue.enqueue(null)
      expect(new Set(await Promise.all(waits))).toEqual(new Set([true]))
      await (await claim(queue)).ack()
    }
    expect(counter.listeners).toHaveLength(0)
    expect(counter.peak).toBeLessThanOrEqual(100)
  })

  test("by runs that are refused", async () => {
    const { store, clock } = await start()
    const { signal, counter } = plain()
    const leader = follow(store.runSchedules())
    await clock.settle()
    for (let i = 0; i < USES; i++)
      expect((await rejection(() => store.runSchedules(signal))).code).toBe("LeadershipLost")
    expect(counter.listeners).toHaveLength(0)
    expect(leader.state).toBe("waiting")
  })
})

describe("no listener stays behind", () => {
  test.each<[how: string, use: (store: Store, signal: AbortSignal) => Promise<unknown>]>([
    ["a wait", (store, signal) => store.queue("mail").wait(signal)],
    ["an outbox's wait", (store, signal) => store.outbox("mail").wait(signal)],
    ["a run", (store, signal) => store.runSchedules(signal)],
    ["a standby", (store, signal) => store.runSchedules(signal, { standby: true })],
  ])("of %s that the signal ended, or the store's close", async (_, use) => {
    for (const end of ["abort", "close"]) {
      const { store, clock } = await start()
      const { signal, counter } = plain()
      const fate = follow(use(store, signal))
      await clock.advance("5s")
      expect(fate.state).toBe("waiting")
      expect(counter.listeners.length).toBeGreaterThan(0)
      if (end === "abort") counter.abort()
      else await store.close()
      await clock.settle()
      expect(fate.state).toBe("resolved")
      expect(counter.listeners).toHaveLength(0)
      expect(clock.pending).toBe(0)
    }
  })

  test("of a long run: listeners do not pile up while it lasts", async () => {
    const { store, clock } = await start()
    const { signal, counter } = plain()
    await store.schedule("report", "@every 10s", "mail", null)
    const fate = follow(store.runSchedules(signal))
    await clock.advance("10m")
    expect(counter.peak).toBeLessThanOrEqual(3)
    counter.abort()
    await clock.settle()
    expect(fate.state).toBe("resolved")
    expect(counter.listeners).toHaveLength(0)
  })

  test("of a call that was refused for an argument", async () => {
    const { store } = await start()
    const { signal, counter } = plain()
    await rejection(() => store.runSchedules(signal, { standby: 1 as unknown as boolean }))
    expect(counter.listeners).toHaveLength(0)
  })
})

describe("a signal already aborted", () => {
  test.each<[kind: string, make: () => AbortSignal]>([
    ["the runtime's own", () => AbortSignal.abort()],
    ["one with a reason", () => AbortSignal.abort(new Error("a reason"))],
    ["a polyfill", () => {
      const { signal, counter } = plain()
      counter.abort()
      return signal
    }],
  ])("%s ends calls before they begin, and gets no listener", async (_, make) => {
    const { store, queue, clock } = await startQueue()
    const signal = make()
    expect(await queue.wait(signal)).toBe(false)
    expect(await store.runSchedules(signal)).toBe(undefined)
    expect(await store.runSchedules(signal, { standby: true })).toBe(undefined)
    expect(clock.pending).toBe(0)
    if (signal instanceof AbortSignal) return
    expect((signal as unknown as PlainSignal).listeners).toHaveLength(0)
  })
})

test("one signal may serve many calls, and ends them all", async () => {
  const { store, queue, clock } = await startQueue()
  const stop = new AbortController()
  const fates = [
    follow(queue.wait(stop.signal)), follow(queue.wait(stop.signal)), follow(store.outbox("mail").wait(stop.signal)),
    follow(store.runSchedules(stop.signal)), follow(store.runSchedules(stop.signal, { standby: true })),
  ]
  await clock.settle()
  expect(fates.map((fate) => fate.state)).toEqual(fates.map(() => "waiting"))
  stop.abort()
  await clock.settle()
  expect(fates.map((fate) => fate.value)).toEqual([false, false, false, undefined, undefined])
})

test("a signal that aborts while the call is being made is not missed", async () => {
  const { store, queue, clock } = await startQueue()
  for (const use of [
    (signal: AbortSignal) => queue.wait(signal),
    (signal: AbortSignal) => store.runSchedules(signal),
  ]) {
    const stop = new AbortController()
    const fate = follow<unknown>(use(stop.signal))
    stop.abort()
    await clock.settle()
    expect(fate.state).toBe("resolved")
  }
  expect(clock.pending).toBe(0)
})
