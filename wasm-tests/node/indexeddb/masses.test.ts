// Storages with more jobs than move in one go when the clock was set back.

import "fake-indexeddb/auto"
import { expect, onTestFinished, test } from "vitest"
import { open } from "alkstore-wasm"
import { indexedDb } from "alkstore-wasm/indexeddb"
import { ManualClock } from "alkstore-wasm/testing"
import { connect, freshName, settled } from "../../shared/databases.js"
import { must } from "../../shared/support.js"

/** How many jobs the engine reads at a time. */
const CHUNK = 256
const HOUR = 3_600_000

test.each([CHUNK / 2, CHUNK])("a damaged row that names a later job moves nothing of that one: row %i", async (damaged) => {
  const [name, clock, named] = [freshName(), new ManualClock(1_700_000_000_000), CHUNK + 20]
  const store = await open({ storage: indexedDb(name), clock })
  onTestFinished(() => store.close())
  const queue = store.queue<number>("mail")
  await Promise.all(Array.from({ length: CHUNK + 40 }, (_, at) => queue.enqueue(at + 1)))
  const db = await connect(name)
  const rows = db.transaction("alkstore", "readwrite").objectStore("alkstore")
  const row = await settled(rows.get(damaged))
  await settled(rows.put({ ...row, v: row.v.with(1, named) }, damaged))
  db.close()
  const before = clock.now()
  clock.set(before - 5 * HOUR)
  for (const id of [damaged - 1, damaged + 1, named - 1, named, named + 1]) {
    expect(must(await queue.get(id))).toMatchObject({ id, payload: id, runAt: before - 5 * HOUR })
  }
})
