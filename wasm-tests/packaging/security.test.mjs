// What SECURITY.md says of the package, checked on the packed tarball.

import assert from "node:assert/strict"
import { readFileSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { consumer, ROUND_TRIP, ROUND_TRIP_PRINTS } from "./consumer.mjs"

const SCRIPT = /\.[cm]?js$/
/** The engine as text: a literal longer than any other, which holds anything. */
const ENGINE_TEXT = /"[^"\n]{10000,}"/g
const AROUND = 30

/** Where scripts of the package have what `pattern` finds: their names, and what is around it. */
function found(installed, pattern) {
  const dist = join(installed, "dist")
  const names = readdirSync(dist).filter((name) => SCRIPT.test(name))
  assert.ok(names.length > 10)
  return names.flatMap((name) => {
    const text = readFileSync(join(dist, name), "utf8").replace(ENGINE_TEXT, '""')
    return [...text.matchAll(pattern)].map(({ index }) => [name, text.slice(Math.max(0, index - AROUND), index + AROUND)])
  })
}

test("installing it runs nothing and brings nothing else along", async (t) => {
  const { installed } = await consumer(t)
  const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"))
  const kinds = ["scripts", "bin", "dependencies", "optionalDependencies", "peerDependencies", "bundleDependencies"]
  for (const kind of [...kinds, "bundledDependencies", "gypfile"]) assert.equal(manifest[kind], undefined, kind)
})

test("no text becomes code, nothing is logged, and no page is touched", async (t) => {
  const { installed } = await consumer(t)
  const code = /\beval\b(?!')|\bFunction\s*\(|\bimportScripts\b|\bset(Timeout|Interval)\(\s*["'`]/g
  assert.deepEqual(found(installed, code), [])
  assert.deepEqual(found(installed, /\bconsole\b|\binnerHTML\b|\bdocument\b|\bcookie\b|\b(local|session)Storage\b/g), [])
})

test("the network is used to fetch the engine from where it is told, and for nothing else", async (t) => {
  const { installed } = await consumer(t)
  const others = /XMLHttpRequest|WebSocket|EventSource|sendBeacon|RTCPeerConnection|WebTransport|https?:/g
  assert.deepEqual(found(installed, others), [])
  assert.deepEqual(found(installed, /\bnew (Shared)?Worker\b|serviceWorker/g), [])
  // One place, js/compile.ts, in each copy of it.
  const fetching = found(installed, /\bfetch\(/g).map(([name]) => name)
  assert.ok(fetching.includes("core.mjs"))
  assert.deepEqual(fetching, [...new Set(fetching)])
})

test("a program that may not fetch, nor make code of strings, notices nothing", async (t) => {
  const { node, write } = await consumer(t)
  const forbidden = 'globalThis.fetch = () => { throw new Error("nobody fetches") }'
  write({ "program.mjs": `import { open } from "alkstore-wasm"\n${forbidden}\n${ROUND_TRIP}` })
  assert.equal(await node("--disallow-code-generation-from-strings", "program.mjs"), ROUND_TRIP_PRINTS)
})
