// Makes a factory of wasm-bindgen's glue. The glue keeps its one instance in a module-level variable; after a panic a
// second instance is needed, which objects of the first must never reach. So the whole glue becomes the body of
// `createGlue(host)`, and a few of its global names become arguments.
//
// Every call into wasm is guarded: whatever is thrown out of it, a trap above all, means that the instance can no
// longer be trusted, and goes through `host.onTrap`. An error that the engine returns, a `Refusal`, is thrown.

const ANCHORS = [
  "function __wbg_get_imports()",
  "function __wbg_finalize_init(instance, module)",
  "let wasmModule, wasmInstance, wasm;"
]
const MODULE = "./alkstore_bg.js"
const OWN_EXPORTS = "export { initSync, __wbg_init as default };"

// What nobody needs: the name of a number; `using`, or `free` but for a loop's stop; an encoder without `encodeInto`, and
// strings without `realloc`; the class of a handle, which callers cannot touch.
const UNUSED = [
  /^if \(Symbol\.dispose\) .*\n/gm,
  /, "\d+": "\w+"|^ +"\d+": "\w+",?\n/gm,
  /^    __destroy_into_raw\(\) \{\n(?: {8}.*\n)*    \}\n    free\(\) \{\n(?: {8}.*\n)*? {8}wasm\.__wbg_(?!stop_)\w+_free\(ptr, 0\);\n    \}\n/gm,
  /^if \(!\('encodeInto' in cachedTextEncoder\)\) \{\n[\s\S]*?^\}\n/gm,
  /^    if \(realloc === undefined\) \{\n[\s\S]*?^    \}\n/gm,
  /^ {8}_assertClass\(.*\);\n/gm
]

// What can be said in fewer words: the registry of a class, which some runtimes lack; an import that may throw, which
// also has its own parameters then, so that V8 needs no other wrapper for it (scripts/imports.mjs).
const SHORTER = [
  [
    /\(typeof FinalizationRegistry === 'undefined'\)\s+\? \{ register: \(\) => \{\}, unregister: \(\) => \{\} \}\s+: new FinalizationRegistry/g,
    "finalization"
  ],
  [
    /function\(\) \{ return handleError\(function \((.*?)\) \{\n([\s\S]*?)^ {8}\}, arguments\); \}/gm,
    "function($1) {\n            try {\n$2            } catch (error) { caught(error); }\n        }"
  ]
]
const SHORTER_HELPERS = `
function finalization(free) {
  if (typeof FinalizationRegistry === "undefined") return { register() {}, unregister() {} };
  return new FinalizationRegistry(free);
}
function caught(error) {
  wasm.__wbindgen_exn_store(addToExternrefTable0(error));
}
`

// The exports that a queue in use calls all the time. Each has a guard of its own, in which engines then know what it
// calls; the others share a few, with as many arguments as any of them has.
const HOT = /^queue_(enqueue|claim_one|ack)$/
const SHARED_ARITIES = [4, 12]

// Entered by timers and promises, not by a caller: an error thrown here would be an uncaught one.
const FROM_THE_EVENT_LOOP = /^__wbg_.*_free$|^__wbindgen_destroy_closure$|convert__closures/

// Of an instance that was let go of: these do nothing then, all others fail.
const INERT_AT_THE_END = /^__|convert__closures/

/**
 * The text of glue.js, from wasm-bindgen's `--target web` output and the module that it belongs to. `names` says what
 * the module's imports and exports were renamed to, as wasm-opt prints it, and `places` where the arguments of an
 * import are, as scripts/imports.mjs has it.
 */
export async function glueFactory(glue, wasm, names, places) {
  for (const anchor of [...ANCHORS, OWN_EXPORTS]) {
    if (!glue.includes(anchor)) throw new Error(`wasm-bindgen's glue has changed its form: "${anchor}" is not in it`)
  }
  const used = UNUSED.reduce((text, unused) => text.replace(unused, ""), glue.replace(OWN_EXPORTS, ""))
  const source =
    SHORTER.reduce((text, [long, short]) => text.replace(long, short), withoutCoercions(used)) + SHORTER_HELPERS
  const exported = new Map(names.exports.map(([was, is]) => [was, is]))
  const { build } = await import("esbuild")
  const { outputFiles } = await build({
    stdin: {
      contents: renamed(source.replace("ret = arg0.queueMicrotask;", "ret = queueMicrotask;"), names.imports, exported, places) + lifecycle(glue, wasm, exported),
      loader: "js"
    },
    bundle: true,
    write: false,
    format: "esm",
    target: "es2021"
  })
  return `// Generated from wasm-bindgen's glue; see scripts/glue.mjs.
export function createGlue({ TextDecoder, TextEncoder, queueMicrotask, setTimeout, clearTimeout, alkstorePanicked, onTrap, Refusal }) {
${exportsReturned(outputFiles[0].text)}
}
`
}

// Numbers are checked before they get here.
function withoutCoercions(glue) {
  return glue.replace(/^ {4}(?:static )?\w+\(.*\) \{\n[\s\S]*?^ {4}\}\n/gm, (method) =>
    [...method.matchAll(/^ +const (val\d+) = \+(\w+);\n/gm)].reduce(
      (text, [coercion, value, argument]) =>
        text.replace(coercion, "").replace(new RegExp(`\\b${value}\\b`), argument),
      method
    )
  )
}

function renamed(glue, imports, exported, places) {
  const imported = new Map(imports.map(([, was, is]) => [was, is]))
  const [module, renamedModule] = [MODULE, imports.length > 0 ? "a" : MODULE]
  return glue
    .replace(`"${module}": import0`, `"${renamedModule}": import0`)
    .replace(/^ {8}(\w+): function\((.*)\) \{\n[\s\S]*?^ {8}\},\n/gm, (text, name, given) => {
      if (imports.length > 0 && !imported.has(name)) return ""
      const names = given.split(", ")
      const parameters = places.get(name)?.map((index, at) => (index === null ? `_${at}` : names[index])) ?? names
      const head = `${JSON.stringify(imported.get(name) ?? name)}(${parameters.join(", ")})`
      return text.replace(`${name}: function(${given})`, head)
    })
    .replace(/\bwasm\.(\w+)/g, (_, name) => `wasm[${JSON.stringify(exported.get(name) ?? name)}]`)
}

// A function body has no exports: the list that esbuild ends with becomes the returned object.
function exportsReturned(text) {
  const list = /\nexport \{([^}]*)\};\s*$/.exec(text)
  const properties = list[1].replace(/([\w$]+) as ([\w$]+)/g, "$2: $1")
  return `${text.slice(0, list.index)}\nreturn {${properties}}`
}

/** The text of glue.d.ts. */
export const glueTypes = `// Generated; see scripts/glue.mjs. Internal: the public types are in js/types.ts.
import type * as bindgen from "./bindgen/alkstore.js"

export type * from "./bindgen/alkstore.js"

/** wasm-bindgen's exports, over an instance of their own. */
export type Glue = Omit<typeof bindgen, "default" | "initSync"> & {
  /** Instantiates \`module\`. Once, before anything else. */
  __start(module: WebAssembly.Module): void
  /** Lets go of the instance: exports throw \`failure()\` from now on, late timers and finalizers do nothing. */
  __stop(failure: () => unknown): void
}

/** What the glue takes from its surroundings. */
export interface GlueHost {
  TextDecoder: new (label?: string, options?: { ignoreBOM?: boolean }) => {
    decode(bytes?: Uint8Array<ArrayBuffer>): string
  }
  TextEncoder: new () => {
    encode(text: string): Uint8Array
    encodeInto(text: string, into: Uint8Array<ArrayBuffer>): { read: number; written: number }
  }
  queueMicrotask(task: () => void): void
  setTimeout(task: () => void, ms: number): unknown
  clearTimeout(timer: unknown): void
  /** Called by the engine's panic hook, just before the trap. */
  alkstorePanicked(message: string): void
  /** Called with whatever is thrown out of wasm; returns what the caller, if there is one, gets to see instead. */
  onTrap(error?: unknown): unknown
  /** The class of the errors that the engine returns, for the glue to throw. */
  Refusal: new (...args: never[]) => Error
}

export function createGlue(host: GlueHost): Glue
`

function lifecycle(glue, wasm, exported) {
  const before = new Map([...exported].map(([was, is]) => [is, was]))
  const kinds = WebAssembly.Module.exports(wasm).map(({ name, kind }) => {
    return { kind, key: JSON.stringify(name), name: before.get(name) ?? name, arity: arity(wasm, name) }
  })
  const functions = kinds.filter(({ kind }) => kind === "function")
  const others = kinds.filter(({ kind }) => kind !== "function")
  const key = (name) => kinds.find((each) => each.name === name).key
  const caches = [...glue.matchAll(/^let (cached\w+Memory0) = null;$/gm)].map(([, name]) => name)
  const guards = new Set(functions.map((each) => `const ${guardOf(each)} = ${guard(each)};`))
  const inert = functions.filter(({ name }) => INERT_AT_THE_END.test(name)).map(({ key }) => key)
  return `
let ended = false;
${[...guards].join("\n")}
export function __start(module) {
  __wbg_finalize_init(new WebAssembly.Instance(module, __wbg_get_imports()), module);
  const inner = wasm;
  wasm = {
    ${others.map(({ key }) => `${key}: inner[${key}]`).join(",\n    ")},
    ${functions.map((each) => `${each.key}: ${guardOf(each)}(inner[${each.key}])`).join(",\n    ")}
  };
}
export function __stop(failure) {
  const stopped = {};
  for (const key of Object.keys(wasm)) stopped[key] = () => { throw failure(); };
  for (const key of [${inert.join(", ")}]) stopped[key] = () => [];
  stopped[${key("memory")}] = { buffer: new ArrayBuffer(0) };
  stopped[${key("__wbindgen_externrefs")}] = { get() {}, set() {} };
  ${caches.map((name) => `${name} = null;`).join("\n  ")}
  ended = true;
  wasmInstance = wasmModule = undefined;
  wasm = stopped;
}
`
}

const isQuiet = ({ name }) => FROM_THE_EVENT_LOOP.test(name)
const places = ({ name, arity }) => (HOT.test(name) ? arity : SHARED_ARITIES.find((most) => arity <= most))
const guardOf = (each) => (HOT.test(each.name) ? each.name : `${isQuiet(each) ? "quiet" : "loud"}${places(each)}`)

// A call that is still under way when a nested one ends the instance has no result either.
function guard(each) {
  const args = Array.from({ length: places(each) }, (_, at) => `a${at}`).join(", ")
  const quiet = `try { return call(${args}); } catch (error) { onTrap(error); return []; }`
  const loud = `let result;
      try { result = call(${args}); } catch (error) { throw onTrap(error); }
      if (ended) throw onTrap();
      if (typeof result === "object" && result instanceof Refusal) throw result;
      return result;`
  return `(call) => (${args}) => { ${isQuiet(each) ? quiet : loud} }`
}

// The number of a wasm function's parameters is its length, which only an instance shows.
let lengths = { wasm: null, exports: null }
function arity(wasm, name) {
  if (lengths.wasm !== wasm) {
    const imports = {}
    for (const { module, name } of WebAssembly.Module.imports(wasm)) (imports[module] ??= {})[name] = () => {}
    lengths = { wasm, exports: new WebAssembly.Instance(wasm, imports).exports }
  }
  return lengths.exports[name].length
}
