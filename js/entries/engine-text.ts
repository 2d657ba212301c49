// The engine as text in a file of its own, for `index.node.ts`: Node looks through every character of a CommonJS file
// that is imported, for the names of its exports, and this one is only required.

import text from "alkstore:engine-text"
import { decodeEngine } from "../engine-text.js"

/** The engine's bytes. */
export function engine(): Uint8Array<ArrayBuffer> {
  return decodeEngine(text)
}
