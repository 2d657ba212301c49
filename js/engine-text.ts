// The engine as a string literal, made by scripts/engine-text.mjs.

import { FallbackEncoder } from "./text-codec.js"

/** What tools/unpack exports. */
interface Unpacker {
  readonly memory: WebAssembly.Memory
  /** Where the text goes. */
  text(): number
  /** Where the module lies then. */
  module(): number
  /** The module's length, for the text's. */
  unpack(length: number): number
}

/**
 * The module that `text` is, by `unpacker`, the wasm of tools/unpack in hex, which compresses better than base64. Not in
 * JavaScript, which would be interpreted: that takes a page's start several times as long.
 */
export function decodeEngine(text: string, unpacker: string): Uint8Array<ArrayBuffer> {
  const wasm = Uint8Array.from(unpacker.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(wasm))
  const { memory, text: place, module, unpack } = exports as unknown as Unpacker
  const encoder = new (globalThis.TextEncoder ?? FallbackEncoder)()
  encoder.encodeInto(text, new Uint8Array(memory.buffer, place()))
  const length = unpack(text.length)
  return new Uint8Array(memory.buffer as ArrayBuffer, module(), length)
}
