// What the benches in Chromium share: scripts bundled with the package and the peers as an app would, their pages, and
// tabs on them.

import { existsSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { engines } from "../../wasm-tests/engines/harness/engines.mjs"
import { serve } from "../../wasm-tests/engines/harness/server.mjs"

const folder = fileURLToPath(new URL("../", import.meta.url))
const require = createRequire(import.meta.url)

// With these a page's clock has a resolution of 5 µs instead of 100.
const ISOLATED = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" }

/** `code` bundled and minified, as text. It may import the package and the peers. */
export async function bundled(code, { format = "esm", banner = "" } = {}) {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: folder, loader: "js" },
    banner: { js: banner },
    bundle: true,
    minify: true,
    write: false,
    platform: "browser",
    define: { "process.env.NODE_ENV": JSON.stringify("production") },
    target: "es2022",
    format,
    legalComments: "none",
    logLevel: "error"
  })
  return outputFiles[0].text
}

/** The path of a file that a package ships, such as "@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm". */
export function shipped(path) {
  for (const root of require.resolve.paths(path)) if (existsSync(join(root, path))) return join(root, path)
  throw new Error(`there is no ${path}: npm run bench installs the peers`)
}

async function servePages(scripts, files) {
  const routes = {}
  const add = (path, type, content, headers = {}) => {
    routes[path] = () => [200, type, content, { ...ISOLATED, ...headers }]
  }
  for (const [name, { code, ...options }] of Object.entries(scripts)) {
    add(`/${name}.js`, "text/javascript; charset=utf-8", await bundled(code, options))
    add(`/${name}`, "text/html; charset=utf-8", `<!doctype html><meta charset="utf-8"><title>${name}</title>`)
  }
  for (const file of files) add(`/${basename(file)}`, "application/wasm", readFileSync(file))
  return serve({ routes })
}

/**
 * Calls `work({ browser, url })` with Chromium, its databases on disk, and a server of `scripts` (code by name, each at
 * /NAME.js with a page at `url(NAME)` that loads nothing by itself) and `files`; both end with it.
 */
export async function inChromium(scripts, work, files = []) {
  const chromium = engines().find(({ name }) => name === "chromium")
  if (chromium === undefined) throw new Error("Chromium is not installed")
  const server = await servePages(scripts, files)
  const browser = await chromium.launch({ durable: true, onDisk: true, whole: true })
  try {
    await work({ browser, url: (name) => `${server.origin}/${name}` })
  } finally {
    await browser.kill()
    await server.close()
  }
}

/** Runs `work` with a new tab on the page `name`. */
export async function inTab({ browser, url }, name, work) {
  const tab = await browser.open(url(name))
  try {
    return await work(tab)
  } finally {
    await tab.close()
  }
}
