// The engine: Rust to wasm, its glue made into a factory, optimised, and checked.

import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { glueFactory, glueTypes } from "./glue.mjs"
import { shareSignatures } from "./imports.mjs"
import { must, root, step } from "./lib/run.mjs"
import { cached } from "./lib/stamp.mjs"
import { setupTarget, WASM_TARGET, WBG } from "./setup.mjs"

const CRATE = "alkstore-wasm"
const UNPACKER = "unpack"
const RUST_TESTS = "wasm-tests/script-in-indexeddb"

/** The cargo features that the engine of the package is built with. */
const FEATURES = [`${CRATE}/small-allocator`]
const PANIC_FEATURES = [...FEATURES, `${CRATE}/test-panic`]

// The compiler's own 225 costs 8 % more bytes, and on wasm gains no speed.
const INLINE_THRESHOLD = 25

// A loop that is unrolled is its body several times.
const LLVM = [`-inline-threshold=${INLINE_THRESHOLD}`, "-unroll-threshold=0", "-unroll-runtime=false"]

// A function that only one other calls stays apart if it is larger than this: engines compile wasm function by
// function, at the first call, so the first operation is not to wait for what it never runs.
const ONE_CALLER_INLINE_MAX_BYTES = 500

// What the module and its glue call each other is theirs alone, and each name ends in a hash, which no compression
// helps. Prints what was renamed.
const RENAME = "--minify-imports-and-exports-and-modules"
const OPTIMISE = [
  "-O3",
  "-ocimfs",
  String(ONE_CALLER_INLINE_MAX_BYTES),
  // The stack lies lowest, and its end is at zero: what has got as far as its last kilobyte is overflowing.
  "--low-memory-unused",
  RENAME,
  "--strip-target-features"
]
const SMALLEST = ["-Oz", "--strip-target-features"]
const WASM_OPT = "node_modules/binaryen/bin/wasm-opt"

const INPUTS = [
  "Cargo.toml",
  "Cargo.lock",
  "rust-toolchain.toml",
  ".cargo",
  "src",
  "package-lock.json",
  "tools/wb/Cargo.lock",
  "tools/wb/Cargo.toml",
  "tools/wb/src",
  "scripts/engine.mjs",
  "scripts/glue.mjs",
  "scripts/imports.mjs",
  "tools/unpack"
]

const COMPILED = ["target/engine/compiled.wasm", "target/engine/compiled-unpack.wasm"]

/** Compiles the engine of the package; the rest waits for the tools, this does not. */
export function compileEngine() {
  return cached("target/.stamps/cargo-release", { inputs: INPUTS, outputs: COMPILED }, () =>
    step("compiling the engine", async () => {
      await cargo([CRATE, UNPACKER], FEATURES)
      keep("alkstore", "target/engine/compiled.wasm")
      keep(UNPACKER, "target/engine/compiled-unpack.wasm")
    })
  )
}

/** Makes target/engine/{engine.wasm,glue.js,glue.d.ts} of it. */
export function linkEngine() {
  return cached("target/.stamps/engine", { inputs: INPUTS, outputs: [...made("target/engine"), "target/engine/unpack.wasm"] }, () =>
    step("linking and optimising the engine", async () => {
      await bindgen("target/engine")
      const [input, output] = ["target/engine/shared.wasm", "target/engine/engine.wasm"]
      const { bytes, places } = await shareSignatures(readFileSync(join(root, "target/engine/bindgen/alkstore_bg.wasm")))
      writeFileSync(join(root, input), bytes)
      const names = await must(process.execPath, [WASM_OPT, ...OPTIMISE, input, "-o", output])
      await factory("target/engine", JSON.parse(names), places)
      await must(process.execPath, [WASM_OPT, ...SMALLEST, "target/engine/compiled-unpack.wasm", "-o", "target/engine/unpack.wasm"])
    })
  )
}

/**
 * The same for the engine with a panic on demand, and the tests that are in Rust. In the profile of the package, for which
 * all that they depend on has been compiled.
 */
export function buildTestEngines() {
  const inputs = [...INPUTS, RUST_TESTS]
  const outputs = [...made("target/panic-build"), "target/script-in-indexeddb/script_in_indexeddb.js"]
  return cached("target/.stamps/test-engines", { inputs, outputs }, () =>
    step("building the engines of tests", async () => {
      await cargo([CRATE, "script-in-indexeddb"], PANIC_FEATURES)
      const tests = compiled("script_in_indexeddb")
      await must(join(root, WBG), [tests, "script_in_indexeddb", "target/script-in-indexeddb"])
      keep("alkstore", "target/panic-build/compiled.wasm")
      await bindgen("target/panic-build")
      const folder = join(root, "target/panic-build")
      copyFileSync(join(folder, "bindgen/alkstore_bg.wasm"), join(folder, "engine.wasm"))
      await factory("target/panic-build", { imports: [], exports: [] }, new Map())
    })
  )
}

async function cargo(packages, features) {
  await setupTarget()
  await must("cargo", ["fetch", "--locked", "--target", WASM_TARGET])
  const target = ["--lib", ...packages.flatMap((name) => ["--package", name]), "--target", WASM_TARGET]
  const args = ["build", "--locked", "--release", ...target, "--target-dir", "target"]
  const flags = [...withoutLocalPaths(), `-Cllvm-args=${LLVM.join(" ")}`]
  const env = { CARGO_ENCODED_RUSTFLAGS: flags.join("\x1f") }
  await must("cargo", features.length > 0 ? [...args, "--features", features.join(",")] : args, { env })
}

// Panic messages name source files. Where those lie on the building machine is nobody's business, and would make the
// same source come out different elsewhere.
function withoutLocalPaths() {
  const crates = join(process.env.CARGO_HOME ?? join(homedir(), ".cargo"), "registry/src")
  return readdirSync(crates).map((registry) => `--remap-path-prefix=${join(crates, registry)}=crates`)
}

// Away from cargo's own folder, where a build with other features replaces it.
function keep(name, to) {
  mkdirSync(dirname(join(root, to)), { recursive: true })
  copyFileSync(join(root, compiled(name)), join(root, to))
}

function compiled(name) {
  return join("target", WASM_TARGET, "release", `${name}.wasm`)
}

async function bindgen(folder) {
  rmSync(join(root, folder, "bindgen"), { recursive: true, force: true })
  await must(join(root, WBG), [join(folder, "compiled.wasm"), "alkstore", join(folder, "bindgen")])
}

async function factory(folder, names, places) {
  const wasm = new WebAssembly.Module(readFileSync(join(root, folder, "engine.wasm")))
  assertOnlyGlueImports(new WebAssembly.Module(readFileSync(join(root, folder, "bindgen/alkstore_bg.wasm"))))
  assertNoLocalPaths(join(root, folder, "engine.wasm"))
  const glue = readFileSync(join(root, folder, "bindgen/alkstore.js"), "utf8")
  const file = join(root, folder, "glue.js")
  writeFileSync(file, await glueFactory(glue, wasm, names, places))
  writeFileSync(join(root, folder, "glue.d.ts"), glueTypes)
  await assertStarts(file, wasm)
}

// An `env` import means that something was linked which no JavaScript runtime provides.
function assertOnlyGlueImports(wasm) {
  const foreign = WebAssembly.Module.imports(wasm).filter(({ module }) => module !== "./alkstore_bg.js")
  if (foreign.length > 0) {
    throw new Error(`the engine imports ${foreign.map(({ module, name }) => `${module}.${name}`).join(", ")}`)
  }
}

function assertNoLocalPaths(file) {
  const bytes = readFileSync(file, "latin1")
  // Of either what lies in it: the paths of the compiler's own sources hold "/src/" too.
  const paths = [join(homedir(), ".cargo"), join(homedir(), ".rustup"), join(root, "src"), join(root, "tools")]
  const local = paths.find((path) => bytes.includes(path))
  if (local !== undefined) throw new Error(`the engine names a path of this machine: ${local}`)
}

// An optimiser at fault produces modules that validate and do not start.
async function assertStarts(file, wasm) {
  const { createGlue } = await import(`${pathToFileURL(file)}?${performance.now()}`)
  const onTrap = (error) => error
  createGlue({ TextDecoder, TextEncoder, queueMicrotask, setTimeout, clearTimeout, alkstorePanicked: () => {}, onTrap, Refusal: Error }).__start(wasm)
}

function made(folder) {
  return ["engine.wasm", "glue.js", "glue.d.ts", "bindgen/alkstore.d.ts"].map((name) => `${folder}/${name}`)
}
