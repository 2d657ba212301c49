// The server of the tests' pages, on this machine only:
//
//   /<module>.html         a page that runs a module of this folder or of wasm-tests, e.g. /pages/tab.html
//   /<module>.js or .ts    the module's script; workers too, /browser/indexeddb/context.worker.ts
//   /dist/…                the package's files
//   /wasm/…                the Rust tests that are compiled to wasm
//   /vectors, /vectors/…   the names of the recorded traces, and the traces
//   /report?run=…          where pages report to

import { readFile, readdir } from "node:fs/promises"
import { createServer } from "node:http"
import { extname, join, normalize } from "node:path"
import { fileURLToPath } from "node:url"
import { bundleOf } from "./bundle.mjs"
import { Reports } from "./reports.mjs"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const FOLDERS = {
  dist: join(root, "pkg/dist"),
  vectors: join(root, "tests/vectors"),
  wasm: join(root, "target/script-in-indexeddb")
}
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".wasm": "application/wasm"
}
const REPORT_BYTES_MAX = 1_000_000

/**
 * Starts a server. `routes` are the test's own: from a path to `(request, body) => [status, type, content, headers?]`,
 * which may be changed while the server runs.
 */
export async function serve({ routes = {} } = {}) {
  const runs = new Map()
  const server = createServer((request, response) => {
    answer(request, { runs, routes }).then(
      ([status, type, content, more]) => {
        const headers = { "cache-control": "no-store", "service-worker-allowed": "/", ...more }
        response.writeHead(status, { ...headers, "content-type": type })
        response.end(content)
      },
      (error) => response.writeHead(500).end(String(error.stack))
    )
  })
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
  const origin = `http://127.0.0.1:${server.address().port}`
  return {
    origin,
    routes,
    /** `{ url, reports }` of a page that runs `module` with `settings`. */
    page(module, settings = {}) {
      const run = String(runs.size + 1)
      const reports = new Reports()
      runs.set(run, reports)
      return { url: `${origin}/${module}.html?${new URLSearchParams({ ...settings, run })}`, reports }
    },
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    }
  }
}

async function answer(request, { runs, routes }) {
  const { pathname, searchParams } = new URL(request.url, "http://127.0.0.1")
  const body = await bodyOf(request)
  if (routes[pathname]) return routes[pathname](request, body)
  if (pathname === "/report") {
    runs.get(searchParams.get("run"))?.add(JSON.parse(body))
    return [204, "text/plain", ""]
  }
  if (pathname === "/favicon.ico") return [204, "text/plain", ""]
  const [, first, ...others] = pathname.split("/")
  if (first in FOLDERS) return file(FOLDERS[first], others.join("/"))
  return ofModule(pathname)
}

async function ofModule(pathname) {
  const ending = extname(pathname)
  const name = pathname.slice(1, -ending.length)
  if (ending === ".html") return [200, TYPES[".html"], html(name)]
  const text = ending === ".js" || ending === ".ts" ? await bundleOf(name) : null
  return text === null ? [404, "text/plain", `there is no ${pathname}`] : [200, TYPES[".js"], text]
}

async function file(folder, path) {
  if (path === "") return [200, TYPES[".json"], JSON.stringify((await readdir(folder)).sort())]
  const full = normalize(join(folder, path))
  if (!full.startsWith(folder)) return [403, "text/plain", "outside"]
  return [200, TYPES[extname(full)] ?? "application/octet-stream", await readFile(full)]
}

async function bodyOf(request) {
  const chunks = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > REPORT_BYTES_MAX) throw new Error(`a body of more than ${REPORT_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}

// What goes wrong where no test sees it is reported from here, a module that does not load included: not every engine
// has an event for one that fails after an await.
function html(name) {
  return `<!doctype html>
<meta charset="utf-8">
<title>${name}</title>
<script>
  const report = (value) => fetch("/report" + location.search, { method: "POST", body: JSON.stringify(value) })
  const failed = (what) => report({ failed: what })
  addEventListener("error", ({ message, error }) => failed(error?.stack ? message + "\\n" + error.stack : message))
  addEventListener("unhandledrejection", ({ reason }) => failed(reason + " (unhandled)\\n" + (reason?.stack ?? "")))
</script>
<script type="module">
  globalThis.loading = import("/${name}.js").then(() => null)
  loading.catch((error) => failed(error + "\\n" + (error.stack ?? "")))
</script>
`
}
