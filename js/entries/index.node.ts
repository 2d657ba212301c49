// The default entry as CommonJS, which Node loads for `import` and `require` alike. Bundled away from its folder, or
// anywhere but in Node, it is like the other: the engine's text is required.

import { decodeEngine } from "../engine-text.js"
import { setSource } from "../load.js"

setSource(() => engineFile() ?? decodeEngine(require("alkstore:engine-text") as string))

// Reading the file beside this one spares a cold start the text, which takes longer to read and decode than the engine
// takes to compile. Asked of the process, not imported: a bundler must not find a builtin here.
function engineFile(): Uint8Array<ArrayBuffer> | null {
  try {
    const fs = process.getBuiltinModule("node:fs")
    return fs.readFileSync(`${__dirname}/engine.wasm`)
  } catch {
    return null
  }
}

export * from "./api.js"
