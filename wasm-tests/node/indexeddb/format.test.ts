// Stored formats, over a database in memory; and what this release writes.

import "fake-indexeddb/auto"
import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { makeFormat1 } from "../../fixtures/make-format-1.mjs"
import "../../browser/indexeddb/format.test.js"
import "../../browser/indexeddb/damage.test.js"
import "../../browser/indexeddb/opening.test.js"

const FILE = new URL("../../fixtures/format-1.json", import.meta.url)

test("this release writes format 1 as it was written first", async () => {
  expect(await makeFormat1()).toBe(readFileSync(FILE, "utf8"))
})
