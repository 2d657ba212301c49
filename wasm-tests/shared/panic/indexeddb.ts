// A defect ends the engine, not what is stored: of what it was at nothing or all is there, and the next one goes on. Run
// in Node on an IndexedDB in memory, and in Chromium on its own.

import { describe, expect, onTestFinished, test, vi } from "vitest"
import type { ClaimedJob, StorageAdapter, Store } from "../../../js/types.js"
import { completed, connect, contents, freshName } from "../databases.js"
import { DAY, follow, must, SECOND, START } from "../support.js"
import { DEFECT, engine, failureOf, indexedDb, open, panic, striker, StruckClock, upgrade } from "./support.js"

const PANICKED = { code: "Panicked", message: expect.stringContaining(DEFECT) as string }

async function opened(storage: StorageAdapter, clock?: StruckClock): Promise<Store> {
  const store = await open({ storage, ...(clock && { clock }) })
  onTestFinished(() => store.close().catch(() => undefined))
  return store
}

describe("a panic under an adapter", () => {
  test("leaves what was stored; another store on it works, and the old one says Panicked", async () => {
    const storage = indexedDb(freshName())
    const [old, another] = [await opened(storage), await opened(storage)]
    const id = await old.queue("mail").enqueue("kept")
    await panic()
    const store = await opened(storage)
    expect((await store.queue("mail").list()).map((job) => job.payload)).toEqual(["kept"])
    expect(await store.queue("mail").enqueue("more")).toBeGreaterThan(id)
    for (const dead of [old, another]) {
      expect(await failureOf(() => dead.schedules())).toMatchObject(PANICKED)
      expect(await failureOf(() => dead.close())).toMatchObject(PANICKED)
    }
    expect(await store.queue("mail").stats(), "their end is not this one's").toMatchObject({ pending: 2 })
  })

  test("in a future that is polled later is the same", async () => {
    const storage = indexedDb(freshName())
    const store = await opened(storage)
    await store.queue("mail").enqueue("kept")
    const waiting = failureOf(() => store.queue("another").wait())
    const { glue } = await engine()
    glue.testPanicLater(DEFECT)
    expect(await waiting).toMatchObject(PANICKED)
    expect(await (await opened(storage)).queue("mail").stats()).toMatchObject({ pending: 1 })
  })

  test("lets the next store hear of others", async () => {
    const name = freshName()
    const storage = indexedDb(name)
    await opened(storage)
    await panic()
    const fate = follow((await opened(storage)).queue("mail").wait())
    await (await opened(indexedDb(name))).queue("mail").enqueue("a job")
    await vi.waitFor(() => expect(fate).toEqual({ state: "resolved", value: true }))
  })

  test("rejects what was under way, of which nothing is stored", async () => {
    const name = freshName()
    const store = await opened(indexedDb(name))
    const failures = ["a", "b"].map((payload) => failureOf(() => store.queue("mail").enqueue(payload)))
    await panic()
    expect(await Promise.all(failures)).toMatchObject([PANICKED, PANICKED])
    expect(await contents(name)).toEqual([])
  })

  test("lets go of the connection when nobody opens again", async () => {
    const name = freshName()
    await opened(indexedDb(name))
    const close = vi.spyOn(IDBDatabase.prototype, "close")
    onTestFinished(() => close.mockRestore())
    await panic()
    expect(close).toHaveBeenCalledOnce()
    await connect(name)
  })
})

interface Stored {
  name: string
  storage: StorageAdapter
  clock: StruckClock
  store: Store
  /** A claimed job; another is ready, and another dead, whose retention has ended. */
  job: ClaimedJob
}

/** A storage with something for every operation. Its schedule is due. */
async function stored(): Promise<Stored> {
  const name = freshName()
  const [storage, clock] = [indexedDb(name), new StruckClock()]
  const store = await opened(storage, clock)
  const queue = store.queue("mail", { visibilityTimeout: "2d", deadLetterRetention: 0 })
  for (const payload of ["claimed", "dead", "ready"]) await queue.enqueue(payload)
  const job = must(await queue.claimOne("w"))
  await must(await queue.claimOne("w")).fail()
  await store.outbox("hooks").enqueue("a letter")
  await store.schedule("nightly", "@every 1d", "night", "a job")
  clock.at = START + DAY
  return { name, storage, clock, store, job }
}

const OPERATIONS: [what: string, run: (stored: Stored) => Promise<unknown>][] = [
  ["an enqueue", ({ store }) => store.queue("mail").enqueue("more")],
  [
    "an enqueue of what lies apart",
    ({ store }) => store.queue("mail").enqueue(new Map([["more", new Uint8Array(10)]])),
  ],
  ["a claim", ({ store }) => store.queue("mail").claimOne("w")],
  ["an acknowledgement", ({ job }) => job.ack()],
  ["a retry", ({ job }) => job.retry("a reason")],
  ["a redrive", ({ store }) => store.queue("mail").redrive()],
  ["a sweep", ({ store }) => store.queue("mail").sweepExpired()],
  ["a lock", ({ store }) => store.tryLock("report", "tab", "1h")],
  ["a registration", ({ store }) => store.schedule("weekly", "@every 7d", "night", "another")],
  ["a leader's turn", ({ store }) => store.runSchedules()],
  ["a delivery's claim", ({ store }) => store.outbox("hooks").runOnce("w", () => {})],
  [
    "a commit",
    ({ store }) =>
      store.transaction(async (tx) => {
        await tx.enqueue("mail", "one")
        await tx.outboxEnqueue("hooks", "two")
      }),
  ],
]

/** Strikes at the first call of one of the methods, once it has been made. Whether it has. */
function strikeAfter(strike: () => void, prototype: any, ...names: string[]): () => boolean {
  let hasStruck = false
  for (const name of names) {
    const original = prototype[name] as (...args: unknown[]) => unknown
    const spy = vi.spyOn(prototype, name).mockImplementation(function (this: unknown, ...args: unknown[]) {
      const result = original.apply(this, args)
      if (!hasStruck) {
        hasStruck = true
        strike()
      }
      return result
    })
    onTestFinished(() => spy.mockRestore())
  }
  return () => hasStruck
}

/** A new store, which does what the old one could not. */
async function expectGoingOn({ storage, clock }: Stored): Promise<void> {
  const store = await opened(storage, clock)
  const queue = store.queue("mail")
  expect((await queue.list({ state: "processing" })).map((job) => job.payload)).toEqual(["claimed"])
  const job = must(await queue.claimOne("w"))
  expect([job.payload, await job.ack()]).toEqual(["ready", true])
  expect(await store.outbox("hooks").runOnce("w", () => {})).toBe(true)
  expect(await store.queue("night").stats()).toMatchObject({ pending: 0 })
  const stop = new AbortController()
  const leading = store.runSchedules(stop.signal)
  stop.abort()
  await leading
  expect(await store.queue("night").stats(), "a boundary fires once").toMatchObject({ pending: 1 })
}

describe("a panic in the middle of a transaction of the database's", () => {
  test.each(OPERATIONS)("%s: before it writes", async (_, run) => {
    const world = await stored()
    const before = await contents(world.name)
    world.clock.strike = await striker()
    expect(await failureOf(() => run(world))).toMatchObject(PANICKED)
    expect(await contents(world.name)).toEqual(before)
    await expectGoingOn(world)
  })

  test.each(OPERATIONS)("%s: when it has begun to write", async (_, run) => {
    const world = await stored()
    const before = await contents(world.name)
    const hasStruck = strikeAfter(await striker(), IDBObjectStore.prototype, "put", "delete")
    expect(await failureOf(() => run(world))).toMatchObject(PANICKED)
    expect(hasStruck()).toBe(true)
    expect(await contents(world.name)).toEqual(before)
    await expectGoingOn(world)
  })

  test("several operations in one, which is being committed: all of them are there, or none", async () => {
    const world = await stored()
    const before = await contents(world.name)
    const hasStruck = strikeAfter(await striker(), IDBTransaction.prototype, "commit")
    const calls = ["first", "second", "third"].map((payload) =>
      failureOf(() => world.store.queue("more").enqueue(payload)),
    )
    expect(await Promise.all(calls)).toMatchObject([PANICKED, PANICKED, PANICKED])
    expect(hasStruck()).toBe(true)
    const jobs = await (await opened(world.storage, world.clock)).queue("more").list()
    expect(jobs.map((job) => job.payload)).toEqual(["first", "second", "third"])
    expect((await contents(world.name)).length).toBe(before.length + 3)
    await expectGoingOn(world)
  })

  test("a leader's turn that is being committed: what was due has fired once, and is not due again", async () => {
    const world = await stored()
    const hasStruck = strikeAfter(await striker(), IDBTransaction.prototype, "commit")
    expect(await failureOf(() => world.store.runSchedules())).toMatchObject(PANICKED)
    expect(hasStruck()).toBe(true)
    const store = await opened(world.storage, world.clock)
    expect((await store.queue("night").list()).map((job) => job.payload)).toEqual(["a job"])
    expect(await store.schedules()).toMatchObject([{ nextFireAt: START + 2 * DAY }])
    expect(await failureOf(() => store.runSchedules()), "its lease is left to lapse").toMatchObject({
      code: "LeadershipLost",
    })
    world.clock.at += 10 * SECOND
    const stop = new AbortController()
    const leading = store.runSchedules(stop.signal)
    stop.abort()
    await leading
    expect(await store.queue("night").stats()).toMatchObject({ pending: 1 })
  })
})

describe("a panic inside code of the caller's", () => {
  test("a delivery: its job is handed out again when the claim lapses", async () => {
    const world = await stored()
    const strike = await striker()
    expect(await failureOf(() => world.store.outbox("hooks").runOnce("w", strike))).toMatchObject(PANICKED)
    const outbox = (await opened(world.storage, world.clock)).outbox("hooks")
    expect(await outbox.runOnce("w", () => {})).toBe(false)
    world.clock.at += 61 * SECOND
    let attempts = 0
    expect(await outbox.runOnce("w", (job) => void (attempts = job.attempts))).toBe(true)
    expect(attempts).toBe(2)
    expect(await outbox.list()).toEqual([])
  })

  test("a transaction's body: nothing of it is stored, and its ids are given to nobody", async () => {
    const world = await stored()
    const strike = await striker()
    let staged = 0
    const run = world.store.transaction(async (tx) => {
      staged = await tx.enqueue("mail", "staged")
      strike()
      await tx.enqueue("mail", "never")
    })
    expect(await failureOf(() => run)).toMatchObject(PANICKED)
    const queue = (await opened(world.storage, world.clock)).queue("mail")
    expect((await queue.list()).map((job) => job.payload)).toEqual(["claimed", "dead", "ready"])
    expect(await queue.enqueue("more")).toBeGreaterThan(staged)
  })
})

describe("a panic in a transaction of the app's own", () => {
  async function startApp(): Promise<{ db: IDBDatabase; clock: StruckClock; store: Store; storage: StorageAdapter }> {
    const db = await connect(freshName(), 1, (made, transaction) => {
      made.createObjectStore("notes")
      upgrade(made, transaction)
    })
    const [storage, clock] = [indexedDb({ database: db }), new StruckClock()]
    return { db, clock, storage, store: await opened(storage, clock) }
  }

  const notes = async (db: IDBDatabase): Promise<unknown[]> =>
    (await contents(db.name, "notes")).map(([, note]) => note as unknown)

  test("before the job is written leaves the app its transaction, without a job", async () => {
    const { db, clock, storage, store } = await startApp()
    const transaction = db.transaction(["notes", "alkstore"], "readwrite")
    const completes = completed(transaction)
    transaction.objectStore("notes").put("a note", 1)
    clock.strike = await striker()
    expect(await failureOf(() => store.outbox("mail").enqueue("a letter", { transaction }))).toMatchObject(PANICKED)
    await completes
    expect(await notes(db)).toEqual(["a note"])
    expect(await (await opened(storage, clock)).outbox("mail").list()).toEqual([])
  })

  test("when the job is being written takes the note along: there is no half of a job", async () => {
    const { db, clock, storage, store } = await startApp()
    const transaction = db.transaction(["notes", "alkstore"], "readwrite")
    const outcome = follow(completed(transaction))
    transaction.objectStore("notes").put("a note", 1)
    strikeAfter(await striker(), IDBObjectStore.prototype, "put")
    expect(await failureOf(() => store.outbox("mail").enqueue("a letter", { transaction }))).toMatchObject(PANICKED)
    await vi.waitFor(() => expect(outcome.state).toBe("rejected"))
    expect(await notes(db)).toEqual([])
    expect(await (await opened(storage, clock)).outbox("mail").list()).toEqual([])
  })

  test("once the job is written changes nothing: it is stored with the note", async () => {
    const { db, clock, storage, store } = await startApp()
    const transaction = db.transaction(["notes", "alkstore"], "readwrite")
    const completes = completed(transaction)
    transaction.objectStore("notes").put("a note", 1)
    await store.outbox("mail").enqueue("a letter", { transaction })
    const strike = await striker()
    strike()
    await completes
    expect(await notes(db)).toEqual(["a note"])
    expect((await (await opened(storage, clock)).outbox("mail").list()).map((job) => job.payload)).toEqual(["a letter"])
  })
})
