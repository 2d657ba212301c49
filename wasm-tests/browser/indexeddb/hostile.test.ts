// Where the storage makes a difference: payloads that it keeps, and transactions of the caller's.

import { indexedDb } from "alkstore-wasm/indexeddb"
import { expect, test } from "vitest"
import { freshName } from "../../shared/databases.js"
import { INTERFACES } from "../../shared/hostile/calls.js"
import { play } from "../../shared/hostile/play.js"
import { sitesOf } from "../../shared/hostile/site.js"

const SITES = sitesOf("Queue.enqueue", INTERFACES.Queue.enqueue).filter(({ argument }) => {
  return ["payload", "transaction"].includes(argument)
})

test.each(SITES.map((site) => [site.where, site] as const))("%s on IndexedDB", async (_, site) => {
  expect(await play(site, () => indexedDb(freshName(), { durability: "relaxed" }))).toEqual([])
})
