// A database that gets into trouble under a store at work: what is acknowledged is there, what is not has not happened,
// and the store goes on.

import { AlkstoreError, open } from "alkstore-wasm"
import type { Queue, Store } from "alkstore-wasm"
import { indexedDb } from "alkstore-wasm/indexeddb"
import { connect, freshName, settled } from "../../shared/databases.js"
import { claim, follow, ids, rejection } from "../../shared/support.js"
import { expect, onTestFinished, test } from "../page/test.js"
import { vi } from "../page/vitest.js"

const JOBS = 200

interface World {
  name: string
  store: Store
  queue: Queue<number>
}

async function start(): Promise<World> {
  const name = freshName()
  const store = await open({ storage: indexedDb(name) })
  onTestFinished(() => store.close())
  return { name, store, queue: store.queue<number>("mail") }
}

/** Calls `act` with the transaction of the next row that is written, right afterwards. */
function afterNextWrite(act: (transaction: IDBTransaction) => void): void {
  const spies = (["add", "put"] as const).map((method) => {
    const write = IDBObjectStore.prototype[method]
    return vi.spyOn(IDBObjectStore.prototype, method).mockImplementation(function (this: IDBObjectStore, ...given) {
      restore()
      const request = write.apply(this, given)
      act(this.transaction)
      return request
    })
  })
  const restore = (): void => spies.forEach((spy) => spy.mockRestore())
  onTestFinished(restore)
}

interface Load {
  acknowledged: number[]
  failed: unknown[]
  stop(): Promise<void>
}

/** Enqueues one after another until `stop`: the payloads that were acknowledged, and the errors. */
function load(queue: Queue<number>): Load {
  const [acknowledged, failed]: [number[], unknown[]] = [[], []]
  let stopped = false
  const run = async (): Promise<void> => {
    for (let n = 0; !stopped; n++) {
      await queue.enqueue(n).then(() => acknowledged.push(n), (error: unknown) => failed.push(error))
    }
  }
  const running = run()
  return {
    acknowledged,
    failed,
    stop() {
      stopped = true
      return running
    }
  }
}

const soon = { timeout: 20_000, interval: 1 }

async function all(queue: Queue<number>): Promise<number[]> {
  return (await queue.list({ limit: 100_000 })).map((job) => job.payload)
}

test("a connection that closes in mid-flight is opened again: nothing fails, nothing is lost", async () => {
  const { name, queue } = await start()
  afterNextWrite(({ db }) => db.close())
  const open = vi.spyOn(IDBFactory.prototype, "open")
  onTestFinished(() => open.mockRestore())
  const enqueued = await Promise.all(Array.from({ length: JOBS }, (_, n) => queue.enqueue(n)))
  const later = await Promise.all(Array.from({ length: JOBS }, (_, n) => queue.enqueue(JOBS + n)))
  expect(open.mock.calls.map(([opened]) => opened)).toEqual([name])
  expect(ids(await queue.list({ limit: 2 * JOBS }))).toEqual([...enqueued, ...later])
})

test("one that closes under a wait, a claim and a delivery disturbs none of them", async () => {
  const { name, store } = await start()
  const outbox = store.outbox<string>("orders")
  const waiting = outbox.wait()
  afterNextWrite(({ db }) => db.close())
  await outbox.enqueue("an order")
  expect(await waiting).toBe(true)
  let connection: IDBDatabase | undefined
  afterNextWrite(({ db }) => (connection = db).close())
  expect(await outbox.runOnce("w", () => connection?.close())).toBe(true)
  expect(connection?.name).toBe(name)
  expect(await outbox.list()).toEqual([])
})

test("a transaction that is aborted in mid-flight: no operation in it has happened, each is Storage", async () => {
  const { queue } = await start()
  const before = await queue.enqueue(-1)
  // The first one's transaction begins at the end of its turn; those that come meanwhile share the next.
  const leader = queue.enqueue(0)
  await Promise.resolve()
  await Promise.resolve()
  const shared = [1, 2, 3].map((n) => queue.enqueue(n))
  // The first one has written: it did not wait for its first read.
  afterNextWrite((transaction) => transaction.abort())
  await leader
  for (const outcome of await Promise.allSettled(shared)) {
    expect(outcome).toMatchObject({ status: "rejected", reason: { code: "Storage" } })
  }
  expect(await all(queue)).toEqual([-1, 0])
  const after = await queue.enqueue(4)
  expect(after).toBeGreaterThan(before)
  expect(await all(queue)).toEqual([-1, 0, 4])
})

test("a claim that is aborted hands nothing out; an ack that is aborted leaves the job with its holder", async () => {
  const { queue } = await start()
  const id = await queue.enqueue(7)
  afterNextWrite((transaction) => transaction.abort())
  expect((await rejection(() => queue.claimOne("w1"))).code).toBe("Storage")
  expect(await queue.get(id)).toMatchObject({ state: "pending", attempts: 0, workerId: null })

  const job = await claim(queue, "w2")
  const remove = vi.spyOn(IDBObjectStore.prototype, "delete")
  onTestFinished(() => remove.mockRestore())
  remove.mockImplementation(function (this: IDBObjectStore) {
    this.transaction.abort()
    throw new DOMException("the disk is on fire", "UnknownError")
  })
  expect((await rejection(() => job.ack())).code).toBe("Storage")
  remove.mockRestore()
  expect(await queue.get(id)).toMatchObject({ state: "processing", attempts: 1, workerId: "w2" })
  expect(await job.ack()).toBe(true)
  expect(await queue.list()).toEqual([])
})

test("other contexts upgrade the database again and again under load: whatever is acknowledged is there", async () => {
  const { name, queue } = await start()
  const work = load(queue)
  for (let version = 2; version <= 6; version++) {
    const more = work.acknowledged.length + 5
    await vi.waitFor(() => expect(work.acknowledged.length).toBeGreaterThan(more), soon)
    const theirs = await connect(name, version, (db) => db.createObjectStore(`notes ${version}`))
    expect(theirs.version).toBe(version)
  }
  await work.stop()
  expect(work.failed).toEqual([])
  expect(await all(queue)).toEqual(work.acknowledged)
})

test("an upgrade that a third connection blocks holds operations up, and no longer than that", async () => {
  const { name, queue } = await start()
  await queue.enqueue(1)
  const stubborn = await connect(name)
  stubborn.onversionchange = null
  const request = indexedDB.open(name, 2)
  const upgraded = settled(request)
  await new Promise((resolve) => (request.onblocked = resolve))
  const fate = follow(queue.enqueue(2))
  const elsewhere = await connect(freshName(), 1, (db) => db.createObjectStore("a"))
  await settled(elsewhere.transaction("a").objectStore("a").count())
  expect(fate.state).toBe("waiting")
  stubborn.close()
  const theirs = await upgraded
  onTestFinished(() => theirs.close())
  await vi.waitFor(() => expect(fate.state).toBe("resolved"), soon)
  expect(await all(queue)).toEqual([1, 2])
})

test("another context deletes the database under load: what is acknowledged afterwards is in the new one", async () => {
  const { name, queue } = await start()
  const work = load(queue)
  await vi.waitFor(() => expect(work.acknowledged.length).toBeGreaterThan(5), soon)
  await settled(indexedDB.deleteDatabase(name))
  const gone = work.acknowledged.length
  await vi.waitFor(() => expect(work.acknowledged.length).toBeGreaterThan(gone + 5), soon)
  await work.stop()
  for (const error of work.failed) expect(error).toBeInstanceOf(AlkstoreError)
  const there = await all(queue)
  expect(there.length).toBeGreaterThan(5)
  // One may have been acknowledged before the deletion was, and lie in the new database.
  expect(there).toEqual(work.acknowledged.slice(-there.length))
  expect(there.length).toBeGreaterThanOrEqual(work.acknowledged.length - gone)
})
