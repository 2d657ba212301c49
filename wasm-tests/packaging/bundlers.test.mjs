// The tarball through bundlers. What comes out runs in a bare realm that has what browsers have and Node has not: a
// bundle that slipped in a Node builtin, or needs a module's address, fails there.

import assert from "node:assert/strict"
import { readFileSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { runInPage } from "./page.mjs"
import { consumer, ROUND_TRIP, ROUND_TRIP_PRINTS } from "./consumer.mjs"

const PROGRAM = `import { open } from "alkstore-wasm"\nasync function main() {${ROUND_TRIP}}\nmain()`

test("esbuild, for the browser", async (t) => {
  const { folder, write } = await consumer(t)
  write({ "main.mjs": PROGRAM })
  const { build } = await import("esbuild")
  const common = { absWorkingDir: folder, entryPoints: ["main.mjs"], bundle: true, write: false, format: "iife" }
  const { outputFiles, warnings } = await build({ ...common, minify: true, platform: "browser" })
  assert.deepEqual(warnings, [])
  assert.equal(await runInPage(outputFiles[0].text), ROUND_TRIP_PRINTS)
})

test("esbuild, for a browser, of what Node requires: such a bundle has no __filename", async (t) => {
  const { folder, write } = await consumer(t)
  write({ "main.cjs": `const { open } = require("alkstore-wasm")\n;(async () => {${ROUND_TRIP}})()` })
  const { build } = await import("esbuild")
  const common = { absWorkingDir: folder, entryPoints: ["main.cjs"], bundle: true, write: false, format: "iife" }
  const { outputFiles } = await build({ ...common, platform: "browser", conditions: ["node"] })
  assert.match(outputFiles[0].text, /__filename/)
  assert.equal(await runInPage(outputFiles[0].text), ROUND_TRIP_PRINTS)
})

test("esbuild, for Node, into one file that needs nothing beside it", async (t) => {
  const { folder, node, write } = await consumer(t)
  write({ "src/main.mjs": PROGRAM })
  const { build } = await import("esbuild")
  const common = { absWorkingDir: folder, entryPoints: ["src/main.mjs"], bundle: true, platform: "node" }
  await build({ ...common, format: "esm", outfile: "out/main.mjs" })
  await build({ ...common, format: "cjs", outfile: "out/main.cjs" })
  assert.equal(await node("out/main.mjs"), ROUND_TRIP_PRINTS)
  assert.equal(await node("out/main.cjs"), ROUND_TRIP_PRINTS)
})

test("Vite, a production build", async (t) => {
  const { folder, write } = await consumer(t)
  write({ "main.mjs": PROGRAM, "index.html": '<!doctype html><script type="module" src="/main.mjs"></script>' })
  const { build } = await import("vite")
  await build({ root: folder, configFile: false, logLevel: "error", build: { modulePreload: { polyfill: false } } })
  const assets = join(folder, "dist/assets")
  const [script] = readdirSync(assets).filter((name) => name.endsWith(".js"))
  assert.equal(await runInPage(readFileSync(join(assets, script), "utf8")), ROUND_TRIP_PRINTS)
})

test("Vite, the url entry: the engine becomes an asset", async (t) => {
  const { folder, installed, write } = await consumer(t)
  write({
    "main.mjs": PROGRAM.replace("alkstore-wasm", "alkstore-wasm/url"),
    "index.html": '<!doctype html><script type="module" src="/main.mjs"></script>'
  })
  const { build } = await import("vite")
  await build({ root: folder, configFile: false, logLevel: "error", build: { modulePreload: { polyfill: false } } })
  const assets = readdirSync(join(folder, "dist/assets"))
  const [engine] = assets.filter((name) => name.endsWith(".wasm"))
  assert.ok(engine, `no wasm among ${assets}`)
  assert.deepEqual(readFileSync(join(folder, "dist/assets", engine)), readFileSync(join(installed, "dist/engine.wasm")))
  const [script] = assets.filter((name) => name.endsWith(".js"))
  assert.ok(readFileSync(join(folder, "dist/assets", script), "utf8").includes(engine))
})

test("webpack, a production build", async (t) => {
  const { folder, write } = await consumer(t)
  write({ "main.mjs": PROGRAM })
  const { default: webpack } = await import("webpack")
  const output = { path: join(folder, "out"), filename: "main.js" }
  const compiler = webpack({ mode: "production", context: folder, entry: "./main.mjs", output, performance: false })
  const stats = await promisify(compiler.run.bind(compiler))()
  await promisify(compiler.close.bind(compiler))()
  const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true })
  assert.deepEqual([errors, warnings], [[], []])
  assert.equal(await runInPage(readFileSync(join(folder, "out/main.js"), "utf8")), ROUND_TRIP_PRINTS)
})
