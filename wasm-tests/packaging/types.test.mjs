// The tarball's types in strict projects, declarations checked too, under each module resolution in use.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname } from "node:path"
import { test } from "node:test"
import { consumer, must, run, tool } from "./consumer.mjs"

const program = readFileSync(new URL("./program.ts", import.meta.url), "utf8")
const nodeProgram = `
  import { open } from "alkstore-wasm"
  import { init as fromSlim } from "alkstore-wasm/slim"
  import { ManualClock } from "alkstore-wasm/testing"
  import { init as fromUrl } from "alkstore-wasm/url"
  const store = await open({ clock: new ManualClock() })
  await store.queue<number>("mail").enqueue(1, { delay: "1s" })
  await store.runSchedules(AbortSignal.timeout(1))
  for (const load of [fromSlim, fromUrl]) {
    await load(new Uint8Array(8))
    // @ts-expect-error: no engine
    await load(42)
  }`

const compilerOptions = {
  target: "ES2022",
  lib: ["ES2022", "DOM"],
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  // TypeScript's own libraries: half the time, and nobody's types here.
  skipDefaultLibCheck: true
}

for (const [name, options, files] of [
  ["nodenext, ESM", { module: "nodenext" }, ["main.mts"]],
  ["nodenext, CommonJS", { module: "nodenext" }, ["main.cts"]],
  ["bundler", { module: "esnext", moduleResolution: "bundler" }, ["main.ts"]],
  ["node10", { module: "commonjs", moduleResolution: "node10" }, ["main.ts"]]
]) {
  test(`a strict program compiles under ${name}`, async (t) => {
    const { folder, write } = await consumer(t)
    const tsconfig = { compilerOptions: { ...compilerOptions, ...options }, files }
    write({ [files[0]]: program, "tsconfig.json": JSON.stringify(tsconfig) })
    await must(process.execPath, [tool("typescript/bin/tsc"), "-p", folder], folder)
  })
}

test("a strict program compiles for Node, without the DOM's types", async (t) => {
  const { folder, write } = await consumer(t)
  const types = dirname(createRequire(import.meta.url).resolve("@types/node/package.json"))
  const options = { ...compilerOptions, module: "nodenext", lib: ["ES2022"], types: ["node"], typeRoots: [dirname(types)] }
  write({ "main.mts": nodeProgram, "tsconfig.json": JSON.stringify({ compilerOptions: options, files: ["main.mts"] }) })
  await must(process.execPath, [tool("typescript/bin/tsc"), "-p", folder], folder)
})

test("a library may give on what it has made of it, declarations and all", async (t) => {
  const { folder, write } = await consumer(t)
  const library = `
    import { indexedDb } from "alkstore-wasm/indexeddb"
    import { ManualClock } from "alkstore-wasm/testing"
    export const storage = indexedDb("jobs")
    const clock = new ManualClock()
    export const advance = clock.advance.bind(clock)`
  const options = { ...compilerOptions, module: "nodenext", noEmit: false, declaration: true, outDir: "out" }
  write({ "main.mts": library, "tsconfig.json": JSON.stringify({ compilerOptions: options, files: ["main.mts"] }) })
  await must(process.execPath, [tool("typescript/bin/tsc"), "-p", folder], folder)
})

test("a wrong program does not", async (t) => {
  const { folder, write } = await consumer(t)
  const wrong = `
    import { open } from "alkstore-wasm"
    const queue = (await open()).queue<{ to: string }>("mail")
    await queue.enqueue({ to: 1 })
    await queue.enqueue({ to: "a" }, { dealy: "1s" })
    const job = await queue.claimOne("worker")
    job.ack()
    const id: string = job!.id`
  const tsconfig = { compilerOptions: { ...compilerOptions, module: "nodenext" }, files: ["main.mts"] }
  write({ "main.mts": wrong, "tsconfig.json": JSON.stringify(tsconfig) })
  const { code, output } = await run(process.execPath, [tool("typescript/bin/tsc"), "-p", folder], folder)
  assert.notEqual(code, 0)
  const lines = [...output.matchAll(/main\.mts\((\d+),/g)].map(([, line]) => Number(line))
  assert.deepEqual(lines, [4, 5, 7, 8])
})
