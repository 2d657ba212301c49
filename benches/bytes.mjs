// What a page downloads: the package and its peers as an app would have them, bundled and minified by esbuild, and the
// wasm that they fetch.
//
//   node benches/bytes.mjs [--check]
//
// With --check the exit code is 1 if all that a page with IndexedDB loads is over PAGE_GZIP_MAX. What the package's own
// files may weigh is in wasm-tests/packaging/budgets.mjs, and `npm test` sees to that.

import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { brotliCompressSync, gzipSync } from "node:zlib"
import { limits, table } from "./lib/figures.mjs"
import { bundled, shipped } from "./lib/pages.mjs"

const PAGE_GZIP_MAX = 65_000

const { values: flags } = parseArgs({ options: { check: { type: "boolean" } } })

const ENGINE = "alkstore-wasm/dist/engine.wasm"
const PAGE = "alkstore-wasm + /indexeddb"
const SLIM_PAGE = "alkstore-wasm/slim + /indexeddb"

/** What each is for is said beside it: none of the others has leases, priorities, schedules and locks. */
const SIDES = {
  "alkstore-wasm": { code: 'export { open } from "alkstore-wasm"' },
  [PAGE]: { code: 'export { open } from "alkstore-wasm"; export { indexedDb } from "alkstore-wasm/indexeddb"' },
  "alkstore-wasm/slim": { code: 'export { init, open } from "alkstore-wasm/slim"', wasm: ENGINE },
  [SLIM_PAGE]: {
    code: 'export { init, open } from "alkstore-wasm/slim"; export { indexedDb } from "alkstore-wasm/indexeddb"',
    wasm: ENGINE
  },
  "workbox-background-sync: requests, tried again": { code: 'export { Queue } from "workbox-background-sync"' },
  "@tanstack/offline-transactions, with its db": {
    code: `export { startOfflineExecutor } from "@tanstack/offline-transactions"
      export { createCollection, localOnlyCollectionOptions } from "@tanstack/db"`
  },
  "dexie: IndexedDB alone": { code: 'export { Dexie } from "dexie"' },
  "@jsquash/jpeg's encoder": {
    code: 'export { default } from "@jsquash/jpeg/encode.js"',
    wasm: "@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm"
  },
  "@sqlite.org/sqlite-wasm": {
    code: 'export { default } from "@sqlite.org/sqlite-wasm"',
    wasm: "@sqlite.org/sqlite-wasm/dist/sqlite3.wasm"
  }
}

const weights = {}
for (const [name, { code, wasm }] of Object.entries(SIDES)) {
  const script = weight(Buffer.from(await bundled(code)))
  const engine = wasm ? weight(readFileSync(shipped(wasm))) : { plain: 0, gzip: 0, brotli: 0 }
  weights[name] = { script, engine, gzip: script.gzip + engine.gzip, brotli: script.brotli + engine.brotli }
}

const kb = (bytes) => (bytes === 0 ? "" : (bytes / 1000).toFixed(1))
const row = ([name, { script, engine, gzip, brotli }]) => {
  const parts = [script, engine].flatMap((part) => [part.plain, part.gzip, part.brotli].map(kb))
  return [name, ...parts, kb(gzip), kb(brotli), (gzip / weights[PAGE].gzip).toFixed(2)]
}
console.log("KB: JavaScript minified, gzip, brotli; wasm as it is, gzip, brotli; both together; beside our page with IndexedDB\n")
const heads = ["", "minified", "gzip", "brotli", "wasm", "gzip", "brotli", "all gzip", "all brotli", "beside"]
table([heads, ...Object.entries(weights).map(row)])
console.log()
const held = limits(flags.check)
held.atMost("all that a page with IndexedDB loads, KB after gzip", weights[PAGE].gzip / 1000, PAGE_GZIP_MAX / 1000)
held.atMost("the same with /slim", weights[SLIM_PAGE].gzip / 1000, PAGE_GZIP_MAX / 1000)
held.end()

function weight(bytes) {
  return { plain: bytes.length, gzip: gzipSync(bytes).length, brotli: brotliCompressSync(bytes).length }
}
