import { describe, expect, test } from "vitest"
import type { Lock } from "alkstore-wasm"
import { START, must, start } from "../support.js"

const TTL = 10_000
const at = (ms: number): number => START + ms

async function locked() {
  const fixture = await start()
  return { ...fixture, lock: must(await fixture.store.tryLock("report", "tab a", TTL)) }
}

describe("tryLock", () => {
  test("gives a lock that knows its name", async () => {
    const { lock } = await locked()
    expect(lock.name).toBe("report")
  })

  test.each<[after: number, owner: string, granted: boolean]>([
    [0, "tab b", false], [TTL - 1, "tab b", false], [TTL, "tab b", true], [TTL * 9, "tab b", true],
    [0, "tab a", true], [TTL - 1, "tab a", true], [TTL, "tab a", true],
  ])("%d ms into a lock of 10 s, for %s: %s", async (after, owner, granted) => {
    const { store, clock } = await locked()
    clock.set(at(after))
    expect((await store.tryLock("report", owner, TTL)) !== null).toBe(granted)
  })

  test("excludes by name alone", async () => {
    const { store } = await locked()
    expect(await store.tryLock("other", "tab b", TTL)).not.toBe(null)
  })

  test("excludes the other stores of a storage", async () => {
    const { reopen } = await locked()
    const other = await reopen()
    expect(await other.tryLock("report", "tab b", TTL)).toBe(null)
    expect(await other.tryLock("report", "tab a", TTL)).not.toBe(null)
  })

  test("grants one of many that ask at once", async () => {
    const { store } = await start()
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => store.tryLock("report", `tab ${i}`, TTL)))
    expect(answers.filter((lock) => lock !== null)).toHaveLength(1)
  })

  test("by the holder itself is granted without moving the deadline", async () => {
    const { store, clock } = await locked()
    clock.set(at(5000))
    expect(await store.tryLock("report", "tab a", 60_000)).not.toBe(null)
    clock.set(at(TTL))
    expect(await store.tryLock("report", "tab b", TTL)).not.toBe(null)
  })

  test("of a lapsed entry opens a new window, for its old owner too", async () => {
    const { store, clock } = await locked()
    clock.set(at(TTL))
    await store.tryLock("report", "tab a", 5000)
    clock.set(at(TTL + 4999))
    expect(await store.tryLock("report", "tab b", TTL)).toBe(null)
    clock.set(at(TTL + 5000))
    expect(await store.tryLock("report", "tab b", TTL)).not.toBe(null)
  })
})

describe("renew", () => {
  test("opens a new full window from now, longer or shorter", async () => {
    const { store, clock, lock } = await locked()
    clock.set(at(9000))
    expect(await lock.renew(TTL)).toBe(true)
    clock.set(at(18_999))
    expect(await store.tryLock("report", "tab b", TTL)).toBe(null)
    expect(await lock.renew(1)).toBe(true)
    clock.set(at(19_000))
    expect(await store.tryLock("report", "tab b", TTL)).not.toBe(null)
  })

  test.each<[when: string, change: (scene: Awaited<ReturnType<typeof locked>>) => unknown]>([
    ["at the deadline", ({ clock }) => clock.set(at(TTL))],
    ["once lapsed, though nobody took it: a renewal never revives", ({ clock }) => clock.set(at(TTL + 1))],
    ["once taken by another", async ({ clock, store }) => {
      clock.set(at(TTL))
      await store.tryLock("report", "tab b", TTL)
    }],
    ["once released", ({ lock }) => lock.release()],
  ])("is false %s", async (_, change) => {
    const scene = await locked()
    await change(scene)
    expect(await scene.lock.renew(TTL)).toBe(false)
  })

  test("that fails frees nothing: the next holder keeps the lock", async () => {
    const { store, clock, lock } = await locked()
    clock.set(at(TTL))
    await store.tryLock("report", "tab b", TTL)
    await lock.renew(TTL)
    await lock.release()
    expect(await store.tryLock("report", "tab c", TTL)).toBe(null)
  })
})

describe("release", () => {
  test.each<[when: string, released: boolean, change: (scene: Awaited<ReturnType<typeof locked>>) => unknown]>([
    ["while held", true, () => {}],
    ["once lapsed, nobody having taken it", true, ({ clock }) => clock.set(at(TTL * 3))],
    ["after a renewal", true, ({ lock }) => lock.renew(TTL)],
    ["for the second time", false, ({ lock }) => lock.release()],
    ["once taken by another", false, async ({ clock, store }) => {
      clock.set(at(TTL))
      await store.tryLock("report", "tab b", TTL)
    }],
    ["once taken and released by another", false, async ({ clock, store }) => {
      clock.set(at(TTL))
      await must(await store.tryLock("report", "tab b", TTL)).release()
    }],
  ])("%s: %s", async (_, released, change) => {
    const scene = await locked()
    await change(scene)
    expect(await scene.lock.release()).toBe(released)
  })

  test("frees the lock at once", async () => {
    const { store, lock } = await locked()
    await lock.release()
    expect(await store.tryLock("report", "tab b", TTL)).not.toBe(null)
  })
})

test("a lock is released at the end of an `await using` block", async () => {
  const { store } = await start()
  let held: Lock | null = null
  {
    await using lock = must(await store.tryLock("report", "tab a", TTL))
    held = lock
    expect(await store.tryLock("report", "tab b", TTL)).toBe(null)
  }
  expect(await held.release()).toBe(false)
  expect(await store.tryLock("report", "tab b", TTL)).not.toBe(null)
})

test("the end of an `await using` block leaves a lock alone that another has taken", async () => {
  const { store, clock, lock } = await locked()
  clock.set(at(TTL))
  await store.tryLock("report", "tab b", TTL)
  await lock[Symbol.asyncDispose]()
  expect(await store.tryLock("report", "tab c", TTL)).toBe(null)
})

test("locks take no part in transactions: one taken in a body that fails is held all the same", async () => {
  const { store } = await start()
  const boom = new Error("boom")
  await expect(
    store.transaction(async () => {
      await store.tryLock("report", "tab a", TTL)
      throw boom
    }),
  ).rejects.toBe(boom)
  expect(await store.tryLock("report", "tab b", TTL)).toBe(null)
})
