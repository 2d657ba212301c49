// The engine in Node. Reading the file beside an entry spares a cold start the text, which takes as long to read and
// decode as the engine takes to compile; compiling it here and now, the way through other threads; knowing its length,
// to ask for it.

/**
 * The engine beside the module at `place()`, a path or a file's address; `null` if there is none of this very build.
 * Where a bundle runs, `__filename` may name nothing: to ask for it throws then.
 */
export function engineFile(place: () => string): WebAssembly.Module | null {
  try {
    const here = place()
    const file = `${here.slice(0, Math.max(here.lastIndexOf("/"), here.lastIndexOf("\\")) + 1)}engine.wasm`
    // Asked of the process, not imported: a bundler must not find a builtin here.
    const { closeSync, openSync, readSync } = process.getBuiltinModule("node:fs")
    // A bundle may lie beside another package's engine, or an older one: one byte more than this build's is too many.
    const bytes = new Uint8Array(ENGINE_LENGTH + 1)
    const opened = openSync(file.startsWith("file:") ? new URL(file) : file, "r")
    try {
      if (readSync(opened, bytes) !== ENGINE_LENGTH) return null
    } finally {
      closeSync(opened)
    }
    return new WebAssembly.Module(bytes.subarray(0, ENGINE_LENGTH))
  } catch {
    return null
  }
}
