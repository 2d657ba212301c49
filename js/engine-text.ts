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
 * The module that `text` is, by `unpacker`, the wasm of tools/unpack in base64. Not in JavaScript, which would be
 * interpreted: that takes a page's start ten times as long.
 */
export function decodeEngine(text: string, unpacker: string): Uint8Array<ArrayBuffer> {
  const wasm = Uint8Array.from(atob(unpacker), (character) => character.charCodeAt(0))
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(wasm))
  const { memory, text: place, module, unpack } = exports as unknown as Unpacker
  const encoder = new (globalThis.TextEncoder ?? FallbackEncoder)()
  encoder.encodeInto(text, new Uint8Array(memory.buffer, place()))
  const length = unpack(text.length)
  return new Uint8Array(memory.buffer as ArrayBuffer, module(), length)
}
