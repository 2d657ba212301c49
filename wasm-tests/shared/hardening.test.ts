// What users and their tools do to a store that no table of arguments shows.

import { AlkstoreError, memory, open } from "alkstore-wasm"
import { ManualClock } from "alkstore-wasm/testing"
import { describe, expect, test } from "vitest"
import { claim, follow, must, rejection, SECOND, start, startQueue, untyped } from "./support.js"

describe("a worker id", () => {
  test("of null is refused on a handle that has not claimed yet, and hands nothing out", async () => {
    const { queue } = await startQueue()
    const id = await queue.enqueue("x")
    for (const call of [() => queue.claimOne(untyped(null)), () => queue.claimBatch(untyped(null), Number.NaN)]) {
      const error = await rejection(call)
      expect([error.code, error.message]).toEqual(["InvalidArgument", expect.stringContaining("workerId")])
    }
    expect(must(await queue.get(id)).attempts).toBe(0)
  })
})

describe("a signal", () => {
  test("that fires a listener it was told to remove stops nothing, and harms nothing", async () => {
    const { store, queue } = await startQueue()
    await queue.enqueue("x")
    let fire = (): void => {}
    const signal = { aborted: false, addEventListener: (_: string, f: () => void) => void (fire = f), removeEventListener() {} }
    expect(await queue.wait(untyped(signal))).toBe(true)
    fire()
    expect((await store.queue("mail").stats()).ready).toBe(1)
  })

  test("that throws when it lets a listener go does not replace the answer", async () => {
    const { queue } = await startQueue()
    await queue.enqueue("x")
    const signal = {
      aborted: false,
      addEventListener() {},
      removeEventListener() {
        throw new Error("mine")
      }
    }
    expect(await queue.wait(untyped(signal))).toBe(true)
  })

  test("has one listener, however many loops it stops", async () => {
    const { store, queue } = await startQueue()
    let listeners = 0
    const target = new AbortController()
    const signal = {
      get aborted() {
        return target.signal.aborted
      },
      addEventListener: (type: string, f: () => void) => (listeners++, target.signal.addEventListener(type, f)),
      removeEventListener: (type: string, f: () => void) => (listeners--, target.signal.removeEventListener(type, f))
    }
    const waits = Array.from({ length: 20 }, () => queue.wait(untyped(signal)))
    const running = store.runSchedules(untyped(signal))
    expect(listeners).toBe(1)
    target.abort()
    expect(await Promise.all(waits)).toEqual(Array(20).fill(false))
    await running
    expect(listeners).toBe(0)
  })
})

describe("a delivery", () => {
  test("may call its own runOnce two thousand deep", async () => {
    const { store } = await start()
    const outbox = store.outbox("hooks")
    for (let n = 0; n < 2_000; n++) await outbox.enqueue(n)
    let delivered = 0
    const deliver = async (): Promise<void> => {
      await outbox.runOnce("w", deliver)
      delivered += 1
    }
    await outbox.runOnce("w", deliver)
    expect(delivered).toBe(2_000)
    expect(await outbox.stats()).toMatchObject({ pending: 0, processing: 0, dead: 0 })
  })
})

describe("a payload that can no longer be copied", () => {
  test("fails the call that reads it, and nothing else", async () => {
    const { store, queue } = await startQueue()
    const id = await queue.enqueue(new Map([[1, new Date(0)]]))
    const clone = globalThis.structuredClone
    globalThis.structuredClone = () => {
      throw new RangeError("no room")
    }
    try {
      expect((await rejection(() => queue.get(id))).code).toBe("Codec")
      expect((await rejection(() => queue.claimOne("w"))).code).toBe("Codec")
    } finally {
      globalThis.structuredClone = clone
    }
    expect(must(await queue.get(id)).payload).toEqual(new Map([[1, new Date(0)]]))
    expect((await store.queue("mail").stats()).processing).toBe(1)
  })
})

describe("a transaction", () => {
  test("is over when a synchronous body has returned", async () => {
    const { store } = await start()
    let late: Promise<unknown> = Promise.resolve()
    await store.transaction((tx) => {
      void tx.enqueue("mail", 1)
      late = Promise.resolve().then(() => rejection(() => tx.enqueue("mail", 2)))
    })
    expect(await late).toMatchObject({ code: "Closed" })
    expect((await store.queue("mail").stats()).pending).toBe(1)
  })
})

describe("a schedule", () => {
  test("has its spec checked before its payload is looked at", async () => {
    const { store } = await start()
    let read = false
    const payload = {
      get x() {
        read = true
        return 1
      }
    }
    expect((await rejection(() => store.schedule("s", "bad", "mail", payload))).code).toBe("InvalidSpec")
    expect((await rejection(() => store.schedule("s", "bad", "mail", () => {}))).code).toBe("InvalidSpec")
    expect(read).toBe(false)
  })
})

describe("a runner", () => {
  test("that a failing clock ends gives its lease back, so running again leads", async () => {
    const clock = new ManualClock()
    let broken = 0
    const own = {
      now: () => (broken-- > 0 ? Number.NaN : clock.now()),
      sleep: (ms: number, signal: AbortSignal) => clock.sleep(ms, signal)
    }
    const store = await open({ clock: own })
    const running = follow(store.runSchedules())
    await clock.settle()
    broken = 1
    await clock.advance(2 * SECOND)
    expect(running.error).toMatchObject({ code: "InvalidArgument", message: expect.stringContaining("clock.now()") })
    const stop = new AbortController()
    const again = follow(store.runSchedules(stop.signal))
    await clock.advance(11 * SECOND)
    expect(again.state).toBe("waiting")
    stop.abort()
    await store.close()
  })
})

describe("a clock of the user's own", () => {
  test("sees its signal abort while a sleep goes on, and not once it is over", async () => {
    const manual = new ManualClock()
    const signals: AbortSignal[] = []
    const clock = {
      now: () => manual.now(),
      sleep: (ms: number, signal: AbortSignal) => (signals.push(signal), manual.sleep(ms, signal))
    }
    const store = await open({ clock })
    const stop = new AbortController()
    const running = follow(store.runSchedules(stop.signal))
    await manual.advance(5 * SECOND)
    const aborted = (): boolean[] => signals.map((signal) => signal.aborted)
    expect(aborted()).toEqual([false, false, false])
    stop.abort()
    await manual.settle()
    expect(running.state).toBe("resolved")
    expect(aborted()).toEqual([false, false, true])
    await store.close()
  })

  test("may reject an aborted sleep: no real timer is started instead", async () => {
    const real = globalThis.setTimeout
    let timers = 0
    const clock = {
      now: () => 1_700_000_000_000,
      sleep: (_: number, signal: AbortSignal) =>
        new Promise<void>((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))))
    }
    const store = await open({ clock })
    globalThis.setTimeout = ((...all: Parameters<typeof real>) => (timers++, real(...all))) as typeof real
    try {
      const stop = new AbortController()
      const waiting = store.queue("mail").wait(stop.signal)
      stop.abort()
      expect(await waiting).toBe(false)
      await store.close()
      for (let turn = 0; turn < 20; turn++) await null
    } finally {
      globalThis.setTimeout = real
    }
    expect(timers).toBe(0)
  })
})

describe("the manual clock", () => {
  test("takes overlapping advances one after another", async () => {
    const clock = new ManualClock(0)
    await Promise.all([clock.advance(100), clock.advance(50)])
    expect(clock.now()).toBe(150)
    void clock.sleep(10).then(() => clock.advance(5))
    await clock.advance(20)
    await clock.advance(0)
    expect(clock.now()).toBe(175)
  })

  test("goes on though a signal does not let go of its listener", async () => {
    const clock = new ManualClock(0)
    const signal = { aborted: false, addEventListener() {}, removeEventListener: () => { throw new Error("no") } }
    const sleeping = clock.sleep(5, untyped(signal))
    await rejection(() => clock.advance(10)).catch(() => undefined)
    await sleeping
    await clock.advance(10)
    expect(clock.pending).toBe(0)
  })

  test("reads duration strings exactly, without an engine", async () => {
    const clock = new ManualClock(0)
    for (const [by, now] of [["1.005s", 1_005], ["0.29s", 1_295], ["0.9999999999ms", 1_295], ["1m", 61_295]] as const) {
      await clock.advance(by)
      expect(clock.now()).toBe(now)
    }
    expect((await rejection(() => clock.advance("1.s"))).code).toBe("InvalidArgument")
  })
})

test("a Proxy around a storage is none", async () => {
  expect((await rejection(() => open({ storage: new Proxy(memory(), {}) }))).code).toBe("InvalidArgument")
})

describe("what is printed", () => {
  test("says what it is, minified or not", async () => {
    const { store, queue } = await startQueue()
    await queue.enqueue("x")
    const lock = must(await store.tryLock("l", "me", "1s"))
    const named = [store, queue, store.outbox("o"), await claim(queue), lock, new ManualClock(), new AlkstoreError("Closed", "x")]
    const names = named.map((value) => value.constructor.name)
    expect(names).toEqual(["Store", "Queue", "Outbox", "ClaimedJob", "Lock", "ManualClock", "AlkstoreError"])
  })
})
