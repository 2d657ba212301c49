import { describe, expect, test } from "vitest"
import type { Clock, Store } from "alkstore-wasm"
import type { ManualClock } from "alkstore-wasm/testing"
import { HOUR, MINUTE, START, follow, payloads, start } from "../support.js"
import type { Fate } from "../support.js"

const TTL = 10_000
const RENEWAL = 2_000

interface Runner {
  stop: AbortController
  fate: Fate<void>
}

function run(store: Store, options?: { standby?: boolean }): Runner {
  const stop = new AbortController()
  return { stop, fate: follow(store.runSchedules(stop.signal, options)) }
}

/** A clock that shares another's time and whose sleepers never wake while it is frozen: a suspended tab. */
function freezable(clock: ManualClock): Clock & { freeze(): void; thaw(): Promise<void> } {
  let thawed = Promise.resolve()
  let open = (): void => {}
  return {
    now: () => clock.now(),
    sleep: (ms, signal) => clock.sleep(ms, signal).then(() => thawed),
    freeze: () => {
      thawed = new Promise((resolve) => (open = resolve))
    },
    thaw: async () => {
      open()
      await clock.settle()
    },
  }
}

const count = async (store: Store): Promise<number> => (await store.queue("mail").stats()).pending
const refused = (code: string): object => ({ state: "rejected", error: expect.objectContaining({ code }) as unknown })

describe("a running leader", () => {
  test("fires each boundary at its time", async () => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 10s", "mail", null)
    const runner = run(store)
    await clock.advance(9_999)
    expect(await count(store)).toBe(0)
    await clock.advance(1)
    expect(await count(store)).toBe(1)
    await clock.advance("5m")
    expect(await count(store)).toBe(31)
    const created = (await store.queue("mail").list()).map((job) => job.createdAt)
    expect(created).toEqual(created.map((_, i) => START + (i + 1) * 10_000))
    expect(runner.fate.state).toBe("waiting")
    runner.stop.abort()
    await clock.settle()
    expect(runner.fate.state).toBe("resolved")
  })

  test("catches up at once with what was missed before it came", async () => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 10s", "mail", null)
    await clock.advance("35s")
    run(store)
    await clock.settle()
    expect(await count(store)).toBe(3)
  })

  test.each<[change: string, apply: (store: Store) => Promise<unknown>, after: number]>([
    ["a new schedule", (store) => store.schedule("extra", "@every 1s", "mail", null), 1000],
    ["a shorter interval", (store) => store.schedule("report", "@every 1s", "mail", null), 1000],
    ["an overdue one taken away and put back", async (store) => {
      await store.unschedule("report")
      await store.schedule("report", "@every 3s", "mail", null)
    }, 3000],
  ])("is woken by %s", async (_, apply, after) => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 1h", "mail", null)
    run(store)
    await clock.advance(500)
    await apply(store)
    await clock.advance(after - 1)
    expect(await count(store)).toBe(0)
    await clock.advance(1)
    expect(await count(store)).toBe(1)
  })

  test("sees a change through another store within a renewal at the latest", async () => {
    const { store, clock, reopen } = await start()
    const other = await reopen()
    run(store)
    await clock.settle()
    await other.schedule("report", "@every 1s", "mail", null)
    await clock.advance(1000 + RENEWAL)
    expect(await count(store)).toBeGreaterThanOrEqual(1)
  })

  test("stops firing what was unscheduled", async () => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 1s", "mail", null)
    run(store)
    await clock.advance("3s")
    await store.unschedule("report")
    await clock.advance("1m")
    expect(await count(store)).toBe(3)
  })

  test("keeps its lead over hours, by renewing", async () => {
    const { store, clock, reopen } = await start()
    const other = await reopen()
    const leader = run(store)
    await clock.settle()
    for (let i = 0; i < 40; i++) {
      await clock.advance("7s")
      const rival = run(other)
      await clock.settle()
      expect(rival.fate).toMatchObject(refused("LeadershipLost"))
    }
    expect(leader.fate.state).toBe("waiting")
  })

  test("asks no timer for more than it can hold", async () => {
    const { store, clock } = await start()
    const slices: number[] = []
    const sleep = clock.sleep.bind(clock)
    clock.sleep = (ms, signal) => {
      slices.push(ms)
      return sleep(ms, signal)
    }
    await store.schedule("report", "@every 1000d", "mail", null)
    run(store)
    await clock.advance("1m")
    expect(slices.length).toBeGreaterThanOrEqual(MINUTE / RENEWAL - 1)
    expect(slices.every((ms) => ms >= 0 && ms <= RENEWAL)).toBe(true)
  })
})

describe("stopping", () => {
  test("releases the lead and resolves at once, without a tick of the clock", async () => {
    const { store, clock, reopen } = await start()
    const leader = run(store)
    await clock.settle()
    leader.stop.abort()
    await clock.settle()
    expect(leader.fate).toMatchObject({ state: "resolved", value: undefined })
    expect(clock.pending).toBe(0)
    const next = run(await reopen())
    await clock.settle()
    expect(next.fate.state).toBe("waiting")
  })

  test("a signal already aborted resolves without leading", async () => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 1s", "mail", null)
    clock.set(START + 5000)
    await store.runSchedules(AbortSignal.abort())
    await store.runSchedules(AbortSignal.abort(), { standby: true })
    expect(await count(store)).toBe(0)
    expect(clock.pending).toBe(0)
  })

  test("a signal already aborted resolves also where another leads", async () => {
    const { store, clock } = await start()
    run(store)
    await clock.settle()
    await expect(store.runSchedules(AbortSignal.abort())).resolves.toBe(undefined)
  })

  test("without a signal it runs until the store closes", async () => {
    const { store, clock, reopen } = await start()
    await store.schedule("report", "@every 1s", "mail", null)
    const fate = follow(store.runSchedules())
    await clock.advance("3s")
    expect(await count(store)).toBe(3)
    await store.close()
    await clock.settle()
    expect(fate.state).toBe("resolved")
    const next = run(await reopen())
    await clock.settle()
    expect(next.fate.state).toBe("waiting")
  })

  test("may be followed by another run, again and again", async () => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 1s", "mail", null)
    for (let i = 1; i <= 20; i++) {
      const runner = run(store)
      await clock.advance("1s")
      runner.stop.abort()
      await clock.settle()
      expect(runner.fate.state).toBe("resolved")
      expect(await count(store)).toBe(i)
    }
    expect(clock.pending).toBe(0)
  })
})

describe("a second runner", () => {
  test.each([true, false])("is refused with LeadershipLost (on the same store: %s)", async (same) => {
    const { store, clock, reopen } = await start()
    run(store)
    await clock.settle()
    const second = run(same ? store : await reopen())
    await clock.settle()
    expect(second.fate).toMatchObject(refused("LeadershipLost"))
  })

  test.each([true, false])("is refused also with the same seed (on the same store: %s)", async (same) => {
    const { clock, reopen } = await start()
    const first = await reopen({ seed: 42 })
    run(first)
    await clock.settle()
    const second = run(same ? first : await reopen({ seed: 42 }))
    await clock.settle()
    expect(second.fate).toMatchObject(refused("LeadershipLost"))
  })

  test("that is refused fires nothing and leaves nothing behind", async () => {
    const { store, clock, reopen } = await start()
    await store.schedule("report", "@every 1s", "mail", null)
    const leader = run(store)
    await clock.settle()
    const sleepers = clock.pending
    for (let i = 0; i < 10; i++) run(await reopen())
    await clock.settle()
    expect(clock.pending).toBe(sleepers)
    await clock.advance("5s")
    expect(await count(store)).toBe(5)
    expect(leader.fate.state).toBe("waiting")
  })

  test("of ten started together one leads", async () => {
    const { store, clock, reopen } = await start()
    const stores = [store, ...(await Promise.all(Array.from({ length: 4 }, () => reopen())))]
    const runners = stores.flatMap((each) => [run(each), run(each)])
    await clock.settle()
    expect(runners.filter((runner) => runner.fate.state === "waiting")).toHaveLength(1)
  })
})

describe("a standby", () => {
  test.each([true, false])("waits, and leads within 2 s of a release (on the same store: %s)", async (same) => {
    const { store, clock, reopen } = await start()
    const leader = run(store)
    await clock.settle()
    const standby = run(same ? store : await reopen(), { standby: true })
    await clock.advance("1m")
    expect(standby.fate.state).toBe("waiting")
    await store.schedule("report", "@every 2m", "mail", "by the standby")
    leader.stop.abort()
    await clock.advance(RENEWAL)
    const rival = run(await reopen())
    await clock.settle()
    expect(rival.fate).toMatchObject(refused("LeadershipLost"))
    await clock.advance("2m")
    expect(payloads(await store.queue("mail").list())).toEqual(["by the standby"])
  })

  test("leads within 2 s of the end of a vanished leader's lease", async () => {
    const { store, clock, reopen } = await start()
    const tab = freezable(clock)
    const frozen = await reopen({ clock: tab })
    await store.schedule("report", "@every 1s", "mail", null)
    const leader = run(frozen)
    await clock.advance("3s")
    expect(await count(store)).toBe(3)
    const standby = run(store, { standby: true })
    tab.freeze()
    await clock.advance(TTL + RENEWAL)
    expect(await count(store)).toBe(15)   // all boundaries, late ones caught up, none twice
    expect(standby.fate.state).toBe("waiting")
    await tab.thaw()
    await clock.advance("1s")
    expect(leader.fate).toMatchObject(refused("LeadershipLost"))
    expect(await count(store)).toBe(16)
  })

  test("is one that loses its lead too: it waits again instead of LeadershipLost", async () => {
    const { store, clock, reopen } = await start()
    const tab = freezable(clock)
    const frozen = await reopen({ clock: tab })
    const first = run(frozen, { standby: true })
    await clock.settle()
    tab.freeze()
    await clock.advance(TTL)
    const second = run(store)
    await clock.settle()
    expect(second.fate.state).toBe("waiting")
    await tab.thaw()
    await clock.advance("1m")
    expect(first.fate.state).toBe("waiting")
    second.stop.abort()
    await clock.advance(RENEWAL)
    const rival = run(await reopen())
    await clock.settle()
    expect(rival.fate).toMatchObject(refused("LeadershipLost"))
    first.stop.abort()
    await clock.settle()
    expect(first.fate.state).toBe("resolved")
  })

  test("leads at once where nobody does", async () => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 1s", "mail", null)
    run(store, { standby: true })
    await clock.advance("2s")
    expect(await count(store)).toBe(2)
  })

  test.each<[how: string, stop: (runner: Runner, store: Store) => unknown]>([
    ["its signal", (runner) => runner.stop.abort()],
    ["the close of its store", (_, store) => store.close()],
  ])("that waits resolves at %s", async (_, stop) => {
    const { store, clock, reopen } = await start()
    run(store)
    await clock.settle()
    const other = await reopen()
    const standby = run(other, { standby: true })
    await clock.settle()
    await stop(standby, other)
    await clock.settle()
    expect(standby.fate.state).toBe("resolved")
  })

  test("of many, one takes over, and each boundary fires once", async () => {
    const { store, clock, reopen } = await start()
    await store.schedule("report", "@every 1s", "mail", null)
    const runners: Runner[] = []
    for (let i = 0; i < 5; i++) runners.push(run(await reopen(), { standby: true }))
    await clock.settle()
    for (const runner of runners.slice(0, 4)) {
      await clock.advance("5s")
      runner.stop.abort()
      await clock.advance(RENEWAL)
    }
    await clock.advance("2s")
    expect(await count(store)).toBe(30)
  })
})

describe("a lease that lapsed", () => {
  test("and is free is taken again: a laptop that slept goes on", async () => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 1m", "mail", null)
    const runner = run(store)
    await clock.settle()
    clock.set(START + HOUR)
    await clock.advance(RENEWAL)
    expect(runner.fate.state).toBe("waiting")
    expect(await count(store)).toBe(60)
    await clock.advance("2m")
    expect(await count(store)).toBe(62)
  })

  test("and is held by another is LeadershipLost before any tick", async () => {
    const { store, clock, reopen } = await start()
    const tab = freezable(clock)
    const frozen = await reopen({ clock: tab })
    const old = run(frozen)
    await clock.settle()
    tab.freeze()
    await clock.advance(TTL)
    const leader = run(store)
    await clock.settle()
    await store.schedule("report", "@every 1s", "mail", null)
    clock.set(clock.now() + 1000)   // due, and the new leader has not looked yet
    await tab.thaw()
    expect(old.fate).toMatchObject(refused("LeadershipLost"))
    await clock.advance(RENEWAL)
    expect(leader.fate.state).toBe("waiting")
    expect(await count(store)).toBe(3)
  })
})

test("between boundaries one run holds sleepers, an ended one none", async () => {
  const { store, clock } = await start()
  const runner = run(store)
  await clock.settle()
  expect(clock.pending).toBeGreaterThan(0)
  runner.stop.abort()
  await clock.settle()
  expect(clock.pending).toBe(0)
})
