// A database that a release of format 1 has left: this one reads all of it, and goes on with it.

import { expect, test, vi } from "vitest"
import { FORMAT_1, load } from "../../fixtures/load.js"
import { contents } from "../../shared/databases.js"
import { DAY, HOUR, MINUTE, SECOND, fieldsOf, ids, must, payloads } from "../../shared/support.js"

const { start, now, answers } = FORMAT_1
const was = (jobs: readonly { payload: any }[]): unknown[] => jobs.map(({ payload }) => payload.was)

test("the fixture has rows of every kind", () => {
  const kinds = FORMAT_1.rows.map(({ key }) => (Array.isArray(key) ? key[0] : "job"))
  expect([...new Set(kinds)].sort()).toEqual(["job", "l", "m", "p", "s"])
  const sections = FORMAT_1.rows.flatMap(({ value }) => (value.k ?? []).map(([, section]: string[]) => section))
  expect([...new Set(sections)].sort().join("")).toBe("abdefloprtwxz")
})

test("every job is read as it was, alone and in lists, and counted", async () => {
  const { store, mail, chores, audit, outbox } = await load()
  for (const queue of [mail, chores, audit, outbox]) {
    const { stats, jobs } = answers[queue.name]
    expect((await queue.list()).map(fieldsOf)).toStrictEqual(jobs)
    expect(await queue.stats()).toEqual(stats)
    for (const job of jobs) expect(fieldsOf(must(await queue.get(job.id)))).toStrictEqual(job)
  }
  expect(await store.schedules()).toEqual(answers.schedules)
})

test("reading writes nothing", async () => {
  const { name, store, mail } = await load()
  await mail.list()
  await mail.stats()
  await store.schedules()
  const rows = await contents(name)
  expect(rows).toStrictEqual(FORMAT_1.rows.map(({ key, value }) => [key, value]))
})

test("claims hand out what is ready, in order, with its payload", async () => {
  const { mail, audit } = await load()
  const claimed = await mail.claimBatch("w", 10)
  expect(was(claimed)).toEqual(["ready, with priority", "ready", "expiring", "ready, after all others"])
  expect(claimed[1]).toMatchObject({ payload: { to: "ada@example.com", tags: ["a", null, true, 1.5] }, attempts: 1 })
  expect(claimed[1]).toMatchObject({ claimExpiresAt: now + 30 * SECOND, backoffBase: 2 * MINUTE, maxAttempts: 5 })
  expect(was(await audit.claimBatch("w", 10))).toEqual(["in a transaction"])
})

test("lapsed jobs are handed out again; those without attempts left are dead", async () => {
  const { chores } = await load()
  const [lapsed, ...others] = await chores.claimBatch("w", 10)
  expect(lapsed).toMatchObject({ id: 19, payload: { was: "lapsed" }, attempts: 2, workerId: "w" })
  const stored = answers.chores.jobs.filter((job: any) => job.state === "pending" && job.maxAttempts > 0)
  expect(payloads(others)).toStrictEqual(payloads(stored))
  const dead = await chores.list({ state: "dead" })
  expect(was(dead)).toEqual(["never to be handed out", "lapsed, out of attempts", "to die at the next claim"])
  expect(dead[1]).toMatchObject({ lastError: "max attempts exceeded", diedAt: now })
})

test("what waits becomes ready on time", async () => {
  const { clock, mail } = await load()
  await mail.claimBatch("w", 10).then((jobs) => mail.ackBatch(ids(jobs)))
  const next = async (at: number): Promise<unknown[]> => {
    await clock.advance(at - clock.now() - 1)
    expect(await mail.claimBatch("w", 10)).toEqual([])
    expect((await mail.stats()).nextDeadline).toBe(at)
    await clock.advance(1)
    expect(await mail.wait()).toBe(true)
    const jobs = await mail.claimBatch("w", 10)
    await mail.ackBatch(ids(jobs))
    return was(jobs)
  }
  const backingOff = must(answers.mail.jobs.find(({ payload }: any) => payload.was === "backing off"))
  expect(await next(backingOff.runAt)).toEqual(["backing off"])
  expect(await next(start + 10 * MINUTE)).toEqual(["delayed"])
  expect(await next(start + 20 * MINUTE)).toEqual(["set to an instant"])
})

test("a held job is its holder's until its claim lapses, and is handed out again then", async () => {
  const { clock, chores } = await load()
  await chores.claimBatch("w", 10).then((jobs) => chores.ackBatch(ids(jobs)))
  await clock.advance(start + 5 * MINUTE - now)
  expect(await chores.claimOne("w")).toBe(null)
  await clock.advance(1)
  const again = must(await chores.claimOne("w"))
  expect(again).toMatchObject({ id: 21, payload: { was: "held" }, attempts: 2 })
  expect(await again.retry()).toBe(true)
  expect(await chores.get(21)).toMatchObject({ state: "pending", workerId: null })
})

test("claims are settled: acked, those of others too, retried, failed, kept and cancelled", async () => {
  const { name, mail, chores } = await load()
  expect(await chores.ackBatch([19, 21, 26])).toBe(1)
  const [first, second, third, fourth] = await mail.claimBatch("w", 10)
  expect(await first?.ack()).toBe(true)
  expect(await second?.retry(null, "1m")).toBe(true)
  expect(await third?.fail("no")).toBe(true)
  expect(await fourth?.heartbeat("1h")).toBe(true)
  expect(await mail.get(7)).toBe(null)
  expect(await mail.get(6)).toMatchObject({ state: "pending", runAt: now + MINUTE })
  expect(await mail.get(11)).toMatchObject({ state: "dead", lastError: "no", deadLetterRetention: 7 * DAY })
  expect(await mail.get(8)).toMatchObject({ state: "processing", claimExpiresAt: now + HOUR })
  expect(await chores.cancel(15)).toBe(true)
  const left = (await contents(name)).map(([key]) => String(key))
  expect(left.filter((key) => ["7", "21", "15", "p,15"].includes(key))).toEqual([])
})

test("outboxes deliver", async () => {
  const { outbox } = await load()
  const delivered: unknown[] = []
  const deliver = (job: any): unknown => delivered.push([job.payload.was, job.attempts])
  while (await outbox.runOnce("w", deliver));
  expect(delivered).toEqual([["to be delivered", 1], ["in a transaction, too", 2]])
  expect(await outbox.list()).toEqual([])
})

test("dead jobs are put back, or purged", async () => {
  const { mail, chores } = await load()
  expect(await mail.redrive()).toBe(3)
  const jobs = await mail.claimBatch("w", 3)
  expect(was(jobs)).toEqual(["failed", "out of attempts", "ready, with priority"])
  expect(jobs[0]).toMatchObject({ attempts: 1, lastError: null, diedAt: null })
  expect(await mail.get(5)).toMatchObject({ state: "pending", expiresAt: null, runAt: now })
  expect(await chores.purge()).toBe(1)
  expect(await chores.get(18)).toBe(null)
})

test("what has expired is swept, and what has been dead for long enough", async () => {
  const { clock, mail } = await load()
  expect(await mail.sweepExpired()).toBe(1)
  expect(was(await mail.list({ state: "dead" }))).toContain("expired, and not swept")
  await clock.advance(6 * DAY)
  expect(await mail.sweepExpired()).toBe(2)
  await clock.advance(DAY)
  expect(await mail.sweepExpired()).toBe(4)
  expect(was(await mail.list({ state: "dead" }))).toEqual(["expiring", "held, and expiring"])
})

test("schedules fire on their boundaries, with their payloads and options", async () => {
  const { clock, store, chores } = await load()
  await store.schedule("cleanup", "@every 15m", "chores", { task: "cleanup, later" })
  const run = async (until: () => Promise<void>): Promise<void> => {
    const running = new AbortController()
    const end = store.runSchedules(running.signal)
    await vi.waitFor(until)
    running.abort()
    await end
  }
  const cleanups = async (count: number): Promise<void> => {
    const tasks = (await chores.list()).map(({ payload }) => payload?.task).filter((task) => task !== undefined)
    expect(tasks).toEqual(Array(count).fill("cleanup, later"))
  }
  await clock.advance(start + 15 * MINUTE - clock.now())
  await run(() => cleanups(1))
  await clock.advance(45 * MINUTE)
  await run(() => cleanups(4))
  const [report, ...others] = await store.queue("reports").list()
  expect(others).toEqual([])
  expect(report).toMatchObject({ priority: 3, maxAttempts: 2, runAt: start + HOUR, expiresAt: start + 65 * MINUTE })
  expect(report?.payload).toStrictEqual(new Map([["format", "pdf"]]))
  expect((await store.schedules()).map(({ nextFireAt }) => nextFireAt)).toEqual([start + 75 * MINUTE, start + 2 * HOUR])
  expect(await store.unschedule("report")).toBe(true)
})

test("locks hold, and lapse", async () => {
  const { clock, store } = await load()
  expect(await store.tryLock("sync", "tab-c", "1m")).toBe(null)
  expect(must(await store.tryLock("sync", "tab-a", "1m")).name).toBe("sync")
  expect(must(await store.tryLock("lapsed", "tab-c", "1m")).name).toBe("lapsed")
  await clock.advance(start + 10 * MINUTE - now)
  const lock = must(await store.tryLock("sync", "tab-c", "1m"))
  expect([await lock.renew("5m"), await lock.release()]).toEqual([true, true])
})

test("ids go on", async () => {
  const { mail, outbox } = await load()
  expect([await mail.enqueue("next"), await outbox.enqueue("next but one")]).toEqual([28, 29])
})

test("a clock that is set back takes all derived deadlines along", async () => {
  const { clock, store, mail, chores } = await load()
  const before = new Map<number, any>([...answers.mail.jobs, ...answers.chores.jobs].map((job) => [job.id, job]))
  const by = 5 * HOUR
  clock.set(now - by)
  await store.queue("elsewhere").enqueue(null)
  for (const job of [...(await mail.list()), ...(await chores.list())]) {
    const { runAt, claimExpiresAt, expiresAt, createdAt, payload } = before.get(job.id)
    const moved = (at: number | null): number | null => (at === null ? null : at - by)
    const at = { claimExpiresAt: moved(claimExpiresAt), expiresAt: moved(expiresAt), createdAt, payload }
    expect(job).toMatchObject({ ...at, runAt: job.id === 10 ? runAt : moved(runAt) })
  }
  const boundaries = (await store.schedules()).map(({ nextFireAt }) => nextFireAt)
  expect(boundaries).toEqual([start + 15 * MINUTE - by, start + HOUR - by])
  expect(was(await mail.claimBatch("w", 2))).toEqual(["ready, with priority", "ready"])
  await clock.advance(start + 10 * MINUTE - now)
  expect(await store.tryLock("sync", "tab-c", "1m")).not.toBe(null)
})

test("deadlines that another context has half moved back move on, at any call", async () => {
  const { store, mail, chores } = await load((rows) => {
    must(rows.find(({ key }) => String(key) === "m")).value.v.push(HOUR, 7)
    return rows
  })
  await chores.stats()
  const jobs = new Map((await mail.list()).map((job) => [job.id, job]))
  expect(jobs.size).toBe(answers.mail.jobs.length)
  for (const { id, runAt, payload } of answers.mail.jobs) {
    expect(jobs.get(id)).toMatchObject({ runAt: id < 7 || id === 10 ? runAt : runAt - HOUR, payload })
  }
  const boundaries = (await store.schedules()).map(({ nextFireAt }) => nextFireAt)
  expect(boundaries).toEqual([start + 15 * MINUTE - HOUR, start])
})
