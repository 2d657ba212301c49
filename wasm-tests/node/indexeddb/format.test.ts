// Stored formats, over a database in memory; and what this release writes.

import "fake-indexeddb/auto"
import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { makeFormat1 } from "../../fixtures/make-format-1.mjs"
import "../../browser/indexeddb/format.test.js"
import "../../browser/indexeddb/damage.test.js"
import "../../browser/indexeddb/opening.test.js"

const FILE = new URL("../../fixtures/format-1.json", import.meta.url)

// How far ahead of the last job the header's next id and its last column are is a release's own affair.
const HEADER = /(\{"key":\["m"\],"value":\{"v":\[1),\d+,(\d+,\d+),\d+\]/
const withoutAhead = (rows: string): string => rows.replace(HEADER, "$1,_,$2,_]")

// So is where the numbers of a job's claims begin, of which each job here has at most one.
const JOB = /("v":\[1,\d+,(?:[^,]+,){13})(\d+)/g
const withoutClaims = (rows: string): string => rows.replace(JOB, (_, before, number) => `${before}${Math.min(number, 1)}`)

test("this release writes format 1 as it was written first", async () => {
  expect(readFileSync(FILE, "utf8")).toMatch(HEADER)
  const [written, first] = [await makeFormat1(), readFileSync(FILE, "utf8")].map(withoutAhead).map(withoutClaims)
  expect(written).toBe(first)
})
