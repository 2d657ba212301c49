// What the package may weigh: bytes after gzip of what a page downloads, each file for itself. To be lowered whenever it
// weighs less.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"

/** The modules of pkg/dist that a page imports, files that it fetches, and what they may weigh together. */
export const BUDGETS = {
  "the default entry": { modules: ["index.mjs"], gzipMax: 77_700 },
  "the engine": { files: ["engine.wasm"], gzipMax: 74_600 },
  "/slim without the engine": { modules: ["slim.mjs"], gzipMax: 12_950 },
  "/indexeddb beside another entry": { modules: ["indexeddb.mjs"], besides: ["index.mjs"], gzipMax: 6_200 },
  "all that a page with IndexedDB loads": { modules: ["index.mjs", "indexeddb.mjs"], gzipMax: 83_850 },
  "all that one with /slim and IndexedDB loads": {
    modules: ["slim.mjs", "indexeddb.mjs"],
    files: ["engine.wasm"],
    gzipMax: 93_700
  }
}

/** The files of the folder `dist` that a budget is about, what the modules import included: `{ name: bytes }`. */
export function weigh(dist, { modules = [], besides = [], files = [] }) {
  const there = reached(dist, besides)
  const names = [...reached(dist, modules).filter((name) => !there.includes(name)), ...files]
  return Object.fromEntries(names.map((name) => [name, gzipSync(readFileSync(join(dist, name))).length]))
}

function reached(dist, modules) {
  const seen = new Set(modules)
  for (const name of seen) {
    const text = readFileSync(join(dist, name), "utf8")
    for (const [, imported] of text.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) seen.add(imported)
  }
  return [...seen]
}
