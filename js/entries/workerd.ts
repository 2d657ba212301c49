// For workerd, which refuses to compile wasm at run time: it imports it as a module.

import engine from "./engine.wasm"
import { setSource } from "../load.js"

setSource(() => engine)

export * from "./api.js"
