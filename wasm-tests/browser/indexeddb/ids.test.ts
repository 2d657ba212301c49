// A header that is damaged gives ids that are taken. Not in memory: there a transaction that fails at the end commits.

import { expect, test } from "vitest"
import { load } from "../../fixtures/load.js"
import { connect, contents } from "../../shared/databases.js"
import { must, rejection } from "../../shared/support.js"

/** Job 15 is there, and the header says that it is the next one's. */
const loadTaken = () =>
  load((rows) => {
    must(rows.find(({ key }) => String(key) === "m")).value.v[1] = 15
    return rows
  })

const PAYLOADS: [where: string, payload: unknown][] = [
  ["in its row", "new"],
  ["apart", new Map()]
]

test.each(PAYLOADS)("an id that is taken costs no other job, with a payload that is kept %s", async (_, payload) => {
  const { name, mail, chores } = await loadTaken()
  const before = await contents(name)
  const error = await rejection(() => mail.enqueue(payload))
  expect(error.code).toBe("Storage")
  expect(error.message).toMatch(/ConstraintError/)
  expect(await contents(name), "nothing is changed").toStrictEqual(before)
  expect(await chores.cancel(15)).toBe(true)
})

test.each(PAYLOADS)("nor in a transaction of the app's that no error ends, with a payload %s", async (_, payload) => {
  const { name, mail } = await loadTaken()
  const before = await contents(name)
  const transaction = (await connect(name)).transaction("alkstore", "readwrite")
  transaction.onerror = (event) => event.preventDefault()
  const error = await rejection(() => mail.enqueue(payload, { transaction }))
  expect(error.code).toBe("Storage")
  expect(await contents(name), "nothing is changed").toStrictEqual(before)
})
