// The soak for Node, which is written in TypeScript: bundled beside the package that it tests, and loaded.

import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

const root = fileURLToPath(new URL("../../", import.meta.url))

/** The module `memory.ts` of this folder. */
export async function soakOnMemory() {
  const { build } = await import("esbuild")
  const outfile = join(root, "target/soak/memory.mjs")
  mkdirSync(join(root, "target/soak"), { recursive: true })
  await build({
    entryPoints: [join(root, "wasm-tests/soak/memory.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    external: ["alkstore-wasm", "alkstore-wasm/*"],
    logLevel: "error"
  })
  return import(pathToFileURL(outfile).href)
}
