// Without the engine's bytes: `init` must be given them, or where they are.

import type { InitInput } from "../init-input.js"
import { init as load } from "../load.js"

/**
 * Loads the engine from `input`: its bytes, a `WebAssembly.Module`, an address, a request, a response, or a promise
 * of one. Call it before `open`; calling it again is fine and changes nothing. Rejects with `Unavailable`, saying
 * what stands in the way, or with `InvalidArgument` for anything else, and may then be called again.
 */
export function init(input: InitInput): Promise<void> {
  return load(input)
}

export * from "./api.js"
export type * from "../init-input.js"
