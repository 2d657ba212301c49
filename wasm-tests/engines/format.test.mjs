// Stored rows: those of the first release, damaged ones, and how few are read.

import { inEachEngine } from "./harness/each.mjs"

inEachEngine(({ engine, cases }) => {
  // In Chromium they run under Vitest.
  if (engine.name === "chromium") return
  for (const name of ["format", "damage", "opening"]) cases(`browser/indexeddb/${name}.test`)
})
