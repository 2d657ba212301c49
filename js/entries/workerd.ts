// For workerd and edge runtimes, which refuse to compile wasm at run time: they import it as a module.

import engine from "./engine.wasm"
import { setSource } from "../load.js"

setSource(() => engine)

export * from "./api.js"
