import { describe, expect, test } from "vitest"
import type { EnqueueOptions } from "alkstore-wasm"
import { DAY, HOUR, MAX, MINUTE, START, claim } from "../support.js"
import { must, rejection, start, startQueue, thrown, untyped } from "../support.js"

describe("extents are truncated, and not positive gives the empty result", () => {
  const rows: [n: number, got: number][] = [
    [3, 3],
    [2.9, 2],
    [1, 1],
    [0.9, 0],
    [0, 0],
    [-0.5, 0],
    [-1, 0],
    [-1e300, 0],
    [1e300, 4],
  ]

  test.each(rows)("claimBatch of %d hands out %d", async (n, got) => {
    const { queue } = await startQueue()
    for (let i = 0; i < 4; i++) await queue.enqueue(i)
    expect(await queue.claimBatch("w1", n)).toHaveLength(got)
    expect(await queue.stats()).toMatchObject({ processing: got })
  })

  test.each(rows)("a limit of %d lists %d", async (limit, got) => {
    const { queue } = await startQueue()
    for (let i = 0; i < 4; i++) await queue.enqueue(i)
    expect(await queue.list({ limit })).toHaveLength(got)
  })
})

describe("a ttl is a positive duration", () => {
  test.each([0, -1, -0.5, 0.9, "0s", "0.9ms", "0.0009s"])(
    "%s is InvalidArgument, for a new lock, a held one and a lapsed one",
    async (ttl) => {
      const { store, clock } = await start()
      const refused = { code: "InvalidArgument" }
      expect(await rejection(() => store.tryLock("report", "tab", untyped(ttl)))).toMatchObject(refused)
      const lock = must(await store.tryLock("report", "tab", 1000))
      expect(await rejection(() => store.tryLock("report", "tab", untyped(ttl)))).toMatchObject(refused)
      expect(await rejection(() => lock.renew(untyped(ttl)))).toMatchObject(refused)
      clock.set(START + 1000)
      expect(await rejection(() => lock.renew(untyped(ttl)))).toMatchObject(refused)
    },
  )

  test.each<[ttl: number | string, ms: number]>([[1, 1], [1.9, 1], ["1.9ms", 1], ["1.005s", 1005], ["2m", 2 * MINUTE]])(
    "%s holds for %d ms",
    async (ttl, ms) => {
      const { store, clock } = await start()
      await store.tryLock("report", "tab", ttl)
      clock.set(START + ms - 1)
      expect(await store.tryLock("report", "other", 1)).toBe(null)
      clock.set(START + ms)
      expect(await store.tryLock("report", "other", 1)).not.toBe(null)
    },
  )

  test.each([1e300, MAX, "99999999999999999999d"])("%s holds for ever", async (ttl) => {
    const { store, clock } = await start()
    await store.tryLock("report", "tab", ttl)
    clock.set(START + 10_000 * DAY)
    expect(await store.tryLock("report", "other", 1)).toBe(null)
  })
})

describe("boundaries: any finite value is meaningful", () => {
  const rows: [options: EnqueueOptions, field: "runAt" | "expiresAt", value: number][] = [
    [{ delay: 0 }, "runAt", START],
    [{ delay: 1500 }, "runAt", START + 1500],
    [{ delay: -5000 }, "runAt", START - 5000],
    [{ delay: 0.9 }, "runAt", START],
    [{ delay: -0.9 }, "runAt", START],
    [{ delay: -1.9 }, "runAt", START - 1],
    [{ delay: "1.5s" }, "runAt", START + 1500],
    [{ delay: 1e300 }, "runAt", MAX],
    [{ delay: MAX }, "runAt", MAX],
    [{ delay: -1e300 }, "runAt", START - MAX],
    [{ delay: "99999999999999999999d" }, "runAt", MAX],
    [{ runAt: 5 }, "runAt", 5],
    [{ runAt: -5 }, "runAt", -5],
    [{ runAt: 1.9 }, "runAt", 1],
    [{ runAt: -1.9 }, "runAt", -1],
    [{ runAt: 1e300 }, "runAt", MAX],
    [{ runAt: -1e300 }, "runAt", -MAX],
    [{ runAt: new Date(START + 7) }, "runAt", START + 7],
    [{ expires: 1500 }, "expiresAt", START + 1500],
    [{ expires: 0 }, "expiresAt", START],
    [{ expires: -1 }, "expiresAt", START - 1],
    [{ expires: 0.9 }, "expiresAt", START],
    [{ expires: "2m" }, "expiresAt", START + 2 * MINUTE],
    [{ expires: 1e300 }, "expiresAt", MAX],
    [{ expires: -1e300 }, "expiresAt", START - MAX],
  ]

  test.each(rows)("%o: %s is %d", async (options, field, value) => {
    const { queue } = await startQueue()
    const job = must(await queue.get(await queue.enqueue(null, options)))
    expect(job[field]).toBe(value)
  })

  test.each<[extend: number | string, deadline: number]>([
    [1500, START + 1500], ["1.5s", START + 1500], [0, START], [0.9, START], [-1, START - 1],
    [1e300, MAX], [-1e300, START - MAX],
  ])("a heartbeat of %s sets the deadline %d", async (extend, deadline) => {
    const { queue } = await startQueue()
    await queue.enqueue(null)
    const job = await claim(queue)
    expect(await job.heartbeat(extend)).toBe(true)
    expect(await queue.get(job.id)).toMatchObject({ claimExpiresAt: deadline })
  })

  test.each<[delay: number | string, runAt: number]>([
    [1500, START + 1500], ["2s", START + 2000], [0, START], [-9, START - 9], [1e300, MAX],
  ])("a retry delay of %s sets the ready time %d", async (delay, runAt) => {
    const { queue } = await startQueue()
    await queue.enqueue(null)
    const job = await claim(queue)
    expect(await job.retry(null, delay)).toBe(true)
    expect(await queue.get(job.id)).toMatchObject({ runAt })
  })

  test("runAt is an instant: no duration string, no invalid Date", async () => {
    const { queue } = await startQueue()
    for (const runAt of [untyped("5s"), new Date(NaN)]) {
      expect(await rejection(() => queue.enqueue(null, { runAt }))).toMatchObject({ code: "InvalidArgument" })
    }
    expect(await rejection(() => queue.enqueue(null, { delay: untyped(new Date(START)) }))).toMatchObject({
      code: "InvalidArgument",
    })
  })
})

describe("counts are safe integers", () => {
  const BAD = [-0.1, -MAX - 1, 1e300]

  test.each(BAD)("%s is InvalidArgument", async (value) => {
    const { store, queue } = await startQueue()
    const refused = { code: "InvalidArgument" }
    for (const call of [
      () => queue.enqueue(null, { priority: untyped(value) }),
      () => queue.enqueue(null, { maxAttempts: untyped(value) }),
      () => queue.get(untyped(value)),
      () => queue.cancel(untyped(value)),
      () => queue.ackBatch([untyped(value)]),
      () => queue.redrive([untyped(value)]),
      () => queue.purge([untyped(value)]),
      () => queue.list({ after: untyped(value) }),
      () => store.schedule("report", "@every 1s", "mail", null, { priority: untyped(value) }),
      () => store.schedule("report", "@every 1s", "mail", null, { maxAttempts: untyped(value) }),
      () => store.transaction((tx) => tx.enqueue("mail", null, { priority: untyped(value) })),
      () => store.transaction((tx) => tx.get("mail", untyped(value))),
    ]) {
      expect(await rejection(call)).toMatchObject(refused)
    }
    expect(thrown(() => store.queue("mail", { maxAttempts: untyped(value) }))).toMatchObject(refused)
    expect(await queue.list()).toEqual([])
    expect(await store.schedules()).toEqual([])
  })

  test.each([MAX, 1, 0, -1, -MAX])("a priority of %d is kept", async (priority) => {
    const { queue } = await startQueue()
    expect(await queue.get(await queue.enqueue(null, { priority }))).toMatchObject({ priority })
  })

  test.each([MAX, 1, 0, -1, -MAX])("maxAttempts of %d are kept", async (maxAttempts) => {
    const { store, queue } = await startQueue()
    expect(await queue.get(await queue.enqueue(null, { maxAttempts }))).toMatchObject({ maxAttempts })
    const other = store.queue("other", { maxAttempts })
    expect(await other.get(await other.enqueue(null))).toMatchObject({ maxAttempts })
  })

  test.each([0, -1, MAX, -MAX])("an id of %d is one that no job has", async (id) => {
    const { queue } = await startQueue()
    await queue.enqueue(null)
    expect(await queue.get(id)).toBe(null)
    expect(await queue.cancel(id)).toBe(false)
    expect(await queue.ackBatch([id])).toBe(0)
    expect(await queue.redrive([id])).toBe(0)
    expect(await queue.purge([id])).toBe(0)
  })
})

describe("duration strings", () => {
  test.each<[text: string, ms: number]>([
    ["250ms", 250], ["30s", 30_000], ["5m", 5 * MINUTE], ["2h", 2 * HOUR], ["1d", DAY], ["0s", 0], ["007s", 7000],
    ["1.005s", 1005], ["1.0050s", 1005], ["0.1s", 100], ["2.5m", 150_000], ["0.5ms", 0], ["1.9999s", 1999],
    ["0.001d", 86_400], ["1.15h", 4_140_000], ["8.2s", 8200], ["1.0000000000000000000001s", 1000],
    ["9007199254740991ms", MAX], ["9007199254740992ms", MAX], ["9007199254740.993s", MAX],
    [`${"9".repeat(400)}d`, MAX], [`0.${"0".repeat(400)}1s`, 0],
  ])("%s is %d ms", async (text, ms) => {
    const { store } = await start()
    const queue = store.queue("mail", { visibilityTimeout: text })
    expect(await queue.get(await queue.enqueue(null))).toMatchObject({ visibilityTimeout: ms })
  })

  test.each([
    "", "s", "5", "5 s", " 5s", "5s ", "5s\n", "-5s", "+5s", "\u22125s", ".5s", "5.s", "1..5s", "1.5.5s", "1,5s",
    "1e3s",
    "0x5s", "5S", "5MS", "5 ms", "5us", "5w", "5y", "5min", "5sec", "1h30m", "\u0665s", "\uff15s", "NaNs", "Infinitys",
    "5s\u0000",
  ])("%j is InvalidArgument", async (text) => {
    const { store, queue } = await startQueue()
    const refused = { code: "InvalidArgument" }
    expect(await rejection(() => queue.enqueue(null, { delay: text }))).toMatchObject(refused)
    expect(await rejection(() => store.tryLock("report", "tab", text))).toMatchObject(refused)
    expect(thrown(() => store.queue("mail", { backoffBase: text }))).toMatchObject(refused)
  })

  test("are taken wherever a duration is", async () => {
    const { store, clock } = await start()
    const options = { visibilityTimeout: "1m", backoffBase: "2s", deadLetterRetention: "3d" }
    const queue = store.queue("mail", options)
    await queue.enqueue(null, { delay: "0s", expires: "1h" })
    const job = await claim(queue)
    expect(job).toMatchObject({
      visibilityTimeout: MINUTE,
      backoffBase: 2000,
      deadLetterRetention: 3 * DAY,
      expiresAt: START + HOUR,
    })
    expect(await job.heartbeat("10s")).toBe(true)
    expect(await job.retry("error", "20s")).toBe(true)
    expect(await queue.get(job.id)).toMatchObject({ runAt: START + 20_000 })
    await store.schedule("report", "@every 1s", "mail", null, { expires: "30s" })
    const lock = must(await store.tryLock("report", "tab", "10s"))
    expect(await lock.renew("20s")).toBe(true)
    await clock.advance("19.999s")
    expect(clock.now()).toBe(START + 19_999)
    expect(await store.tryLock("report", "other", "1s")).toBe(null)
  })
})
