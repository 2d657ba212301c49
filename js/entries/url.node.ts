// `/url` in Node, for `import`.

import { engineBeside } from "../engine-beside.js"
import type { InitInput } from "../init-input.js"
import { init as load, setSource } from "../load.js"

setSource(() => engineBeside(() => new URL("./engine.wasm", import.meta.url)))

export function init(input?: InitInput): Promise<void> {
  return load(input)
}

export * from "./api.js"
export type * from "../init-input.js"
