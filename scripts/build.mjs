// `npm run build`: from a fresh clone to a pkg/ that is ready for `npm pack`. Every step is skipped when up to date.
// With `--panic` also what the tests load beside it, target/panic-build and target/script-in-indexeddb.

import { pathToFileURL } from "node:url"
import { buildTestEngines, compileEngine, linkEngine } from "./engine.mjs"
import { script } from "./lib/run.mjs"
import { buildPackage, buildPanicPackage } from "./package.mjs"
import { setupPackages, setupToolchain, setupWasmBindgen } from "./setup.mjs"

/** Sets up what is missing and builds what is out of date. */
export async function build() {
  await setupToolchain()
  // Packages come over the network while the compilers work; the two cargo builds have folders of their own.
  await Promise.all([setupPackages(), setupWasmBindgen(), compileEngine()])
  await linkEngine()
  await buildPackage()
}

/** What only tests load; after `build`. */
export async function buildForTests() {
  await buildTestEngines()
  await buildPanicPackage()
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await script(async () => {
    await build()
    if (process.argv.includes("--panic")) await buildForTests()
  })
}
