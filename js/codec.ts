// Payloads, in and out: copied as structured clone copies them, so that nobody shares an object with the queue.

import { show } from "./arguments.js"
import { AlkstoreError } from "./errors.js"
import { copyGiven, copyKept, isOwnCopy, NOT_PLAIN } from "./plain-data.js"

/**
 * A copy that the queue keeps. Throws `Codec` for what structured clone cannot copy.
 *
 * Where Proxies can be told, a tree of plain data is copied here, at a fraction of the cost; see plain-data.ts.
 */
export function copyIn(payload: unknown): unknown {
  if (isOwnCopy(payload)) return payload
  const copy = copyGiven(payload as object)
  return copy === NOT_PLAIN ? clone(payload) : copy
}

/**
 * A fresh copy of what the queue keeps. That is such a copy itself, so it holds no getter, no Proxy and no class: a tree
 * of plain objects and arrays is copied here, and everything else by structured clone.
 */
export function copyOut<P>(kept: P): P {
  if (isOwnCopy(kept)) return kept
  const copy = copyKept(kept as object)
  return copy === NOT_PLAIN ? (clone(kept) as P) : (copy as P)
}

function clone(value: unknown): unknown {
  const copy = cloner()
  if (copy === null) {
    throw new AlkstoreError("Codec", "the payload cannot be copied: this runtime has no structuredClone")
  }
  try {
    return copy(value)
  } catch (cause) {
    throw notCopied("copied by structured clone", value, copy, cause)
  }
}

// Looked up at each call. Jest's jsdom environment takes it away, and Node's own serializer, which is the same
// algorithm, is asked of the process: a bundler must not find a builtin here.
function cloner(): Copy | null {
  if (typeof structuredClone === "function") return structuredClone
  const v8 = globalThis.process?.getBuiltinModule?.("node:v8")
  return v8 === undefined ? null : (value) => v8.deserialize(v8.serialize(value))
}

/** The error for a payload that `copy` has thrown `cause` for. It names the part that is at fault, if one alone is. */
export function notCopied(
  how: string,
  payload: unknown,
  copy: Copy,
  cause: unknown
): AlkstoreError {
  const culprit = findCulprit(payload, copy, cause) ?? show(cause)
  return new AlkstoreError("Codec", `the payload cannot be ${how}: ${culprit}`, { cause })
}

type Copy = (part: unknown) => unknown
type Part = [path: string, read: () => unknown]

/** How many values are looked at in search of the one at fault. */
const LOOKED_AT_MAX = 100_000

// Looks where structured clone looks, each object once. What is no container is tried alone.
function findCulprit(payload: unknown, copy: Copy, cause: unknown): string | null {
  const seen = new Set<unknown>()
  const todo: Part[] = [["payload", () => payload]]
  for (let next = todo.pop(); next !== undefined && seen.size < LOOKED_AT_MAX; next = todo.pop()) {
    const [path, read] = next
    let part: unknown
    try {
      part = read()
    } catch (thrown) {
      return `${path} cannot be read: ${show(thrown)}`
    }
    if (isOwnCopy(part) || seen.has(part)) continue
    seen.add(part)
    try {
      const inside = partsOf(path, part)
      if (inside.length === 0) copy(part)
      for (const child of inside.reverse()) todo.push(child)
    } catch (thrown) {
      return `${path} is ${kindOf(part)}${ArrayBuffer.isView(part) ? ` (${show(thrown)})` : ""}`
    }
  }
  // Nothing in it is at fault by itself.
  if (cause instanceof RangeError) return "payload is nested too deeply for what is left of the stack"
  return findProxy(payload, copy, seen.size)
}

/** How many objects may be copied in search of one. */
const COPIES_MAX = 1_000_000

// A container that cannot be copied though all that is in it can: looked for from the top, since each object is copied
// with all that is in it.
function findProxy(payload: unknown, copy: Copy, size: number): string | null {
  const seen = new Set<unknown>()
  let [path, part]: [string, unknown] = ["payload", payload]
  for (let level = 0; level * size < COPIES_MAX; level++) {
    seen.add(part)
    const culprit = firstRefused(partsOf(path, part), copy)
    if (culprit === null) return `${path} is a Proxy`
    ;[path, part] = [culprit[0], culprit[1]()]
    // Round and round: any of them may be the one.
    if (seen.has(part)) return null
  }
  return null
}

function firstRefused(parts: Part[], copy: Copy): Part | null {
  const isRefused = (some: Part[]): boolean => {
    try {
      copy(some.map(([, read]) => read()))
      return false
    } catch {
      return true
    }
  }
  if (!isRefused(parts)) return null
  while (parts.length > 1) {
    const half = parts.slice(0, parts.length / 2)
    parts = isRefused(half) ? half : parts.slice(half.length)
  }
  return parts[0] ?? null
}

function partsOf(path: string, part: unknown): Part[] {
  if (part instanceof Map) {
    return [...part].flatMap(([key, value]): Part[] => [
      [`a key of ${path}`, () => key],
      [`${path}.get(${show(key)})`, () => value]
    ])
  }
  if (part instanceof Set) return [...part].map((value) => [`a value in ${path}`, () => value])
  if (!["[object Object]", "[object Array]"].includes(Object.prototype.toString.call(part))) return []
  const step = (key: string): string => {
    if (Array.isArray(part) && /^\d+$/.test(key)) return `[${key}]`
    return isIdentifier(key) ? `.${key}` : `[${JSON.stringify(key)}]`
  }
  return Object.keys(part as object).map((key) => [path + step(key), () => (part as Record<string, unknown>)[key]])
}

// Made when it is needed: for a property of Unicode engines load its tables, a tenth of a cold start.
let identifier: RegExp | null = null
const isIdentifier = (key: string): boolean => {
  identifier ??= new RegExp("^[\\p{ID_Start}$_][\\p{ID_Continue}$]*$", "u")
  return identifier.test(key)
}

function kindOf(part: unknown): string {
  if (typeof part !== "object") return `a ${typeof part}`
  try {
    const kind = Object.prototype.toString.call(part).slice("[object ".length, -1)
    // One alone that has nothing in it.
    if (kind === "Array") return "a Proxy"
    return kind === "Object" ? "an object that cannot be read" : `${/^[AEIO]/.test(kind) ? "an" : "a"} ${kind}`
  } catch {
    return "an object that cannot be read"
  }
}
