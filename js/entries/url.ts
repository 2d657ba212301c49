// The engine as a file of its own beside this one, fetched and compiled while it streams. Bundlers that know
// `new URL(…, import.meta.url)` copy the file and rewrite the address.

import type { InitInput } from "../init-input.js"
import { init as load, setSource } from "../load.js"

setSource(() => new URL("./engine.wasm", import.meta.url))

/**
 * Loads the engine, from `engine.wasm` beside this module unless `input` says otherwise. Optional: `open` does it
 * too. Calling it again is fine and changes nothing. Rejects with `Unavailable`, or with `InvalidArgument` for what is no
 * `InitInput`, and may then be called again.
 */
export function init(input?: InitInput): Promise<void> {
  return load(input)
}

export * from "./api.js"
export type * from "../init-input.js"
