// Rows that this release cannot read: of a newer one, or damaged. Never an empty answer, never the end of the engine.

import { describe, expect, onTestFinished, test, vi } from "vitest"
import { FORMAT_1, load, put } from "../../fixtures/load.js"
import type { Loaded, StoredRow } from "../../fixtures/load.js"
import { contents } from "../../shared/databases.js"
import { HOUR, ids, must, rejection } from "../../shared/support.js"

type Key = number | string[]
type Call = (loaded: Loaded) => Promise<unknown>

const NEWER = /^the storage was written by a newer release \(format 2\): update alkstore-wasm$/
const DAMAGED = /damaged/

/** Rows of which the one at `key` holds what `change` makes of it. */
function changed(key: Key, change: (value: any) => unknown): (rows: StoredRow[]) => StoredRow[] {
  return (rows) => {
    const row = must(rows.find((one) => String(one.key) === String(key)))
    row.value = change(row.value)
    return rows
  }
}

/** Changes one column. */
function column(at: number, value: unknown): (row: any) => unknown {
  return (row) => ({ ...row, v: row.v.with(at, value) })
}

async function expectRefused(loaded: Loaded, calls: Record<string, Call>, text: RegExp): Promise<void> {
  const before = await contents(loaded.name)
  for (const [name, call] of Object.entries(calls)) {
    const error = await rejection(() => call(loaded))
    expect([name, error.code]).toEqual([name, "Storage"])
    expect(error.message).toMatch(text)
  }
  expect(await contents(loaded.name), "nothing is changed").toStrictEqual(before)
}

/** The calls of a store: all of them read the storage's own row first. */
const EVERYTHING: Record<string, Call> = {
  enqueue: ({ mail }) => mail.enqueue("new"),
  "outbox.enqueue": ({ outbox }) => outbox.enqueue("new"),
  claimOne: ({ mail }) => mail.claimOne("w"),
  runOnce: ({ outbox }) => outbox.runOnce("w", () => undefined),
  wait: ({ mail }) => mail.wait(),
  ackBatch: ({ chores }) => chores.ackBatch([21]),
  cancel: ({ mail }) => mail.cancel(6),
  get: ({ mail }) => mail.get(6),
  list: ({ mail }) => mail.list(),
  stats: ({ mail }) => mail.stats(),
  redrive: ({ mail }) => mail.redrive(),
  purge: ({ mail }) => mail.purge(),
  sweepExpired: ({ mail }) => mail.sweepExpired(),
  tryLock: ({ store }) => store.tryLock("sync", "tab-c", "1m"),
  schedule: ({ store }) => store.schedule("new", "@every 1h", "mail", null),
  unschedule: ({ store }) => store.unschedule("cleanup"),
  schedules: ({ store }) => store.schedules(),
  runSchedules: ({ store }) => store.runSchedules(),
  transaction: ({ store }) => store.transaction((tx) => tx.enqueue("mail", "new"))
}

/** With the row of job 6 damaged and the payload of job 15 gone. */
const ASKING_FOR_DAMAGE = {
  payload: ({ chores }: Loaded) => chores.get(15),
  claim: ({ mail }: Loaded) => mail.claimBatch("w", 5),
  ack: ({ mail }: Loaded) => mail.ackBatch([6]),
  other: ({ mail }: Loaded) => mail.enqueue("other")
}

/** What reads the row of job 6, which is ready in the queue "mail". */
const JOB_6: Record<string, Call> = {
  claimOne: ({ mail }) => mail.claimBatch("w", 5),
  get: ({ mail }) => mail.get(6),
  list: ({ mail }) => mail.list(),
  cancel: ({ mail }) => mail.cancel(6),
  ackBatch: ({ mail }) => mail.ackBatch([6]),
  "ackBatch of neighbours": ({ mail }) => mail.ackBatch([6, 7])
}

describe("a newer format is refused, with what to do", () => {
  test("of the storage: by every call", async () => {
    await expectRefused(await load(changed(["m"], column(0, 2))), EVERYTHING, NEWER)
  })

  test("of one job: by whatever reads it", async () => {
    const newer = ({ k }: any): unknown => ({ k, v: [2, { what: "nobody knows" }] })
    const loaded = await load(changed(6, newer))
    await expectRefused(loaded, JOB_6, NEWER)
    await expectOthersWork(loaded)
  })

  test("of a lock, and of a schedule", async () => {
    const lock = await load(changed(["l", "sync"], column(0, 2)))
    await expectRefused(lock, { tryLock: ({ store }) => store.tryLock("sync", "tab-c", "1m") }, NEWER)
    const schedule = await load(changed(["s", "cleanup"], column(0, 2)))
    await expectRefused(schedule, { schedules: ({ store }) => store.schedules() }, NEWER)
  })
})

test("when the clock is set back all jobs and locks that are sound move, beside some that are not", async () => {
  const damage = [
    changed(6, ({ k }) => ({ k, v: [1] })),
    changed(9, column(1, 11)),
    changed(["l", "sync"], column(1, 0)),
    changed(["s", "report"], column(1, 0))
  ]
  const { clock, store, mail, chores } = await load((rows) => damage.reduce((changing, damaged) => damaged(changing), rows))
  const moved = must(FORMAT_1.answers.chores.jobs.find(({ state }: any) => state === "pending"))
  clock.set(clock.now() - 5 * HOUR)
  expect(await chores.get(moved.id)).toMatchObject({ runAt: moved.runAt - 5 * HOUR })
  expect(must(await store.tryLock("lapsed", "tab-c", "1m")).name).toBe("lapsed")
  expect((await rejection(() => mail.get(6))).message).toMatch(DAMAGED)
  const before = must(FORMAT_1.answers.mail.jobs.find(({ id }: any) => id === 11))
  expect(await mail.get(11)).toMatchObject({ runAt: before.runAt - 5 * HOUR, payload: before.payload })
  clock.set(clock.now() - 5 * HOUR)
  expect(await chores.get(moved.id)).toMatchObject({ runAt: moved.runAt - 10 * HOUR })
})

test("when the clock is set back nothing moves beside a job of a newer format", async () => {
  const { clock, chores, name } = await load(changed(6, column(0, 2)))
  const before = await contents(name)
  clock.set(clock.now() - 5 * HOUR)
  expect((await rejection(() => chores.stats())).message).toMatch(NEWER)
  expect(await contents(name)).toStrictEqual(before)
})

const NOT_ROWS: [what: string, value: unknown][] = [
  ["null", null],
  ["a number", 7],
  ["a string", "row"],
  ["an empty array", []],
  ["an empty object", {}],
  ["columns that are no array", { v: { length: 21, 0: 1 } }],
  ["columns with a property named like a method", { v: Object.assign([1, 1], { entries: 0 }) }],
  ["no columns", { v: [] }],
  ["format 0", { v: [0] }],
  ["a format that is no number", { v: ["1"] }]
]

describe("a damaged row is Storage", () => {
  test.each(NOT_ROWS)("the storage's own: %s", async (_, value) => {
    await expectRefused(await load(changed(["m"], () => value)), EVERYTHING, DAMAGED)
  })

  // With the entries that it has, a job's row is found by claims too.
  test.each(NOT_ROWS)("a job's: %s", async (_, value) => {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value)
    const loaded = await load(changed(6, ({ k }) => (isObject ? { k, ...value } : value)))
    const found = (call: string): boolean => isObject || ["get", "cancel", "ackBatch", "ackBatch of neighbours"].includes(call)
    const calls = Object.entries(JOB_6).filter(([call]) => found(call))
    await expectRefused(loaded, Object.fromEntries(calls), DAMAGED)
    await expectOthersWork(loaded)
  })

  test.each<[what: string, first: keyof typeof ASKING_FOR_DAMAGE]>([
    ["by a payload", "payload"],
    ["by a claim", "claim"],
    ["by its id", "ack"],
    ["by nobody", "other"]
  ])("is told to whoever asks for it, and to nobody in the same transaction: first asked for %s", async (_, first) => {
    const damaged = changed(6, ({ k }) => ({ k, v: [1] }))
    const loaded = await load((rows) => damaged(rows).filter(({ key }) => String(key) !== "p,15"))
    const { outbox, audit, store, name } = loaded
    const begin = vi.spyOn(IDBDatabase.prototype, "transaction")
    onTestFinished(() => begin.mockRestore())
    const asking = Object.entries(ASKING_FOR_DAMAGE).sort(([a], [b]) => Number(b === first) - Number(a === first))
    const outcomes = Promise.allSettled(asking.map(([, call]) => call(loaded)))
    const others = [outbox.enqueue("a"), audit.enqueue("b"), store.tryLock("mine", "me", "1m"), audit.get(22)]
    await Promise.all(others)
    const failed = (await outcomes).map(({ status }, at) => [asking[at]?.[0], status === "rejected"])
    expect(Object.fromEntries(failed)).toEqual({ payload: true, claim: true, ack: true, other: false })
    expect(begin).toHaveBeenCalledOnce()
    const stored = (await contents(name)).map(([, row]) => (row as any).p)
    expect(stored).toEqual(expect.arrayContaining(["a", "b"]))
  })

  test.each(NOT_ROWS)("a lock's: %s", async (_, value) => {
    const loaded = await load(changed(["l", "sync"], () => value))
    await expectRefused(loaded, { tryLock: ({ store }) => store.tryLock("sync", "tab-c", "1m") }, DAMAGED)
    expect(await loaded.store.tryLock("lapsed", "tab-c", "1m")).not.toBe(null)
    await expectOthersWork(loaded)
  })

  test.each(NOT_ROWS)("a schedule's: %s", async (_, value) => {
    const loaded = await load(changed(["s", "cleanup"], () => value))
    const calls: Record<string, Call> = {
      schedules: ({ store }) => store.schedules(),
      schedule: ({ store }) => store.schedule("cleanup", "@every 15m", "chores", null)
    }
    await expectRefused(loaded, calls, DAMAGED)
    await expectOthersWork(loaded)
  })

  test.each<[what: string, record?: unknown]>([
    ["that is gone"],
    ["whose record is null", null],
    ["whose record is a number", 7],
    ["whose record is empty", {}],
    ["whose record is an array", []]
  ])("a payload %s: whoever needs it is told, and the job can be removed", async (...given) => {
    const [, record] = given
    const without = (rows: StoredRow[]): StoredRow[] => rows.filter(({ key }) => String(key) !== "p,15")
    const loaded = await load(given.length === 1 ? without : changed(["p", "15"], () => record))
    const { chores } = loaded
    const calls: Record<string, Call> = {
      claim: () => chores.claimBatch("w", 10),
      list: () => chores.list(),
      get: () => chores.get(15)
    }
    await expectRefused(loaded, calls, /^the payload of job 15 is missing from the storage$/)
    await expectOthersWork(loaded)
    expect((await chores.stats()).pending).toBe(7)
    expect(await chores.cancel(15)).toBe(true)
    expect(ids(await chores.claimBatch("w", 10))).toEqual([19, 12, 13, 14, 16, 17])
  })
})

/** Entries of the index that are not job 6's own, and what comes across them. */
const DISPLACED: [how: string, entries: unknown[], call: Call][] = [
  ["of another queue", [["chores", "o", 0, 0, 6]], ({ chores }) => chores.claimBatch("w", 10)],
  ["of another queue's page", [["chores", "p", 0, 0, 6]], ({ chores }) => chores.list()],
  ["of another state", [["mail", "t", 0, 0, 6]], ({ mail }) => mail.redrive()],
  ["behind others", [["mail", "o", 9, 0, 6]], ({ mail }) => mail.claimBatch("w", 10)],
  ["twice", [["mail", "o", 0, 0, 6], ["mail", "o", 0, 1, 6]], ({ mail }) => mail.claimBatch("w", 10)]
]

test.each(DISPLACED)("a job whose entries are not its own is nobody's, and can be cancelled: %s", async (_, k, call) => {
  const loaded = await load(changed(6, (row) => ({ ...row, k })))
  await expectRefused(loaded, { call }, /^a stored row is damaged \(6\): not what this engine writes$/)
  await expectOthersWork(loaded)
  expect(await loaded.mail.cancel(6)).toBe(true)
  await call(loaded)
})

test("a job under the key of another is neither", async () => {
  const loaded = await load(changed(6, column(1, 7)))
  const calls: Record<string, Call> = { get: ({ mail }) => mail.get(6), cancel: ({ mail }) => mail.cancel(6) }
  await expectRefused(loaded, calls, /^a stored row is damaged \(7\): not what this engine writes$/)
  expect(await loaded.mail.cancel(7)).toBe(true)
})

/** What each column of a job's row may hold: a number, text, or either or nothing. */
const COLUMNS = "nnttnnnnnnnNTNNnnNTNN".split("")

test.each(COLUMNS.map((kind, at): [at: number, kind: string] => [at, kind]))(
  "a job's column %i of kind %s takes nothing else",
  async (at, kind) => {
    const values: unknown[] = [undefined, null, "x", 5, NaN, 1.5, 2 ** 53, true, {}, [], new Date(5), 1n]
    const isRight = (value: unknown): boolean => {
      if (value === null) return kind === kind.toUpperCase()
      return kind.toLowerCase() === (Number.isSafeInteger(value) ? "n" : typeof value === "string" ? "t" : "")
    }
    const loaded = await load()
    const { value: row } = must(FORMAT_1.rows.find(({ key }) => key === 6))
    for (const value of values.filter((one) => !isRight(one))) {
      await put(loaded.name, 6, column(at, value)(row))
      await expectRefused(loaded, { get: must(JOB_6["get"]) }, DAMAGED)
    }
    await put(loaded.name, 6, { ...row, v: row.v.slice(0, at) })
    await expectRefused(loaded, JOB_6, DAMAGED)
    await expectOthersWork(loaded)
  }
)

test("the columns are those of the fixture", () => {
  const rows = FORMAT_1.rows.filter(({ key }) => typeof key === "number")
  expect(rows.map(({ value }) => value.v.length)).toEqual(rows.map(() => COLUMNS.length))
})

/** Other queues, locks and schedules go on. */
async function expectOthersWork({ store, audit, outbox }: Loaded): Promise<void> {
  expect(await audit.enqueue("new")).toBe(28)
  const [job] = await audit.claimBatch("w", 1)
  expect(await job?.ack()).toBe(true)
  expect(await outbox.runOnce("w", () => undefined)).toBe(true)
  expect(await store.tryLock("other", "tab-c", "1m")).not.toBe(null)
  expect(await audit.sweepExpired()).toBe(0)
}
