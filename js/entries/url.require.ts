// `/url` as CommonJS, for `require`.

import { join } from "node:path"
import { engineBeside } from "../engine-beside.js"
import type { InitInput } from "../init-input.js"
import { init as load, setSource } from "../load.js"

setSource(() => engineBeside(() => join(__dirname, "engine.wasm")))

export function init(input?: InitInput): Promise<void> {
  return load(input)
}

export * from "./api.js"
export type * from "../init-input.js"
