// Stored rows: those of the first release, and how few are read. (Damage is the engine's to see, and the same in all.)

import { inEachEngine } from "./harness/each.mjs"

inEachEngine(({ engine, cases }) => {
  // In Chromium they run under Vitest.
  if (engine.name === "chromium") return
  for (const name of ["format", "opening"]) cases(`browser/indexeddb/${name}.test`)
})
