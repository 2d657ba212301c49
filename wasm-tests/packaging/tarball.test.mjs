// The tarball itself: what is in it, and what package linters say.

import assert from "node:assert/strict"
import { cpSync, readFileSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { BUDGETS, weigh } from "./budgets.mjs"
import { consumer, must, pack, root, run, tool } from "./consumer.mjs"

test("two packs are byte-identical", async (t) => {
  const { folder, tarball } = await consumer(t)
  assert.deepEqual(readFileSync(await pack(folder)), readFileSync(tarball))
})

test("it holds the built files, the licence and the readme, and nothing else", async (t) => {
  const { installed } = await consumer(t)
  assert.deepEqual(readdirSync(installed).sort(), ["LICENSE", "README.md", "dist", "package.json"])
  const kinds = readdirSync(join(installed, "dist")).map((name) => name.replace(/^[^.]+/, ""))
  assert.deepEqual([...new Set(kinds)].sort(), ["", ".cjs", ".iife.js", ".mjs", ".node.mjs", ".wasm"])
})

for (const [what, budget] of Object.entries(BUDGETS)) {
  test(`${what}: at most ${budget.gzipMax} bytes gzipped`, async (t) => {
    const { installed } = await consumer(t)
    const weights = weigh(join(installed, "dist"), budget)
    const total = Object.values(weights).reduce((sum, bytes) => sum + bytes, 0)
    t.diagnostic(`${total} bytes: ${JSON.stringify(weights)}`)
    assert.ok(total > 0 && total <= budget.gzipMax, `${total} bytes: ${JSON.stringify(weights)}`)
  })
}

test("the default entry is two files", async (t) => {
  const { installed } = await consumer(t)
  const weights = weigh(join(installed, "dist"), BUDGETS["the default entry"])
  assert.deepEqual(Object.keys(weights), ["index.mjs", "core.mjs"])
})

test("the engine imports only what its glue provides", async (t) => {
  const { installed } = await consumer(t)
  const engine = await WebAssembly.compile(readFileSync(join(installed, "dist/engine.wasm")))
  const modules = WebAssembly.Module.imports(engine).map(({ module }) => module)
  assert.deepEqual([...new Set(modules)], ["a"])
})

test("nothing runs at import, and nothing needs Node or a module's address", async (t) => {
  const { installed } = await consumer(t)
  for (const name of ["index.mjs", "core.mjs", "slim.mjs", "testing.mjs", "workerd.mjs", "edge.mjs", "core.cjs"]) {
    const text = readFileSync(join(installed, "dist", name), "utf8")
    assert.doesNotMatch(text, /import\.meta|(from|require\()\s*["']node:|\bimport\(|^await |__dirname/m, name)
  }
})

test("edge runtimes and workerd are given the engine each in their own way", async (t) => {
  const { installed } = await consumer(t)
  const { exports } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"))
  // Where both hold it runs in workerd; bundlers for either may have Node's condition too.
  assert.deepEqual(Object.keys(exports["."]).slice(0, 3), ["workerd", "edge-light", "node"])
  for (const [condition, engine] of [["workerd", "./engine.wasm"], ["edge-light", "./engine.wasm?module"]]) {
    const text = readFileSync(join(installed, exports["."][condition].default), "utf8")
    assert.deepEqual(text.match(/(?<=")[^"]*\.wasm[^"]*/g), [engine], condition)
  }
})

test("CommonJS reads the engine beside it, and does without where it is not there", async (t) => {
  const { installed } = await consumer(t)
  assert.doesNotMatch(readFileSync(join(installed, "dist/index.cjs"), "utf8"), /require\("(?!\.)/, "no builtin is required")
  const program = `
    const { open } = require(process.argv[1])
    open().then((store) => store.queue("mail").enqueue(1)).then((id) => console.log(id, Object.keys(require.cache).length))
  `
  const [beside, away] = [join(installed, "dist"), join(installed, "../away")]
  cpSync(beside, away, { recursive: true, filter: (path) => !path.endsWith("engine.wasm") })
  const load = (folder) => must(process.execPath, ["-e", program, join(folder, "index.cjs")], root)
  const [files, moreFiles] = [await load(beside), await load(away)].map(({ output }) => output.trim().split(" "))
  assert.equal(files[0], "1")
  assert.equal(moreFiles[0], "1")
  assert.equal(Number(moreFiles[1]), Number(files[1]) + 1, "the engine's text is only read where the file is not")
  writeFileSync(join(away, "engine.wasm"), "another package's engine")
  assert.equal((await load(away)).output.trim(), moreFiles.join(" "), "nor where the file is another's")
})

test("no literal goes over several lines: bundlers indent those", async (t) => {
  const { installed } = await consumer(t)
  for (const name of readdirSync(join(installed, "dist")).filter((name) => /js$/.test(name))) {
    assert.doesNotMatch(readFileSync(join(installed, "dist", name), "utf8"), /\\\n/, name)
  }
})

test("an uncaught error does not print the whole file", async (t) => {
  const { installed } = await consumer(t)
  const program = `require(${JSON.stringify(join(installed, "dist/index.cjs"))}).open().then((store) => store.queue(""))`
  const { code, output } = await run(process.execPath, ["-e", program], root)
  assert.notEqual(code, 0)
  assert.match(output, /AlkstoreError: queue must not be empty/)
  assert.ok(output.length < 3_000, `${output.length} characters`)
})

test("publint has nothing to say", async (t) => {
  const { installed } = await consumer(t)
  const { publint } = await import("publint")
  const { messages } = await publint({ pkgDir: installed, strict: true, pack: false })
  assert.deepEqual(messages, [])
})

test("arethetypeswrong finds every entry right under every resolution", async (t) => {
  const { tarball } = await consumer(t)
  const attw = [tool("@arethetypeswrong/cli/dist/index.js"), tarball, "--exclude-entrypoints", "./engine.wasm"]
  await must(process.execPath, attw, root)
})
