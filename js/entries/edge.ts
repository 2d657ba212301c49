// For Next.js and Vercel, whose bundlers make a compiled module only of what is imported with `?module`. Others do not
// know it: workerd has an entry of its own.

import engine from "./engine.wasm?module"
import { setSource } from "../load.js"

setSource(() => engine)

export * from "./api.js"
