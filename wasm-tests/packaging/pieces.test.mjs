// The pieces of the loader that stand in for a platform's own, against the platform's own.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
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
  const engine = readFileSync(join(root, "target/engine/engine.wasm"))
  const unpacker = readFileSync(join(root, "target/engine/unpack.wasm"), "hex")
  const text = encodeEngine(engine)
  assert.equal(Buffer.compare(decodeEngine(text, unpacker), engine), 0)
  assert.match(text, /^[^"'`\\$<\u0000-\u001f\u007f-\uffff]*$/)
})

test("an instruction that the encoder does not know is not encoded", () => {
  const body = (...code) => [10, code.length + 4, 1, code.length + 2, 0, ...code, 0x0b]
  const engine = (...code) => Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...body(...code))
  assert.doesNotThrow(() => encodeEngine(engine(0x01)))
  assert.throws(() => encodeEngine(engine(0xfd, 0x0c)), /0xfd/)
})
