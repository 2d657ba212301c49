import { describe, expect, test } from "vitest"
import type { Store } from "alkstore-wasm"
import type { ManualClock } from "alkstore-wasm/testing"
import { DAY, HOUR, MAX, MINUTE, SECOND, START, must, payloads, rejection, start } from "../support.js"

/** Lets a runner lead at this instant until it sleeps: one tick. */
async function tick(store: Store, clock: ManualClock): Promise<void> {
  const stop = new AbortController()
  const run = store.runSchedules(stop.signal)
  await clock.settle()
  stop.abort()
  await run
}

const boundary = async (store: Store, name = "report"): Promise<number> =>
  must((await store.schedules()).find((schedule) => schedule.name === name)).nextFireAt

describe("schedule", () => {
  test("returns what was registered, absent options null", async () => {
    const { store } = await start()
    const none = { priority: null, maxAttempts: null, expires: null }
    expect(await store.schedule("report", "@every 5m", "mail", null)).toEqual({
      name: "report",
      spec: "@every 5m",
      queue: "mail",
      options: none,
    })
    expect(await store.schedule("report", "@every 5m", "mail", null, { priority: 2, expires: 1000 })).toEqual({
      name: "report", spec: "@every 5m", queue: "mail", options: { priority: 2, maxAttempts: null, expires: 1000 },
    })
  })

  test("is an upsert by name", async () => {
    const { store } = await start()
    await store.schedule("report", "@every 5m", "mail", null)
    await store.schedule("report", "@every 5m", "other", null, { priority: 1 })
    expect(await store.schedules()).toMatchObject([{ name: "report", queue: "other", options: { priority: 1 } }])
  })

  test("copies the payload in", async () => {
    const { store, clock } = await start()
    const payload = { to: ["a"] }
    await store.schedule("report", "@every 1s", "mail", payload)
    payload.to.push("b")
    await clock.advance("2s")
    await tick(store, clock)
    const [first, second] = await store.queue<{ to: string[] }>("mail").list()
    expect(must(first).payload).toEqual({ to: ["a"] })
    must(first).payload.to.push("c")
    expect(must(second).payload).toEqual({ to: ["a"] })
  })
})

describe("the grammar", () => {
  test.each<[spec: string, interval: number]>([
    ["@every 1s", SECOND], ["@every 90s", 90 * SECOND], ["@every 1m", MINUTE], ["@every 2h", 2 * HOUR],
    ["@every 1d", DAY],
    ["@every 365d", 365 * DAY], ["@every 1000000s", 1_000_000 * SECOND],
  ])("%s: the first boundary is one interval away", async (spec, interval) => {
    const { store } = await start()
    await store.schedule("report", spec, "mail", null)
    expect(await store.schedules()).toEqual([
      {
        name: "report",
        spec,
        queue: "mail",
        options: { priority: null, maxAttempts: null, expires: null },
        nextFireAt: START + interval,
      },
    ])
  })

  test.each([
    "", "@every", "@every ", "@every 5", "@every s", "@every 0s", "@every 00s", "@every -5s", "@every +5s",
    "@every 1.5s",
    "@every 1e3s", "@every 5ms", "@every 5w", "@every 5S", "@every 5 s", "@every  5s", "@every\t5s", "@every\u00a05s",
    " @every 5s", "@every 5s ", "@every 5s\n", "@EVERY 5s", "@Every 5s", "every 5s", "@every5s", "@every 5s5s",
    "@every 1h30m",
    "@every five s", "@every \u0665s", "@every \uff15s", "@every 0x5s", "@every 1_000s", "@hourly", "@daily",
    "* * * * *",
    "0 * * * *", "*/5 * * * * *", "PT5S", "5s",
  ])("%j is InvalidSpec before anything is stored", async (spec) => {
    const { store } = await start()
    expect(await rejection(() => store.schedule("report", spec, "mail", null))).toMatchObject({ code: "InvalidSpec" })
    expect(await store.schedules()).toEqual([])
  })

  test.each([
    `@every ${MAX}s`, `@every ${Math.floor(MAX / DAY)}d`, `@every ${Math.ceil((MAX - START + 1) / SECOND)}s`,
    "@every 18446744073709551616s",
    `@every ${"9".repeat(100)}s`,
  ])("%s is InvalidSpec: its first boundary overflows the clock", async (spec) => {
    const { store } = await start()
    expect(await rejection(() => store.schedule("report", spec, "mail", null))).toMatchObject({ code: "InvalidSpec" })
    expect(await store.schedules()).toEqual([])
  })

  test("the longest interval that fits is accepted", async () => {
    const { store } = await start()
    const seconds = Math.floor((MAX - START) / SECOND)
    await store.schedule("report", `@every ${seconds}s`, "mail", null)
    expect(await boundary(store)).toBe(START + seconds * SECOND)
  })
})

describe("registering again", () => {
  test.each<[what: string, spec: string, after: number, expected: number]>([
    ["with the same spec keeps the boundary that is due", "@every 1m", 30_000, START + 60_000],
    ["with the same spec keeps one that is overdue", "@every 1m", 95_000, START + 60_000],
    ["with a changed spec starts again from now", "@every 2m", 30_000, START + 30_000 + 120_000],
    ["with the same interval in another text starts again from now", "@every 60s", 30_000, START + 30_000 + 60_000],
  ])("%s", async (_, spec, after, expected) => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 1m", "mail", null)
    clock.set(START + after)
    await store.schedule("report", spec, "mail", null)
    expect(await boundary(store)).toBe(expected)
  })

  test("at every load, more often than the interval, still lets it fire", async () => {
    const { store, clock } = await start()
    const stop = new AbortController()
    const run = store.runSchedules(stop.signal)
    for (let i = 0; i < 12; i++) {
      await store.schedule("report", "@every 1m", "mail", i)
      await clock.advance("10s")
    }
    stop.abort()
    await run
    expect(payloads(await store.queue("mail").list())).toEqual([5, 11])
  })

  test("always replaces queue, payload and options", async () => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 1m", "mail", "old", { priority: 1, maxAttempts: 1, expires: "1h" })
    await store.schedule("report", "@every 1m", "other", "new", { priority: 2 })
    await clock.advance("1m")
    await tick(store, clock)
    expect(await store.queue("mail").list()).toEqual([])
    expect(await store.queue("other").list()).toMatchObject([
      { payload: "new", priority: 2, maxAttempts: 3, expiresAt: null },
    ])
  })

  test("after an unschedule starts from now", async () => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 1m", "mail", null)
    await store.unschedule("report")
    clock.set(START + 30_000)
    await store.schedule("report", "@every 1m", "mail", null)
    expect(await boundary(store)).toBe(START + 90_000)
  })
})

test("unschedule tells whether there was one, and ends its firing", async () => {
  const { store, clock } = await start()
  await store.schedule("report", "@every 1s", "mail", null)
  expect(await store.unschedule("other")).toBe(false)
  expect(await store.unschedule("report")).toBe(true)
  expect(await store.unschedule("report")).toBe(false)
  expect(await store.schedules()).toEqual([])
  await clock.advance("5s")
  await tick(store, clock)
  expect(await store.queue("mail").list()).toEqual([])
})

test("schedules fire only while somebody runs them", async () => {
  const { store, clock } = await start()
  await store.schedule("report", "@every 1s", "mail", null)
  await clock.advance("5s")
  expect(await store.queue("mail").list()).toEqual([])
  expect(clock.pending).toBe(0)
})

describe("a tick", () => {
  test("fires at the boundary itself, and not before", async () => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 1m", "mail", "now")
    clock.set(START + 59_999)
    await tick(store, clock)
    expect(await store.queue("mail").list()).toEqual([])
    clock.set(START + 60_000)
    await tick(store, clock)
    expect(await store.queue("mail").list()).toHaveLength(1)
    expect(await boundary(store)).toBe(START + 120_000)
  })

  test("fires a boundary once, however often it is looked at", async () => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 1m", "mail", null)
    clock.set(START + 60_000)
    for (let i = 0; i < 5; i++) await tick(store, clock)
    expect(await store.queue("mail").list()).toHaveLength(1)
  })

  test("enqueues a job that is ready now, with the schedule's priority, attempts, expiry and payload", async () => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 1m", "mail", { to: "a" }, { priority: 4, maxAttempts: 2, expires: "10s" })
    clock.set(START + 61_500)
    await tick(store, clock)
    const now = START + 61_500
    expect(await store.queue("mail").list()).toMatchObject([{
      state: "pending", payload: { to: "a" }, priority: 4, runAt: now, createdAt: now, expiresAt: now + 10_000,
      attempts: 0, maxAttempts: 2,
      visibilityTimeout: 300_000, backoffBase: 5000, deadLetterRetention: null,
    }])
  })

  test("takes the plain values where the schedule has none", async () => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 1m", "mail", null)
    clock.set(START + 60_000)
    await tick(store, clock)
    expect(await store.queue("mail").list()).toMatchObject([{ priority: 0, maxAttempts: 3, expiresAt: null }])
  })

  test.each<[behind: number, jobs: number, next: number]>([
    [10_000, 1, 20_000],
    [19_999, 1, 20_000],
    [20_000, 2, 30_000],
    [35_000, 3, 40_000],
    [630_000, 63, 640_000],
    [640_000, 64, 650_000],
    [649_999, 64, 650_000],
    [650_000, 64, 660_000],
    [655_000, 64, 660_000],
    [14 * DAY, 64, 14 * DAY + 10_000],
    [14 * DAY + 1, 64, 14 * DAY + 10_000],
    [14 * DAY - 1, 64, 14 * DAY],
  ])("%d ms after an `@every 10s` fires %d, at most 64, and goes on at %d on its grid", async (behind, jobs, next) => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 10s", "mail", null)
    clock.set(START + behind)
    await tick(store, clock)
    expect(await store.queue("mail").stats()).toMatchObject({ pending: jobs, ready: jobs })
    expect(await boundary(store)).toBe(START + next)
  })

  test("past the cap does not fire the skipped ones later", async () => {
    const { store, clock } = await start()
    await store.schedule("report", "@every 10s", "mail", null)
    clock.set(START + HOUR)
    for (let i = 0; i < 5; i++) await tick(store, clock)
    expect(await store.queue("mail").stats()).toMatchObject({ pending: 64 })
    clock.set(START + HOUR + 10_000)
    await tick(store, clock)
    expect(await store.queue("mail").stats()).toMatchObject({ pending: 65 })
  })

  test("has the cap for each schedule", async () => {
    const { store, clock } = await start()
    await store.schedule("a", "@every 1s", "mail", "a")
    await store.schedule("b", "@every 2s", "mail", "b")
    await store.schedule("c", "@every 1m", "mail", "c")
    clock.set(START + 10 * MINUTE)
    await tick(store, clock)
    const fired = payloads(await store.queue("mail").list({ limit: 1000 }))
    expect(fired.filter((payload) => payload === "a")).toHaveLength(64)
    expect(fired.filter((payload) => payload === "b")).toHaveLength(64)
    expect(fired.filter((payload) => payload === "c")).toHaveLength(10)
  })

  test("visits schedules in the order of their names' code points, as schedules() lists them", async () => {
    const { store, clock } = await start()
    // By UTF-16 units the last would come before the one ahead of it.
    const ordered = ["A", "Z", "a", "aa", "b", "é", "\ufffd", "\u{1f600}"]
    for (const name of [...ordered].reverse()) await store.schedule(name, "@every 1s", "mail", name)
    expect((await store.schedules()).map((schedule) => schedule.name)).toEqual(ordered)
    clock.set(START + 1000)
    await tick(store, clock)
    expect(payloads(await store.queue("mail").list())).toEqual(ordered)
  })

  test("fires into the queues that schedules name", async () => {
    const { store, clock } = await start()
    await store.schedule("a", "@every 1s", "mail", "a")
    await store.schedule("b", "@every 1s", "other", "b")
    clock.set(START + 1000)
    await tick(store, clock)
    expect(payloads(await store.queue("mail").list())).toEqual(["a"])
    expect(payloads(await store.queue("other").list())).toEqual(["b"])
  })
})

test("schedules() shows each with its boundary, also past ones that nobody fired", async () => {
  const { store, clock } = await start()
  await store.schedule("b", "@every 1m", "mail", null, { priority: 1 })
  await store.schedule("a", "@every 1h", "other", null, { maxAttempts: 9, expires: 5 })
  clock.set(START + 10 * MINUTE)
  expect(await store.schedules()).toEqual([
    {
      name: "a",
      spec: "@every 1h",
      queue: "other",
      options: { priority: null, maxAttempts: 9, expires: 5 },
      nextFireAt: START + HOUR,
    },
    {
      name: "b",
      spec: "@every 1m",
      queue: "mail",
      options: { priority: 1, maxAttempts: null, expires: null },
      nextFireAt: START + MINUTE,
    },
  ])
})
