// pkg/dist: the entries bundled for each platform, the engine beside them, and the types.

import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { basename, dirname, join, relative } from "node:path"
import { encodeEngine } from "./engine-text.mjs"
import { must, root, step } from "./lib/run.mjs"
import { cached } from "./lib/stamp.mjs"

const OUT = "pkg/dist"
const SCRIPTS = ["scripts/package.mjs", "scripts/engine-text.mjs", "package-lock.json"]
const INPUTS = [
  "README.md",
  "js",
  "target/engine/engine.wasm",
  "target/engine/glue.js",
  "target/engine/bindgen/alkstore.d.ts",
  "tsconfig.json",
  "tsconfig.types.json",
  ...SCRIPTS
]

const ESM_ENTRIES = ["core", "index", "workerd", "slim", "url", "testing"]
const CJS_ENTRIES = { core: "core", index: "index.node", "engine-text": "engine-text", slim: "slim", url: "url.node", testing: "testing" }
// In Node the ESM entry re-exports the CommonJS file, so that `import` and `require` share one instance.
const NODE_ENTRIES = ["index", "slim", "url", "testing"]
const TYPED_ENTRIES = ["index", "slim", "url", "testing"]

// The oldest that have the wasm features which the compiler uses, reference types above all. All have private fields,
// whose lowering would cost size and speed.
const TARGET = ["chrome96", "firefox90", "safari15", "node18"]

// Of these there may be one copy only in each format, in the core file: they have state, or a class to compare by.
const SHARED = ["errors", "load", "store"].map((name) => join(root, "js", `${name}.ts`))

// Node prints the line that an uncaught error came from: it is not to be all of the file.
const LINE_MAX = 160

const PANIC_TYPES = `import type { Engine } from "../../js/load.js"
import type { Glue } from "./glue.js"

export * from "../../js/entries/index.js"
export function engine(): Promise<Omit<Engine, "glue"> & { readonly glue: Glue }>
export function retire(engine: object, message: string): void
`

/** Makes pkg/dist out of js/ and target/engine. */
export function buildPackage() {
  const outputs = ["pkg/README.md", `${OUT}/index.mjs`, `${OUT}/index.cjs`, `${OUT}/engine.wasm`, `${OUT}/types/entries/index.d.mts`]
  return cached("target/.stamps/package", { inputs: INPUTS, outputs }, () =>
    step("making pkg/dist", async () => {
      const types = must(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.types.json"])
      rmSync(join(root, OUT), { recursive: true, force: true })
      mkdirSync(join(root, OUT), { recursive: true })
      copyFileSync(join(root, "target/engine/engine.wasm"), join(root, OUT, "engine.wasm"))
      await bundles()
      await types
      copyTypes()
      writeFileSync(join(root, "pkg/README.md"), packageReadme())
    })
  )
}

/** Makes target/panic-build/index.mjs: the default entry over the engine that panics on demand, and its loader. */
export function buildPanicPackage() {
  const inputs = ["js", "target/panic-build/engine.wasm", "target/panic-build/glue.js", ...SCRIPTS]
  const outputs = ["target/panic-build/index.mjs", "target/panic-build/index.d.mts"]
  return cached("target/.stamps/panic-package", { inputs, outputs }, async () => {
    const contents = 'export * from "./entries/index.js"; export { engine, retire } from "./load.js"'
    await bundle({
      stdin: { contents, resolveDir: join(root, "js"), loader: "ts" },
      format: "esm",
      plugins: [engineFrom("target/panic-build")],
      outfile: join(root, "target/panic-build/index.mjs")
    })
    writeFileSync(join(root, "target/panic-build/index.d.mts"), PANIC_TYPES)
  })
}

async function bundles() {
  const names = {}
  for (const entry of ESM_ENTRIES) {
    const outfile = join(root, OUT, `${entry}.mjs`)
    const { metafile } = await bundle({ ...from(entry), format: "esm", plugins: plugins("mjs", entry), outfile })
    names[entry] = metafile.outputs[relative(root, outfile)].exports
  }
  for (const [entry, source] of Object.entries(CJS_ENTRIES)) {
    // Only for `node` does esbuild write the list of names by which Node finds the exports of CommonJS.
    const define = { ENGINE_LENGTH: String(statSync(join(root, "target/engine/engine.wasm")).size) }
    const options = { format: "cjs", platform: "node", plugins: plugins("cjs", entry), define }
    await bundle({ ...from(source), ...options, outfile: join(root, OUT, `${entry}.cjs`) })
  }
  for (const entry of NODE_ENTRIES) {
    writeFileSync(join(root, OUT, `${entry}.node.mjs`), `export { ${names[entry].join(", ")} } from "./${entry}.cjs"\n`)
  }
  const script = { format: "iife", globalName: "alkstore", plugins: [engineFrom("target/engine")] }
  await bundle({ ...from("index"), ...script, outfile: join(root, OUT, "alkstore.iife.js") })
}

function from(entry) {
  return { entryPoints: [join(root, "js/entries", `${entry}.ts`)] }
}

function plugins(extension, entry) {
  return entry === "core" ? [engineFrom("target/engine")] : [sharedCore(extension), engineFrom("target/engine")]
}

async function bundle(options) {
  const { build } = await import("esbuild")
  const common = { absWorkingDir: root, bundle: true, platform: "neutral", target: TARGET, minify: true }
  // Not with the engine's text inside, which would be broken into lines as well.
  const lineLimit = /(core|testing|slim|url)\.[cm]js$/.test(options.outfile) ? LINE_MAX : 0
  return build({ ...common, ...options, lineLimit, metafile: true, logLevel: "error" })
}

function sharedCore(extension) {
  return {
    name: "shared-core",
    setup({ onResolve }) {
      onResolve({ filter: /^\.{1,2}\// }, ({ path, resolveDir }) => {
        const file = join(resolveDir, path).replace(/\.js$/, ".ts")
        return SHARED.includes(file) ? { path: `./core.${extension}`, external: true } : undefined
      })
    }
  }
}

function engineFrom(folder) {
  return {
    name: "engine",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^alkstore:engine-text$/ }, () => ({ path: "engine", namespace: "engine-text" }))
      onLoad({ filter: /.*/, namespace: "engine-text" }, () => {
        return { contents: `export default "${engineText(folder)}"`, loader: "js" }
      })
      onResolve({ filter: /\/target\/engine\/glue\.js$/ }, () => ({ path: join(root, folder, "glue.js") }))
      onResolve({ filter: /^\.\/engine(\.wasm|-text\.cjs)$/ }, ({ path }) => ({ path, external: true }))
    }
  }
}

// The README less what only a clone has.
function packageReadme() {
  return readFileSync(join(root, "README.md"), "utf8").replace(/<!-- repository only -->[\s\S]*?<!-- end -->\n\n/, "")
}

function engineText(folder) {
  return encodeEngine(readFileSync(join(root, folder, "engine.wasm")))
}

// Each declaration that an entry reaches, once for ESM and once for CommonJS, with its imports renamed likewise.
function copyTypes() {
  const pending = TYPED_ENTRIES.map((entry) => join(root, "target/types/entries", `${entry}.d.ts`))
  const seen = new Set(pending)
  for (const file of pending) {
    const text = readFileSync(file, "utf8")
    for (const [, specifier] of text.matchAll(/(?:from |import\()"(\.[^"]+)\.js"/g)) {
      const next = join(dirname(file), `${specifier}.d.ts`)
      if (!existsSync(next) || basename(next) === "load.d.ts") {
        throw new Error(`the public types must not reach ${relative(root, next)}, but ${basename(file)} imports it`)
      }
      if (!seen.has(next)) pending.push(next)
      seen.add(next)
    }
    for (const kind of ["m", "c"]) {
      const name = relative(join(root, "target/types"), file).replace(/\.d\.ts$/, `.d.${kind}ts`)
      const to = join(root, OUT, "types", name)
      mkdirSync(dirname(to), { recursive: true })
      writeFileSync(to, text.replace(/((?:from |import\()"\.[^"]+)\.js"/g, `$1.${kind}js"`))
    }
  }
}
