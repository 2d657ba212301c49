// pkg/dist: the entries bundled for each platform, the engine beside them, and the types.

import { createHash } from "node:crypto"
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { basename, dirname, join, relative } from "node:path"
import { encodeEngine } from "./engine-text.mjs"
import { must, root, step } from "./lib/run.mjs"
import { cached } from "./lib/stamp.mjs"

const OUT = "pkg/dist"
const SCRIPTS = ["scripts/package.mjs", "scripts/engine-text.mjs", "scripts/wasm-code.mjs", "package-lock.json"]
const INPUTS = [
  "README.md",
  "js",
  "target/engine/engine.wasm",
  "target/engine/glue.js",
  "target/engine/unpack.wasm",
  "target/engine/bindgen/alkstore.d.ts",
  "tsconfig.json",
  "tsconfig.types.json",
  ...SCRIPTS
]

// Each file of pkg/dist, and the module in js/entries that it is made of.
const ESM_FILES = { "core.mjs": "core", "index.mjs": "index", "workerd.mjs": "workerd", "edge.mjs": "edge", "slim.mjs": "slim", "url.mjs": "url", "testing.mjs": "testing", "indexeddb.mjs": "indexeddb" }
const NODE_FILES = { "index.node.mjs": "index.node", "engine-text.node.mjs": "engine-text", "slim.node.mjs": "slim", "url.node.mjs": "url.node", "testing.node.mjs": "testing", "indexeddb.node.mjs": "indexeddb" }
const CJS_FILES = { "index.cjs": "index.require", "engine-text.cjs": "engine-text", "slim.cjs": "slim", "url.cjs": "url.require", "testing.cjs": "testing", "indexeddb.cjs": "indexeddb" }
const TYPED_ENTRIES = ["index", "slim", "url", "testing", "indexeddb"]

// The oldest that have structuredClone, and with it the wasm features which the compiler uses. All have private fields,
// whose lowering would cost size and speed.
const TARGET = ["chrome98", "firefox94", "safari15.4", "node18"]

// Of these there is one copy, in the core file: they have state, or a class to compare by, or several entries need them.
const SHARED = ["arguments", "codec", "errors", "load", "storage", "store", "turn"].map((name) => join(root, "js", `${name}.ts`))

// Node prints the line that an uncaught error came from: it is not to be all of the file.
const LINE_MAX = 240

const PANIC_TYPES = `import type { Engine } from "../../js/load.js"
import type { Glue } from "./glue.js"

export * from "../../js/entries/index.js"
export * from "../../js/entries/indexeddb.js"
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
  const inputs = ["js", "target/panic-build/engine.wasm", "target/panic-build/glue.js", "target/engine/unpack.wasm", ...SCRIPTS]
  const outputs = ["target/panic-build/index.mjs", "target/panic-build/index.d.mts"]
  return cached("target/.stamps/panic-package", { inputs, outputs }, async () => {
    const entries = 'export * from "./entries/index.js"; export * from "./entries/indexeddb.js"'
    const contents = `${entries}; export { engine, retire } from "./load.js"`
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
  const define = { ENGINE_LENGTH: String(statSync(join(root, "target/engine/engine.wasm")).size) }
  for (const [file, entry] of Object.entries(ESM_FILES)) {
    const own = [platformTextCodec("core.mjs", entry), ...plugins("core.mjs", entry)]
    await bundle({ ...from(entry), format: "esm", plugins: own, outfile: out(file) })
  }
  const core = await nodeCores()
  for (const [file, entry] of Object.entries(NODE_FILES)) {
    await bundle({ ...from(entry), format: "esm", platform: "node", plugins: plugins("core.node.mjs", entry), define, outfile: out(file) })
  }
  inlineCore("index.node.mjs", core)
  for (const [file, entry] of Object.entries(CJS_FILES)) {
    await bundle({ ...from(entry), format: "cjs", platform: "node", plugins: plugins("core.cjs", entry), define, outfile: out(file) })
  }
  const script = { format: "iife", globalName: "alkstore", plugins: [engineFrom("target/engine")] }
  await bundle({ ...from("script"), ...script, outfile: out("alkstore.iife.js") })
}

// In Node `import` and `require` load files of their own and share one core all the same: whichever comes first makes
// it and leaves it where the other one finds it. (An ESM file that re-exports a CommonJS one costs a cold start a
// quarter of its time.)
async function nodeCores() {
  await bundle({ ...from("core"), format: "esm", plugins: plugins("", "core"), outfile: out("core.node.mjs") })
  const { body, names } = exportsReturned(readFileSync(out("core.node.mjs"), "utf8"))
  const engine = readFileSync(join(root, "target/engine/engine.wasm"))
  const build = createHash("sha256").update(body).update(engine).digest("hex").slice(0, 16)
  const core = `globalThis[Symbol.for("alkstore-wasm ${build}")]??=(()=>{"use strict";${body}})()`
  writeFileSync(out("core.cjs"), `module.exports=${core}\n`)
  writeFileSync(out("core.node.mjs"), `const core=${core}\nexport const{${names.join(",")}}=core\n`)
  return core
}

// A module as the body of a function. (CommonJS would do, with a getter for every name to set up at every start.)
function exportsReturned(text) {
  const list = /export\{([^}]*)\};\s*$/.exec(text)
  if (list === null) throw new Error("the core exports its names in another form than this knows")
  const pairs = list[1].split(",").map((each) => each.trim().split(" as "))
  const properties = pairs.map(([own, name = own]) => `${name}:${own}`)
  return { body: `${text.slice(0, list.index)}return{${properties.join(",")}}`, names: pairs.map(([own, name = own]) => name) }
}

// The default entry brings the core along: to look for a second file costs a cold start a millisecond.
function inlineCore(file, core) {
  const entry = readFileSync(out(file), "utf8")
  const own = entry.replace(/import\{([^}]*)\}from"\.\/core\.node\.mjs";/g, (_, names) => `const{${names.replaceAll(" as ", ":")}}=core;`)
  if (own.includes("core.node.mjs")) throw new Error(`${file} imports the core in another form than this knows`)
  writeFileSync(out(file), `const core=${core}\n${own}`)
}

function out(file) {
  return join(root, OUT, file)
}

function from(entry) {
  return { entryPoints: [join(root, "js/entries", `${entry}.ts`)] }
}

function plugins(core, entry) {
  return entry === "core" ? [engineFrom("target/engine")] : [sharedCore(core), engineFrom("target/engine")]
}

async function bundle(options) {
  const { build } = await import("esbuild")
  const common = { absWorkingDir: root, bundle: true, platform: "neutral", target: TARGET, minify: true }
  // Not with the engine's text inside, which would be broken into lines as well.
  const lineLimit = /(core|testing|slim|url|indexeddb)(\.node)?\.[cm]js$/.test(options.outfile) ? LINE_MAX : 0
  await build({ ...common, ...options, lineLimit, metafile: true, logLevel: "error" })
  if (lineLimit > 0) writeFileSync(options.outfile, literalsWhole(readFileSync(options.outfile, "utf8")))
}

// A literal must not go over several lines, as esbuild has it: Rollup indents the lines of CommonJS, also inside of one.
function literalsWhole(text) {
  return text.replace(/(?<!\\)((?:\\\\)*)\\\n/g, "$1")
}

// ES modules go without the fallback: of what loads them only Jest's jsdom has no text codec, and there Node's own can be
// had. CommonJS and the script keep it, for a Node 18 under Jest, and worklets.
function platformTextCodec(core, entry) {
  return {
    name: "platform-text-codec",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /\/text-codec\.js$/ }, () => {
        return entry === "core" ? { path: "text-codec", namespace: "platform" } : { path: `./${core}`, external: true }
      })
      onLoad({ filter: /.*/, namespace: "platform" }, () => {
        // Nobody else's process is asked for anything.
        const nodes = 'globalThis.TextDecoder ? {} : globalThis.process?.getBuiltinModule?.("node:util") ?? {}'
        return { contents: `export const { TextDecoder: FallbackDecoder, TextEncoder: FallbackEncoder } = ${nodes}`, loader: "js" }
      })
    }
  }
}

function sharedCore(core) {
  return {
    name: "shared-core",
    setup({ onResolve }) {
      onResolve({ filter: /^\.{1,2}\// }, ({ path, resolveDir }) => {
        const file = join(resolveDir, path).replace(/\.js$/, ".ts")
        return SHARED.includes(file) ? { path: `./${core}`, external: true } : undefined
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
        return { contents: inlined(folder), loader: "js" }
      })
      onResolve({ filter: /\/target\/engine\/glue\.js$/ }, () => ({ path: join(root, folder, "glue.js") }))
      onResolve({ filter: /^\.\/engine(\.wasm(\?module)?|-text\.cjs)$/ }, ({ path }) => ({ path, external: true }))
      // Loaded only where it is needed; anywhere else one bundles the other.
      onResolve({ filter: /^\.\/engine-text\.js$/ }, () => ({ path: "./engine-text.node.mjs", external: true }))
    }
  }
}

// The README less what only a clone has.
function packageReadme() {
  return readFileSync(join(root, "README.md"), "utf8").replace(/<!-- repository only -->[\s\S]*?<!-- end -->\n\n/, "")
}

function inlined(folder) {
  const text = encodeEngine(readFileSync(join(root, folder, "engine.wasm")))
  const unpacker = readFileSync(join(root, "target/engine/unpack.wasm"), "hex")
  return `export const text = "${text}", unpacker = "${unpacker}"`
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
