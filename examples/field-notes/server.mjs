// The other side: takes notes in, once each, and can be made to fail. It serves the built page as well.
//
// A sender that promises at-least-once repeats whatever it has seen no answer to, so the server keeps the
// `Idempotency-Key` of what it has taken in and answers a repetition without doing the work again.

import { once } from "node:events"
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs"
import { createServer } from "node:http"
import { extname, join } from "node:path"
import { fileURLToPath } from "node:url"

const DIST = fileURLToPath(new URL("./dist", import.meta.url))
const NOTE_BYTES_MAX = 64 * 1024

/**
 * `up` takes every note. `flaky` fails every other request of each note, in turn by taking the note in and dropping
 * the connection instead of an answer, and by answering 500. `down` drops every connection before reading a word.
 * `silent`, which the page does not offer, takes every note in and never answers.
 */
export const MODES = ["up", "flaky", "down", "silent"]

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json"
}
const POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; base-uri 'none'; frame-ancestors 'none'"

/**
 * Listens on `port` of 127.0.0.1, 0 for any free one, and serves the files of `folder`.
 *
 * Resolves to `{ url, books(), setMode(mode), close() }`; rejects if the port is taken or nothing has been built.
 */
export async function startServer({ port = 0, folder = DIST } = {}) {
  const files = readFiles(folder)
  const notes = new Map() // idempotency key → { id, text, requests, receipts, by }
  let mode = "up"
  let requests = 0
  let faults = 0

  const server = createServer((request, response) => {
    // A sender that goes away in the middle of its request has delivered nothing.
    route(request, response).catch(() => response.destroy())
  })
  // A browser that finds a connection dropped which it has used before repeats the request by itself, unasked. Here
  // a dropped connection is to be a failed attempt.
  server.maxRequestsPerSocket = 1
  server.listen(port, "127.0.0.1")
  await once(server, "listening")

  async function route(request, response) {
    const { pathname } = new URL(request.url, "http://127.0.0.1")
    if (pathname === "/api/notes" && request.method === "POST") return takeNote(request, response)
    if (pathname === "/api/server" && request.method === "GET") return answer(response, 200, books())
    if (pathname === "/api/server" && request.method === "PUT") return switchMode(request, response)
    const file = files.get(pathname)
    if (file === undefined) return answer(response, 404, { error: `there is no ${pathname}` })
    response.writeHead(200, file.headers).end(file.body)
  }

  async function takeNote(request, response) {
    if (mode === "down") return request.destroy()
    const key = request.headers["idempotency-key"]
    const note = await readJson(request)
    if (key === undefined || typeof note?.text !== "string") return answer(response, 400, { error: "not a note" })

    const entry = notes.get(key) ?? { id: key, text: note.text, requests: 0, receipts: 0, by: null }
    notes.set(key, entry)
    requests += 1
    entry.requests += 1
    const failing = mode === "flaky" && entry.requests % 2 === 1
    if (failing) faults += 1
    if (failing && faults % 2 === 0) return answer(response, 500, { error: "flaky" })

    const first = entry.receipts === 0
    entry.receipts += 1
    if (first) entry.by = request.headers["delivered-by"] ?? null
    if (failing) return response.destroy()
    if (mode === "silent") return
    answer(response, first ? 201 : 200, { id: key, first })
  }

  async function switchMode(request, response) {
    const wanted = (await readJson(request))?.mode
    if (!MODES.includes(wanted)) return answer(response, 400, { error: `mode must be one of ${MODES}` })
    mode = wanted
    answer(response, 200, books())
  }

  /** What the server has: `requests` counts all that it read, of a note too; `receipts` how often a note came in. */
  function books() {
    return { mode, requests, notes: [...notes.values()].map((note) => ({ ...note })) }
  }

  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    books,
    setMode(wanted) {
      mode = wanted
    },
    async close() {
      const closed = once(server, "close")
      server.close()
      server.closeAllConnections()
      await closed
    }
  }
}

// All of them, once: a path that leads out of the folder is in no table.
function readFiles(folder) {
  if (!existsSync(join(folder, "index.html"))) throw new Error("the page is not built: npm run example does it")
  const files = new Map()
  for (const name of readdirSync(folder, { recursive: true })) {
    const full = join(folder, name)
    if (!statSync(full).isFile()) continue
    const path = `/${name.replaceAll("\\", "/")}`
    const headers = {
      "content-type": TYPES[extname(name)] ?? "application/octet-stream",
      "content-security-policy": POLICY,
      "cache-control": path.startsWith("/assets/") ? "max-age=31536000, immutable" : "no-cache"
    }
    files.set(path === "/index.html" ? "/" : path, { headers, body: readFileSync(full) })
  }
  return files
}

async function readJson(request) {
  const chunks = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > NOTE_BYTES_MAX) return null
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"))
  } catch {
    return null
  }
}

function answer(response, status, body) {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" })
  response.end(JSON.stringify(body))
}
