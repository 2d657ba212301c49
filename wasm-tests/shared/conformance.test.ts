/// <reference types="vite/client" />
import { describe, expect, test } from "vitest"
import { replay } from "./replay.js"
import { must } from "./support.js"
import type { Trace } from "./trace.js"

const traces = import.meta.glob<Trace>("../../tests/vectors/*.json", { eager: true, import: "default" })

describe("recorded traces", () => {
  test("are here", () => {
    expect(Object.keys(traces).length).toBeGreaterThanOrEqual(11)
  })

  test.each(Object.entries(traces))("%s replays without a mismatch", async (_, trace) => {
    expect(trace.steps.length).toBeGreaterThan(100)
    expect(await replay(trace)).toEqual([])
  })

  test("an altered recording is noticed", async () => {
    const trace = structuredClone(Object.values(traces)[0])
    const step = must(trace).steps.findIndex(({ op, expect }) => op === "sweep_expired" && "ok" in expect)
    Object.assign(must(trace).steps[step] ?? {}, { expect: { ok: -1 } })
    expect(await replay(must(trace))).toMatchObject([{ op: "sweep_expired", step, expected: { ok: -1 } }])
  })
})
