// The tarball in Node: ESM, CommonJS, both at once, and the entries without inlined bytes.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { consumer, ROUND_TRIP, ROUND_TRIP_PRINTS } from "./consumer.mjs"

test("an ESM program imports it", async (t) => {
  const { node, write } = await consumer(t)
  write({ "main.mjs": `import { open } from "alkstore-wasm"\n${ROUND_TRIP}` })
  assert.equal(await node("main.mjs"), ROUND_TRIP_PRINTS)
})

test("a CommonJS program requires it", async (t) => {
  const { node, write } = await consumer(t)
  write({ "main.cjs": `const { open } = require("alkstore-wasm")\n;(async () => {${ROUND_TRIP}})()` })
  assert.equal(await node("main.cjs"), ROUND_TRIP_PRINTS)
})

test("import and require share one instance, one class and one storage", async (t) => {
  const { node, write } = await consumer(t)
  write({
    "main.mjs": `
      import { createRequire } from "node:module"
      import * as esm from "alkstore-wasm"
      const cjs = createRequire(import.meta.url)("alkstore-wasm")
      const storage = esm.memory()
      const [a, b] = [await esm.open({ storage }), await cjs.open({ storage })]
      await a.queue("shared").enqueue("from esm")
      const job = await b.queue("shared").claimOne("worker")
      console.log(esm.AlkstoreError === cjs.AlkstoreError, esm.open === cjs.open, job.payload)`
  })
  assert.equal(await node("main.mjs"), "true true from esm")
})

test("the named exports are these", async (t) => {
  const { node, write } = await consumer(t)
  const entries = ["", "/testing", "/slim", "/url"].map((path) => `alkstore-wasm${path}`)
  write({
    "main.mjs": `
      import { createRequire } from "node:module"
      const require = createRequire(import.meta.url)
      const names = []
      for (const entry of ${JSON.stringify(entries)}) {
        const [esm, cjs] = [await import(entry), require(entry)].map((module) => Object.keys(module).sort().join())
        names.push(esm === cjs ? esm : [esm, cjs])
      }
      console.log(JSON.stringify(names))`
  })
  const [main, loaded] = ["AlkstoreError,memory,open", "AlkstoreError,init,memory,open"]
  assert.deepEqual(JSON.parse(await node("main.mjs")), [main, "ManualClock", loaded, loaded])
})

test("errors of the testing entry are instances of the main entry's class", async (t) => {
  const { node, write } = await consumer(t)
  const main = `
    const clock = new ManualClock()
    try {
      await clock.advance(-1)
    } catch (error) {
      console.log(error instanceof AlkstoreError, error.code)
    }`
  write({
    "main.mjs": `
      import { AlkstoreError } from "alkstore-wasm"
      import { ManualClock } from "alkstore-wasm/testing"
      ${main}`,
    "main.cjs": `
      const { AlkstoreError } = require("alkstore-wasm")
      const { ManualClock } = require("alkstore-wasm/testing")
      ;(async () => {${main}})()`
  })
  assert.equal(await node("main.mjs"), "true InvalidArgument")
  assert.equal(await node("main.cjs"), "true InvalidArgument")
})

test("the url entry reads its engine from the package", async (t) => {
  const { node, write } = await consumer(t)
  write({ "main.mjs": `import { open } from "alkstore-wasm/url"\n${ROUND_TRIP}` })
  write({ "main.cjs": `const { open } = require("alkstore-wasm/url")\n;(async () => {${ROUND_TRIP}})()` })
  assert.equal(await node("main.mjs"), ROUND_TRIP_PRINTS)
  assert.equal(await node("main.cjs"), ROUND_TRIP_PRINTS)
})

test("the slim entry takes bytes, a module, a response or a promise of one, as often as one likes", async (t) => {
  const { node, write } = await consumer(t)
  const inputs = {
    bytes: "bytes",
    buffer: "bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)",
    module: "await WebAssembly.compile(bytes)",
    response: 'new Response(bytes, { headers: { "Content-Type": "application/wasm" } })',
    untyped: "new Response(bytes)",
    promise: "Promise.resolve(bytes)",
    view: "new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)"
  }
  for (const [name, input] of Object.entries(inputs)) {
    write({
      [`${name}.mjs`]: `
        import { readFile } from "node:fs/promises"
        import { init, open } from "alkstore-wasm/slim"
        const bytes = await readFile(new URL(import.meta.resolve("alkstore-wasm/engine.wasm")))
        const input = ${input}
        await Promise.all([init(input), init(input)])
        await init(input)
        ${ROUND_TRIP}`
    })
    assert.equal(await node(`${name}.mjs`), ROUND_TRIP_PRINTS, name)
  }
})

test("/url without its file beside it is Unavailable, and says what to do", async (t) => {
  const { installed, node, write } = await consumer(t)
  for (const [file, core] of [["url.node.mjs", "core.node.mjs"], ["url.cjs", "core.cjs"]]) {
    write({ [file]: readFileSync(join(installed, "dist", file), "utf8"), [core]: readFileSync(join(installed, "dist", core), "utf8") })
    const name = `${file}.main.mjs`
    write({ [name]: `import { open } from "./${file}"\nawait open().catch(({ code, message }) => console.log(code, message))` })
    assert.match(await node(name), /^Unavailable the engine did not arrive: .*ENOENT.*; copy engine\.wasm beside the bundle, or pass its bytes to init\(\)/)
  }
})

test("what is no engine is Unavailable, says why, and can be tried again", async (t) => {
  const { node, write } = await consumer(t)
  write({
    "main.mjs": `
      import { createServer } from "node:http"
      import { once } from "node:events"
      import { readFile } from "node:fs/promises"
      import { AlkstoreError, init, open } from "alkstore-wasm/slim"
      const file = new URL(import.meta.resolve("alkstore-wasm/engine.wasm"))
      const bytes = await readFile(file)
      const server = createServer((request, response) => {
        if (request.url === "/missing") response.writeHead(404).end("no")
        else if (request.url === "/engine") response.setHeader("Content-Type", "application/wasm").end(bytes)
        else response.setHeader("Content-Type", "text/html").end("<!doctype html><title>app</title>")
      }).listen(0, "127.0.0.1")
      await once(server, "listening")
      const address = "http://127.0.0.1:" + server.address().port
      const refusals = []
      const refused = async (promise) => {
        const error = await promise.then(() => null, (error) => error)
        refusals.push([error instanceof AlkstoreError, error?.code, error?.message])
      }
      await refused(open())
      await refused(init("<!doctype html>".length))
      await refused(init(new TextEncoder().encode("\\n<!doctype html>")))
      await refused(init(new Uint8Array()))
      await refused(init(bytes.subarray(1)))
      await refused(init(bytes.subarray(0, 1000)))
      await refused(init(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)))
      await refused(init(file))
      await refused(init(address + "/page"))
      await refused(init(address + "/node_modules/.vite/deps/engine.wasm"))
      await refused(init(new Request(address + "/missing")))
      await refused(init(Promise.reject(new Error("lost"))))
      const detached = new Uint8Array(bytes).buffer
      structuredClone(detached, { transfer: [detached] })
      await refused(init(detached))
      const opening = refused(open())
      await init(address + "/engine")
      await opening
      // Not looked at any more, and no rejection that nobody handles.
      await init(Promise.reject(new Error("late")))
      const store = await open()
      console.log(JSON.stringify([refusals, await store.queue("q").enqueue(1)]))
      server.close()
      server.closeAllConnections()`
  })
  const [refusals, id] = JSON.parse(await node("main.mjs"))
  const expected = [
    ["Unavailable", /call init\(input\)/],
    ["InvalidArgument", /input .*got 15/],
    ["Unavailable", /is HTML, not wasm/],
    ["Unavailable", /is empty/],
    ["Unavailable", /magic number/],
    ["Unavailable", /WebAssembly refused the given bytes.*'wasm-unsafe-eval'/],
    ["Unavailable", /not the engine of this package/],
    ["Unavailable", /cannot fetch file:.*read the file/],
    ["Unavailable", /\/page is HTML, not wasm: .*; copy it there$/],
    ["Unavailable", /\/deps\/engine\.wasm is HTML, not wasm: .*; put "alkstore-wasm" into optimizeDeps\.exclude of Vite$/],
    ["Unavailable", /\/missing answered 404/],
    ["Unavailable", /lost/],
    ["Unavailable", /the given bytes cannot be read: .*detached/],
    ["Unavailable", /call init\(input\)/]
  ]
  assert.equal(refusals.length, expected.length)
  refusals.forEach(([isError, code, message], at) => {
    assert.equal(isError, true, message)
    assert.equal(code, expected[at][0], message)
    assert.match(message, expected[at][1])
  })
  assert.equal(id, 1)
})

test("a runtime without WebAssembly is told so", async (t) => {
  const { node, write } = await consumer(t)
  write({
    "main.mjs": `
      delete globalThis.WebAssembly
      const { open } = await import("alkstore-wasm")
      await open().catch((error) => console.log(error.code, error.message))`
  })
  assert.match(await node("main.mjs"), /^Unavailable this runtime has no WebAssembly/)
})

test("a process with nothing but an open store ends by itself", async (t) => {
  const { node, write } = await consumer(t)
  write({
    "main.mjs": `
      import { open } from "alkstore-wasm"
      const store = await open()
      await store.queue("q").enqueue(1, { delay: "1h" })
      console.log("open")`
  })
  assert.equal(await node("main.mjs"), "open")
})
