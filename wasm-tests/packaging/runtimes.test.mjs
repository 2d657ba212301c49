// The tarball where loading differs: Jest's jsdom, workerd, classic scripts.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { test } from "node:test"
import { consumer, must, ROUND_TRIP, ROUND_TRIP_PRINTS, tool } from "./consumer.mjs"
import { runInPage } from "./page.mjs"

test("Jest's jsdom environment, which has no text codec and no structured clone", async (t) => {
  const { folder, write } = await consumer(t)
  const require = createRequire(import.meta.url)
  const testEnvironment = require.resolve("jest-environment-jsdom")
  const program = `
      test("loads", async () => {
        expect(typeof window).toBe("object")
        expect(typeof TextDecoder).toBe("undefined")
        const store = await open()
        expect(await store.queue("ä€😀").enqueue("text")).toBe(1)
        expect((await store.queue("ä€😀").claimOne("w")).queue).toBe("ä€😀")
        expect(typeof structuredClone).toBe("undefined")
        const payload = { list: [1, { when: new Date(5) }], map: new Map([["k", 1n]]) }
        await store.queue("objects").enqueue(payload)
        expect((await store.queue("objects").claimOne("w")).payload).toEqual(payload)
        await expect(store.queue("objects").enqueue(() => {})).rejects.toMatchObject({ code: "Codec" })
        await expect(store.tryLock("a", "b", -1)).rejects.toBeInstanceOf(AlkstoreError)
      })
      test("a day passes on the manual clock, imported under fake timers too, within the time of a test", async () => {
        jest.useFakeTimers()
        const clock = new (await later()).ManualClock()
        const store = await open({ clock })
        const queue = store.queue("mail")
        await queue.enqueue("tomorrow", { delay: "1d" })
        const waiting = queue.wait()
        await clock.advance("1d")
        expect(await waiting).toBe(true)
        jest.useRealTimers()
      })`
  write({
    "package.json": JSON.stringify({ jest: { testEnvironment, transform: {} } }),
    "required.test.cjs": `
      const { AlkstoreError, open } = require("alkstore-wasm")
      const later = async () => require("alkstore-wasm/testing")
      ${program}`,
    "imported.test.mjs": `
      import { jest } from "@jest/globals"
      import { AlkstoreError, open } from "alkstore-wasm"
      const later = () => import("alkstore-wasm/testing")
      ${program}`
  })
  const jest = ["--experimental-vm-modules", tool("jest/bin/jest.js"), "--runInBand", "--rootDir", folder]
  const { output } = await must(process.execPath, jest, folder)
  assert.match(output, /Tests: +4 passed, 4 total/)
})

test("workerd, which compiles no wasm at run time", async (t) => {
  const { folder, write } = await consumer(t)
  write({
    "main.mjs": `
      import { open } from "alkstore-wasm"
      export default {
        async test() {
          let printed
          const console = { log: (line) => (printed = line) }
          ${ROUND_TRIP}
          if (printed !== ${JSON.stringify(ROUND_TRIP_PRINTS)}) throw new Error("printed " + printed)
        }
      }`,
    "config.capnp": `
      using Workerd = import "/workerd/workerd.capnp";
      const config :Workerd.Config = (services = [(name = "main", worker = (
        compatibilityDate = "2026-01-01",
        modules = [
          (name = "worker.mjs", esModule = embed "out/worker.mjs"),
          (name = "engine.wasm", wasm = embed "node_modules/alkstore-wasm/dist/engine.wasm")
        ]
      ))]);`
  })
  const { build } = await import("esbuild")
  const common = { absWorkingDir: folder, entryPoints: ["main.mjs"], bundle: true, format: "esm" }
  await build({ ...common, conditions: ["workerd"], external: ["*.wasm"], outfile: "out/worker.mjs" })
  const { output } = await must(process.execPath, [tool("workerd/bin/workerd"), "test", "config.capnp"], folder)
  assert.match(output, /\[ PASS \]/)
})

test("a classic script, by a script element or importScripts", async (t) => {
  const { installed } = await consumer(t)
  const script = readFileSync(join(installed, "dist/alkstore.iife.js"), "utf8")
  const program = `${script}\nconst { open } = alkstore;(async () => {${ROUND_TRIP}})()`
  const old = { without: ["TextDecoder", "TextEncoder", "queueMicrotask"] }
  assert.equal(await runInPage(program), ROUND_TRIP_PRINTS)
  assert.equal(await runInPage(program, old), ROUND_TRIP_PRINTS)
  const names = `${script}\nconsole.log(Object.keys(alkstore).join())`
  assert.equal(await runInPage(names), "AlkstoreError,indexedDb,memory,open,upgrade")
})
