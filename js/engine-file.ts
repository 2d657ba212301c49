// The engine in Node. Reading the file beside an entry spares a cold start the text, which takes as long to read and
// decode as the engine takes to compile; compiling it here and now, the way through other threads.

/** The engine beside the module at `here`, a path or a file's address; `null` if there is none of this very build. */
export function engineFile(here: string): WebAssembly.Module | null {
  try {
    const file = `${here.slice(0, Math.max(here.lastIndexOf("/"), here.lastIndexOf("\\")) + 1)}engine.wasm`
    // Asked of the process, not imported: a bundler must not find a builtin here.
    const { readFileSync } = process.getBuiltinModule("node:fs")
    const bytes = readFileSync(file.startsWith("file:") ? new URL(file) : file)
    // A bundle may lie beside another package's engine, or an older one.
    return bytes.length === ENGINE_LENGTH ? new WebAssembly.Module(bytes) : null
  } catch {
    return null
  }
}
