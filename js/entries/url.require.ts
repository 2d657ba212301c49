// `/url` as CommonJS, for `require`.

import { readFile } from "node:fs/promises"
import { join } from "node:path"
import type { InitInput } from "../init-input.js"
import { init as load, setSource } from "../load.js"

setSource(async () => {
  try {
    return await readFile(join(__dirname, "engine.wasm"))
  } catch (cause) {
    throw new Error(`${String(cause)}; copy engine.wasm beside the bundle, or pass its bytes to init()`, { cause })
  }
})

export function init(input?: InitInput): Promise<void> {
  return load(input)
}

export * from "./api.js"
export type * from "../init-input.js"
