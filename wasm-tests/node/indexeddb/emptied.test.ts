// A storage that was emptied while somebody was at work in it: at a sign-out, or by the browser.

import "fake-indexeddb/auto"
import { expect, onTestFinished, test } from "vitest"
import { open } from "alkstore-wasm"
import { indexedDb } from "alkstore-wasm/indexeddb"
import { ManualClock } from "alkstore-wasm/testing"
import { connect, freshName, settled } from "../../shared/databases.js"
import { must } from "../../shared/support.js"

test.each<[how: string, empty: (name: string) => Promise<unknown>]>([
  ["deleted", (name) => settled(indexedDB.deleteDatabase(name))],
  ["cleared", async (name) => {
    const db = await connect(name)
    await settled(db.transaction("alkstore", "readwrite").objectStore("alkstore").clear())
    db.close()
  }]
])("a claim from before the database was %s settles nothing of what is stored in it after", async (_, empty) => {
  const [name, clock] = [freshName(), new ManualClock(1_700_000_000_000)]
  const [theirs, mine] = [await open({ storage: indexedDb(name), clock }), await open({ storage: indexedDb(name), clock })]
  onTestFinished(async () => void (await Promise.all([theirs.close(), mine.close()])))
  await theirs.queue("mail").enqueue("of the one who signs out")
  const old = must(await theirs.queue("mail").claimOne("w"))
  await empty(name)
  await clock.advance(1)
  expect(await mine.queue("mail").enqueue("of the next one"), "ids begin again").toBe(old.id)
  const job = must(await mine.queue("mail").claimOne("w"))
  expect(await Promise.all([old.heartbeat("1h"), old.retry(), old.fail(), old.ack()])).toEqual([false, false, false, false])
  expect(await job.ack()).toBe(true)
})
