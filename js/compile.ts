// Compiles the engine from whatever holds it, and explains what stands in the way. The order of the checks matters:
// merely evaluating `typeof Response` makes Node load its whole HTTP client, five times the rest of a cold start, so
// values are told apart by their tags, which also work across realms.

import { invalid } from "./arguments.js"
import { AlkstoreError } from "./errors.js"
import type { EngineInput, InitInput } from "./init-input.js"

const MAGIC = [0x00, 0x61, 0x73, 0x6d]
const LESS_THAN = 0x3c

/** So many characters of what a runtime says are shown. */
const CAUSE_MAX = 200

/** The compiled module that `load` leads to. Rejects with `Unavailable`, or `InvalidArgument` for a wrong type. */
export async function compileEngine(load: () => InitInput): Promise<WebAssembly.Module> {
  if (typeof WebAssembly !== "object") {
    throw unavailable("this runtime has no WebAssembly (a browser's lockdown mode switches it off)")
  }
  let input: EngineInput
  try {
    input = await load()
  } catch (cause) {
    if (cause instanceof WebAssembly.CompileError) throw refused("the engine", cause)
    throw unavailable(`the engine did not arrive: ${text(cause)}`, cause)
  }
  return compileInput(input)
}

function compileInput(input: EngineInput): Promise<WebAssembly.Module> | WebAssembly.Module {
  const tag = Object.prototype.toString.call(input)
  if (ArrayBuffer.isView(input) || tag === "[object ArrayBuffer]") {
    return compileBytes(input as ArrayBuffer | ArrayBufferView, "the given bytes")
  }
  if (tag === "[object WebAssembly.Module]") return input as WebAssembly.Module
  if (typeof input === "string" || tag === "[object URL]") return fetchEngine(String(input), input as string | URL)
  if (tag === "[object Request]") return fetchEngine((input as Request).url, input as Request)
  if (tag === "[object Response]") return compileResponse(input as Response)
  throw invalid("input", input, "bytes, a WebAssembly.Module, an address, a Request or a Response")
}

async function fetchEngine(address: string, request: string | URL | Request): Promise<WebAssembly.Module> {
  let response: Response
  try {
    response = await fetch(request)
  } catch (cause) {
    const isFile = address.startsWith("file:")
    const hint = isFile ? "; read the file and pass its bytes instead" : " (under a Content-Security-Policy, connect-src needs its origin)"
    throw unavailable(`cannot fetch ${address}: ${text(cause)}${hint}`, cause)
  }
  return compileResponse(response, address)
}

async function compileResponse(response: Response, address = response.url): Promise<WebAssembly.Module> {
  const from = address || "the given response"
  if (!response.ok) throw unavailable(`${from} answered ${response.status} ${response.statusText}`.trimEnd())
  const type = response.headers.get("Content-Type") ?? ""
  if (type.startsWith("application/wasm") && typeof WebAssembly.compileStreaming === "function") {
    return refusedBy(WebAssembly.compileStreaming(response), from)
  }
  let bytes: ArrayBuffer
  try {
    bytes = await response.arrayBuffer()
  } catch (cause) {
    throw unavailable(`cannot read ${from}: ${text(cause)}`, cause)
  }
  return compileBytes(bytes, from)
}

async function compileBytes(given: ArrayBuffer | ArrayBufferView, from: string): Promise<WebAssembly.Module> {
  let bytes: Uint8Array
  try {
    bytes = ArrayBuffer.isView(given) ? new Uint8Array(given.buffer, given.byteOffset, given.byteLength) : new Uint8Array(given)
  } catch (cause) {
    throw unavailable(`${from} cannot be read: ${text(cause)}`, cause)
  }
  if (!MAGIC.every((byte, at) => bytes[at] === byte)) throw unavailable(notWasm(bytes.subarray(0, 16), from))
  return refusedBy(WebAssembly.compile(bytes as BufferSource), from)
}

function notWasm(head: Uint8Array, from: string): string {
  if (head.length === 0) return `${from} is empty where the engine's wasm should be`
  if (head.includes(LESS_THAN)) {
    // Where Vite up to 7 keeps the dependencies that it has optimised, which nothing is copied to.
    const hint = from.includes("/deps/") ? 'put "alkstore-wasm" into optimizeDeps.exclude of Vite' : "copy it there"
    return `${from} is HTML, not wasm: the server answers with a page where engine.wasm should be; ${hint}`
  }
  return `${from} is not wasm: it does not begin with the wasm magic number`
}

async function refusedBy(compiling: Promise<WebAssembly.Module>, from: string): Promise<WebAssembly.Module> {
  try {
    return await compiling
  } catch (cause) {
    throw refused(from, cause)
  }
}

function refused(from: string, cause: unknown): AlkstoreError {
  return unavailable(
    `WebAssembly refused ${from}: ${text(cause)}. Under a Content-Security-Policy, script-src needs ` +
      "'wasm-unsafe-eval'; where code generation is disallowed, pass init of alkstore-wasm/slim a module that the " +
      "platform has compiled",
    cause
  )
}

// Shortened: what to do stands behind it.
function text(cause: unknown): string {
  return (cause instanceof Error ? cause.message : String(cause)).slice(0, CAUSE_MAX)
}

function unavailable(message: string, cause?: unknown): AlkstoreError {
  return new AlkstoreError("Unavailable", message, cause === undefined ? undefined : { cause })
}
