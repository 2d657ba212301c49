// `engine.wasm` beside an entry in Node, which cannot fetch a file's address: so the file is read.

import { readFile } from "node:fs/promises"

/** Its bytes. Rejects with what to do if it is not there: bundlers leave it behind. */
export async function engineBeside(place: () => string | URL): Promise<Uint8Array> {
  try {
    return await readFile(place())
  } catch (cause) {
    throw new Error(`${String(cause)}; copy engine.wasm beside the bundle, or pass its bytes to init()`, { cause })
  }
}
