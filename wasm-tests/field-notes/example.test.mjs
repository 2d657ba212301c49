// `npm run example`, as it is typed.

import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:http"
import { test } from "node:test"
import { fileURLToPath } from "node:url"

const SCRIPT = fileURLToPath(new URL("../../scripts/example.mjs", import.meta.url))
/** Moments, unless the package itself must be built first. */
const RUN_MS_MAX = 300_000

/** Starts it; `output` grows, `until(pattern)` resolves with the match, `ended` with the exit code. */
function start(t, env) {
  const stdio = ["ignore", "pipe", "pipe"]
  const child = spawn(process.execPath, [SCRIPT], { env: { ...process.env, ...env }, stdio })
  t.after(() => child.kill("SIGKILL"))
  let output = ""
  let look = () => {}
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text
      look()
    })
  }
  const ended = once(child, "close").then(([code]) => ({ code, output }))
  const until = (pattern) =>
    new Promise((resolve, reject) => {
      look = () => pattern.test(output) && resolve(pattern.exec(output))
      look()
      void ended.then(() => reject(new Error(`it ended without ${pattern}:\n${output}`)))
    })
  return { child, until, ended }
}

test("npm run example prints an address, serves it, and ends at Ctrl-C", { timeout: RUN_MS_MAX }, async (t) => {
  const { child, until, ended } = start(t, { PORT: "0" })
  const [, url] = await until(/Field notes: (http:\/\/127\.0\.0\.1:\d+\/)/)
  const page = await fetch(url)
  assert.match(await page.text(), /<title>Field notes<\/title>/)
  assert.match(page.headers.get("content-security-policy"), /default-src 'self'/)
  assert.equal((await fetch(`${url}sw.js`)).headers.get("content-type"), "text/javascript; charset=utf-8")
  assert.equal((await fetch(`${url}nothing`)).status, 404)
  child.kill("SIGINT")
  assert.equal((await ended).code, 0)
})

test("a port that is taken is said so", async (t) => {
  const other = createServer().listen(0, "127.0.0.1")
  t.after(() => other.close())
  await once(other, "listening")
  const { port } = other.address()
  const { code, output } = await start(t, { PORT: String(port) }).ended
  assert.equal(code, 1)
  assert.ok(output.includes(`port ${port} is taken: choose another one with PORT=`), output)
})

test("a port that is none is refused before anything is built", async (t) => {
  const { code, output } = await start(t, { PORT: "many" }).ended
  assert.equal(code, 1)
  assert.ok(output.includes('PORT must be a port number, got "many"'), output)
  assert.ok(!output.includes("bundling"), output)
})
