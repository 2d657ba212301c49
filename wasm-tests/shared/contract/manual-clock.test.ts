import { describe, expect, test } from "vitest"
import { ManualClock } from "alkstore-wasm/testing"
import { open } from "alkstore-wasm"
import { DAY, START, follow } from "../support.js"

const never = new AbortController().signal

test("it starts at 1,700,000,000,000 unless told otherwise", () => {
  expect(new ManualClock().now()).toBe(START)
  expect(new ManualClock(5).now()).toBe(5)
  expect(new ManualClock(-5).now()).toBe(-5)
  expect(new ManualClock(0).now()).toBe(0)
})

describe("advance", () => {
  test.each<[by: number | string, ms: number]>([
    [0, 0],
    [1, 1],
    [1500, 1500],
    ["1.5s", 1500],
    ["1d", DAY],
  ])("by %s moves the time by %d ms", async (by, ms) => {
    const clock = new ManualClock()
    await clock.advance(by)
    expect(clock.now()).toBe(START + ms)
  })

  test("wakes sleepers in time order, each at its own instant", async () => {
    const clock = new ManualClock(0)
    const woken: [ms: number, at: number][] = []
    for (const ms of [300, 100, 200, 100, 0]) void clock.sleep(ms, never).then(() => woken.push([ms, clock.now()]))
    await clock.advance(250)
    expect(woken).toEqual([[0, 0], [100, 100], [100, 100], [200, 200]])
    expect(clock.pending).toBe(1)
    expect(clock.now()).toBe(250)
    await clock.advance(50)
    expect(woken.at(-1)).toEqual([300, 300])
    expect(clock.pending).toBe(0)
  })

  test("lets the work of the woken settle in between, and wakes who goes to sleep meanwhile", async () => {
    const clock = new ManualClock(0)
    const at: number[] = []
    void (async () => {
      for (;;) {
        await clock.sleep(10, never)
        for (let i = 0; i < 5; i++) await null
        at.push(clock.now())
      }
    })()
    await clock.advance(45)
    expect(at).toEqual([10, 20, 30, 40])
    await clock.advance(5)
    expect(at).toEqual([10, 20, 30, 40, 50])
  })

  test("does not wake before the time", async () => {
    const clock = new ManualClock()
    const fate = follow(clock.sleep(2 ** 31 - 1, never))
    await clock.advance(2 ** 31 - 2)
    expect(fate.state).toBe("waiting")
    await clock.advance(1)
    expect(fate.state).toBe("resolved")
  })
})

describe("set", () => {
  test.each([START + DAY, START - DAY, 0, -5])("to %d is a jump of the wall clock: sleepers sleep on", async (now) => {
    const clock = new ManualClock()
    const fate = follow(clock.sleep(1000, never))
    clock.set(now)
    expect(clock.now()).toBe(now)
    await clock.settle()
    expect(fate.state).toBe("waiting")
    await clock.advance(999)
    expect(fate.state).toBe("waiting")
    await clock.advance(1)
    expect(fate.state).toBe("resolved")
    expect(clock.now()).toBe(now + 1000)
  })
})

describe("sleep", () => {
  test("resolves early when its signal aborts, and never rejects", async () => {
    const clock = new ManualClock()
    const stop = new AbortController()
    const fate = follow(clock.sleep(1000, stop.signal))
    expect(clock.pending).toBe(1)
    stop.abort(new Error("a reason"))
    await clock.settle()
    expect(fate).toMatchObject({ state: "resolved", value: undefined })
    expect(clock.pending).toBe(0)
    expect(clock.now()).toBe(START)
  })

  test("resolves where its signal has aborted already", async () => {
    const clock = new ManualClock()
    await clock.sleep(1000, AbortSignal.abort())
    expect(clock.pending).toBe(0)
  })
})

test("settle lets started work finish without moving the time", async () => {
  const clock = new ManualClock()
  const store = await open({ clock })
  const queue = store.queue("mail")
  const chain = follow((async () => {
    for (let i = 0; i < 5; i++) {
      await queue.enqueue(i)
      await (await queue.claimOne("w1"))?.ack()
    }
  })())
  await clock.settle()
  expect(chain.state).toBe("resolved")
  expect(clock.now()).toBe(START)
  await store.close()
})
