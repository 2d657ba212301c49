// A header that is damaged gives ids that are taken. Not in memory: there a transaction that fails at the end commits.

import { expect, test } from "vitest"
import { load } from "../../fixtures/load.js"
import { contents } from "../../shared/databases.js"
import { must, rejection } from "../../shared/support.js"

test.each([
  ["in its row", "new"],
  ["apart", new Map()]
])("an id that is taken costs no other job, with a payload that is kept %s", async (_, payload) => {
  const { name, mail, chores } = await load((rows) => {
    must(rows.find(({ key }) => String(key) === "m")).value.v[1] = 15
    return rows
  })
  const before = await contents(name)
  const error = await rejection(() => mail.enqueue(payload))
  expect(error.code).toBe("Storage")
  expect(error.message).toMatch(/ConstraintError/)
  expect(await contents(name), "nothing is changed").toStrictEqual(before)
  expect(await chores.cancel(15)).toBe(true)
})
