// The pieces of the loader that stand in for a platform's own, against the platform's own.

import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { encodeEngine } from "../../scripts/engine-text.mjs"
import { root } from "./consumer.mjs"

const TEXTS = ["", "a", "é", "€", "😀", "\u0000\u007f\u0080\u07ff\u0800\uffff", "\ufeffbom", "ä€😀".repeat(1000)]

async function source(name) {
  const { build } = await import("esbuild")
  const common = { bundle: true, write: false, format: "esm", logLevel: "error" }
  const { outputFiles } = await build({ ...common, entryPoints: [join(root, "js", name)] })
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`)
}

test("the fallback text codec agrees with the platform's", async () => {
  const { FallbackDecoder, FallbackEncoder } = await source("text-codec.ts")
  const [encoder, decoder] = [new FallbackEncoder(), new FallbackDecoder()]
  const platform = new TextEncoder()
  for (const text of TEXTS) {
    const bytes = platform.encode(text)
    assert.deepEqual(encoder.encode(text), bytes)
    assert.equal(decoder.decode(bytes), text)
    const into = new Uint8Array(text.length * 3)
    assert.deepEqual(encoder.encodeInto(text, into), { read: text.length, written: bytes.length })
    assert.deepEqual(into.subarray(0, bytes.length), bytes)
  }
  assert.deepEqual(encoder.encode("a\ud800b"), platform.encode("a\ud800b"))
  assert.equal(decoder.decode(), "")
})

test("an engine as text decodes to the same bytes, and needs no escapes", async () => {
  const { decodeEngine } = await source("engine-text.ts")
  const every = Uint8Array.from({ length: 256 }, (_, at) => at)
  const skewed = Uint8Array.from({ length: 5000 }, (_, at) => (at * at) % 251)
  for (const bytes of [new Uint8Array(), every, every.slice().reverse(), skewed]) {
    const text = encodeEngine(bytes)
    assert.deepEqual(decodeEngine(text), bytes)
    assert.match(text, /^[^"'`\\$<\u0000-\u001f\u007f-\uffff]*$/)
  }
})
