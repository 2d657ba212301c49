// The page, and a second build for the service worker: one classic script without imports, which knows the page's
// files by name.

import { createHash } from "node:crypto"
import { readFileSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build, defineConfig } from "vite"

const root = fileURLToPath(new URL(".", import.meta.url))

export default defineConfig({
  root,
  base: "./",
  build: { modulePreload: { polyfill: false } },
  plugins: [serviceWorker()]
})

function serviceWorker() {
  let config
  return {
    name: "service-worker",
    apply: "build",
    configResolved(resolved) {
      config = resolved
    },
    async writeBundle({ dir }) {
      const files = readdirSync(dir, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name !== "sw.js")
        .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1).replaceAll("\\", "/"))
        .sort()
      const hash = createHash("sha256")
      for (const file of files) hash.update(`\0${file}\0`).update(readFileSync(join(dir, file)))
      const shell = files.map((file) => (file === "index.html" ? "./" : file))
      await build({
        root,
        configFile: false,
        logLevel: config.logLevel,
        publicDir: false,
        define: { SHELL: JSON.stringify(shell), SHELL_VERSION: JSON.stringify(hash.digest("hex").slice(0, 12)) },
        build: {
          outDir: dir,
          emptyOutDir: false,
          rolldownOptions: { input: "src/service-worker.js", output: { format: "iife", entryFileNames: "sw.js" } }
        }
      })
    }
  }
}
