// `/url` in Node, for `import`: Node cannot fetch a file's address, so the file is read.

import { readFile } from "node:fs/promises"
import type { InitInput } from "../init-input.js"
import { init as load, setSource } from "../load.js"

setSource(() => readFile(new URL("./engine.wasm", import.meta.url)))

export function init(input?: InitInput): Promise<void> {
  return load(input)
}

export * from "./api.js"
export type * from "../init-input.js"
