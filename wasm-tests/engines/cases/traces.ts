// The recorded conformance traces.

import { replay } from "../../shared/replay.js"
import type { Trace } from "../../shared/trace.js"
import { newStorage } from "../page/storage.js"
import { expect, test } from "../page/test.js"

const names = (await (await fetch("/vectors/")).json()) as string[]

test("the recorded traces are here", () => {
  expect(names.length).toBeGreaterThanOrEqual(11)
})

for (const name of names) {
  test(`${name} replays without a mismatch`, async () => {
    const trace = (await (await fetch(`/vectors/${name}`)).json()) as Trace
    expect(trace.steps.length).toBeGreaterThan(100)
    expect(await replay(trace, newStorage())).toEqual([])
  })
}
