// What pages and workers run: modules of this folder, or of wasm-tests, bundled in memory with the built package.

import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const engines = fileURLToPath(new URL("../", import.meta.url))
const folders = [engines, join(engines, "../")]
const bundles = new Map()

/** The script of `name`, such as "pages/tab" or "browser/indexeddb/payloads.test"; null if there is no such module. */
export function bundleOf(name) {
  if (!bundles.has(name)) bundles.set(name, bundle(name))
  return bundles.get(name)
}

async function bundle(name) {
  const folder = folders.find((one) => join(one, name).startsWith(one) && existsSync(join(one, `${name}.ts`)))
  if (folder === undefined) return null
  const { build } = await import("esbuild")
  const { outputFiles } = await build({
    ...entryOf(join(folder, `${name}.ts`)),
    absWorkingDir: engines,
    bundle: true,
    write: false,
    platform: "browser",
    target: "es2022",
    // Not every browser has workers that are modules.
    format: name.endsWith(".worker") ? "iife" : "esm",
    alias: { vitest: join(engines, "page/vitest.ts") },
    sourcemap: "inline",
    sourcesContent: false,
    logLevel: "error"
  })
  return outputFiles[0].text
}

// Modules of tests only register them.
function entryOf(file) {
  if (!file.endsWith(".test.ts") && !file.startsWith(join(engines, "cases/"))) return { entryPoints: [file] }
  const contents = `import ${JSON.stringify(file)}\nimport { runTests } from "./page/test.ts"\nvoid runTests()`
  return { stdin: { contents, resolveDir: engines, loader: "ts" } }
}
