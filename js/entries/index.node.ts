// The default entry as CommonJS, which Node loads for `import` and `require` alike. It is kept short: Node reads all of
// it for the names of its exports.

import { setSource } from "../load.js"

setSource(() => engineFile() ?? require("./engine-text.cjs").engine())

// Reading the file beside this one spares a cold start the text, which takes as long to read and decode as the engine
// takes to compile. Bundled away from its folder, or anywhere but in Node, the text it is. Asked of the process, not
// imported: a bundler must not find a builtin here.
function engineFile(): Uint8Array<ArrayBuffer> | null {
  try {
    const bytes = process.getBuiltinModule("node:fs").readFileSync(`${__dirname}/engine.wasm`)
    // A bundle may lie beside another package's engine, or an older one.
    return bytes.length === ENGINE_LENGTH ? bytes : null
  } catch {
    return null
  }
}

export * from "./api.js"
