// The engine as text in a file of its own, for the entries that read engine.wasm if they can.

import { text, unpacker } from "alkstore:engine-text"
import { decodeEngine } from "../engine-text.js"

/** The engine's bytes. */
export function engine(): Uint8Array<ArrayBuffer> {
  return decodeEngine(text, unpacker)
}
