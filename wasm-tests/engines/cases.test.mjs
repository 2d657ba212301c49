// What a page tests by itself, in every engine.

import { inEachEngine } from "./harness/each.mjs"

// Storage Buckets, which a quota can be set for, are Chromium's alone; WebKitGTK has no `navigator.storage`.
const UNABLE = {
  "transactions.test": { firefox: "^when the disk is full", webkit: "^when the disk is full" },
  "contexts.test": { webkit: "durability is what the browser says" }
}

inEachEngine(({ engine, cases }) => {
  cases("smoke", { storage: "memory" })
  cases("smoke", { storage: "indexeddb" })
  cases("traces", { storage: "indexeddb, relaxed" })
  cases("clock", { storage: "indexeddb" })
  cases("trouble")
  // In Chromium they run under Vitest.
  if (engine.name === "chromium") return
  for (const name of ["transactions.test", "payloads.test", "contexts.test"]) {
    const without = UNABLE[name]?.[engine.name]
    cases(`browser/indexeddb/${name}`, without === undefined ? {} : { without })
  }
})
