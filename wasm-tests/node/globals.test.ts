// What tests and programs put in the place of globals: it is none of the engine's end.

import { memory, open, type OpenOptions } from "alkstore-wasm"
import { afterEach, expect, test, vi } from "vitest"
import { must, rejection } from "../shared/support.js"

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

test.each<[what: string, crypto: unknown]>([
  ["without getRandomValues", { randomUUID: () => "x" }],
  ["whose getRandomValues fills nothing", { getRandomValues: (bits: unknown) => bits }],
  ["whose getRandomValues throws", { getRandomValues: () => { throw new Error("no") } }],
  ["that is not there", undefined]
])("a crypto %s: retries have their jitter, and one runner leads", async (_, crypto) => {
  vi.stubGlobal("crypto", crypto)
  const storage = memory()
  const [store, other] = await Promise.all([open({ storage }), open({ storage })])
  const queue = store.queue("mail")
  const waits = new Set<number>()
  for (let n = 0; n < 10; n++) {
    await queue.enqueue(n)
    const job = must(await queue.claimOne("w"))
    await job.retry()
    waits.add(must(await queue.get(job.id)).runAt - Date.now())
  }
  expect(waits.size).toBeGreaterThan(3)
  const stop = new AbortController()
  const running = store.runSchedules(stop.signal)
  expect((await rejection(() => other.runSchedules(stop.signal))).code).toBe("LeadershipLost")
  stop.abort()
  await running
  await Promise.all([store.close(), other.close()])
})

test.each<[what: string, now: () => unknown, text: RegExp]>([
  ["is a mock", () => undefined, /^Date\.now\(\) must be a finite number, got undefined$/],
  ["throws", () => { throw new Error("no") }, /^Date\.now\(\) must not throw, threw Error: no$/]
])("a Date.now that %s: InvalidArgument, and nothing happens", async (_, now, text) => {
  const storage = memory()
  const store = await open({ storage })
  const queue = store.queue("mail")
  await queue.enqueue("later", { delay: "1d" })
  const spy = vi.spyOn(Date, "now").mockImplementation(now as () => number)
  for (const call of [() => queue.stats(), () => queue.enqueue("now")]) {
    const error = await rejection(call)
    expect([error.code, error.message]).toEqual(["InvalidArgument", expect.stringMatching(text)])
  }
  spy.mockRestore()
  expect(await queue.stats()).toMatchObject({ pending: 1, ready: 0 })
  await store.close()
})

/** Timers that are no more than a count of those that are set: what clears one of another kind does nothing to it. */
function timersOfOneKind(): { set: typeof setTimeout; clear: typeof clearTimeout; left: () => number } {
  const timers = new Set<object>()
  const set = (): object => {
    const timer = {}
    timers.add(timer)
    return timer
  }
  return { set: set as never, clear: ((timer: object) => void timers.delete(timer)) as never, left: () => timers.size }
}

test.each<[who: string, options: OpenOptions]>([
  ["a store", {}],
  ["one whose clock's sleep rejects", { clock: { now: () => Date.now(), sleep: () => Promise.reject(new Error("no")) } }]
])("other timers take the place of those that %s sleeps on: none is left when it stops", async (_, options) => {
  const [first, second] = [timersOfOneKind(), timersOfOneKind()]
  const put = ({ set, clear }: typeof first): void => {
    vi.stubGlobal("setTimeout", set)
    vi.stubGlobal("clearTimeout", clear)
  }
  const store = await open(options)
  const stop = new AbortController()
  put(first)
  const waiting = store.queue("mail").wait(stop.signal)
  for (let turn = 0; turn < 50; turn++) await null
  expect(first.left()).toBe(1)
  put(second)
  stop.abort()
  expect(await waiting).toBe(false)
  await store.close()
  expect([first.left(), second.left()]).toEqual([0, 0])
})

test("without structuredClone, and Node's own, a payload is Codec and the message says why", async () => {
  const store = await open()
  vi.stubGlobal("structuredClone", undefined)
  vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined as never)
  const error = await rejection(() => store.queue("mail").enqueue(new Map([[1, { to: "a" }]])))
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
  const text = "the payload cannot be copied: this runtime has no structuredClone"
  expect([error.code, error.message]).toEqual(["Codec", text])
  expect(await store.queue("mail").stats()).toMatchObject({ pending: 0 })
  await store.close()
})

test("no memory for an instance is Unavailable, and says so", async () => {
  vi.resetModules()
  const { open: openAnew } = await import("../../js/store.js")
  const { init } = await import("../../js/load.js")
  vi.spyOn(WebAssembly, "Instance").mockImplementation(function () {
    throw new RangeError("out of memory")
  })
  const bytes = (await import("node:fs")).readFileSync(new URL("../../pkg/dist/engine.wasm", import.meta.url))
  const error: any = await init(bytes).then(() => null, (reason: unknown) => reason)
  expect([error.code, error.message]).toEqual(["Unavailable", "there is no memory for the engine: RangeError: out of memory"])
  vi.restoreAllMocks()
  await init(bytes)
  await (await openAnew()).close()
})

test("a manual clock that is imported under fake timers advances all the same", async () => {
  vi.useFakeTimers()
  vi.resetModules()
  const { ManualClock } = await import("../../js/testing.js")
  const clock = new ManualClock(0)
  const sleeping = clock.sleep(1_000)
  await clock.advance("1s")
  await sleeping
  expect(clock.now()).toBe(1_000)
})
