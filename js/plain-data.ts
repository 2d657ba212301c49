// Copies of plain data, as structured clone would make them and at a fraction of its cost. What is not a tree of plain
// objects, arrays, Dates and primitives (a class instance, a getter, an object in two places) is `NOT_PLAIN`: whoever
// asked hands the whole of it to structured clone, which then is the first to run any code of the user's.

/** It takes structured clone. */
export const NOT_PLAIN = Symbol("not plain data")

/** What is deeper is left to structured clone, which knows what the stack holds. */
const DEPTH_MAX = 200

/** Of a larger object structured clone is quicker than a look at each property of a user's. */
const PROPERTIES_MAX = 16

/** Of a longer array it is. */
const ELEMENTS_MAX = 8

/** What needs no copying. */
export function isOwnCopy(value: unknown): boolean {
  return value === null || (typeof value !== "object" && typeof value !== "function" && typeof value !== "symbol")
}

/** A copy of what was copied before, by these functions or by structured clone: it has no getter, Proxy or symbol. */
export function copyKept(kept: object, above: Met | null = null, depth = 0): unknown {
  if (depth > DEPTH_MAX) return NOT_PLAIN
  const prototype: unknown = Object.getPrototypeOf(kept)
  if (prototype === Array.prototype) return copyKeptList(kept as unknown[], above, depth)
  if (prototype !== Object.prototype) return prototype === Date.prototype ? copyDate(kept) : NOT_PLAIN
  const copy = { ...kept } as Record<string, unknown>
  let met = above
  for (const key in copy) {
    const child = copy[key]
    if (isOwnCopy(child) || !Object.hasOwn(copy, key)) continue
    met ??= new Met(kept)
    const childCopy = met.isAgain(child as object) ? NOT_PLAIN : copyKept(child as object, met, depth + 1)
    if (childCopy === NOT_PLAIN) return NOT_PLAIN
    // The key is the copy's own by now, `__proto__` too: this sets a property, never a prototype.
    copy[key] = childCopy
  }
  return copy
}

function copyKeptList(kept: unknown[], above: Met | null, depth: number): unknown {
  if (!isDense(kept)) return NOT_PLAIN
  const copy = kept.slice()
  let met = above
  for (let at = 0; at < copy.length; at++) {
    const child = copy[at]
    if (isOwnCopy(child)) continue
    met ??= new Met(kept)
    const childCopy = met.isAgain(child as object) ? NOT_PLAIN : copyKept(child as object, met, depth + 1)
    if (childCopy === NOT_PLAIN) return NOT_PLAIN
    copy[at] = childCopy
  }
  return copy
}

/**
 * A copy of what a user gave. Nothing of the user's runs: Proxies are told by the runtime, without which nothing is
 * plain, and a property's descriptor is looked at before its value.
 */
export function copyGiven(given: object): unknown {
  types ??= findTypes()
  try {
    return types === null || typeof given !== "object" ? NOT_PLAIN : copyOwn(given, null, 0, types)
  } catch {
    // The stack has ended, or it only says that it is a Date.
    return NOT_PLAIN
  }
}

function copyOwn(given: object, above: Met | null, depth: number, types: Types): unknown {
  if (depth > DEPTH_MAX || types.isProxy(given)) return NOT_PLAIN
  const prototype: unknown = Object.getPrototypeOf(given)
  if (Array.isArray(given)) return prototype === Array.prototype ? copyOwnList(given, above, depth, types) : NOT_PLAIN
  if (prototype !== Object.prototype) return prototype === Date.prototype ? copyDate(given) : NOT_PLAIN
  const keys = Object.keys(given)
  // With nothing in it, it may be a Map or the like whose prototype was replaced.
  if (keys.length === 0 || keys.length > PROPERTIES_MAX || types.isArgumentsObject(given)) return NOT_PLAIN
  const copy: Record<string, unknown> = {}
  let met = above
  for (const key of keys) {
    // What all objects inherit under this name may have a setter.
    if (key in Object.prototype) return NOT_PLAIN
    let value = valueOf(given, key)
    if (!isOwnCopy(value)) value = copyInside(value, (met ??= new Met(given)), depth, types)
    if (value === NOT_PLAIN) return NOT_PLAIN
    copy[key] = value
  }
  return copy
}

function copyOwnList(given: unknown[], above: Met | null, depth: number, types: Types): unknown {
  if (given.length > ELEMENTS_MAX || !isDense(given)) return NOT_PLAIN
  const copy: unknown[] = []
  let met = above
  for (let at = 0; at < given.length; at++) {
    if (at in Array.prototype) return NOT_PLAIN
    let value = valueOf(given, at)
    if (!isOwnCopy(value)) value = copyInside(value, (met ??= new Met(given)), depth, types)
    if (value === NOT_PLAIN) return NOT_PLAIN
    copy.push(value)
  }
  return copy
}

/** A property's value, unless it has a getter or a setter: nothing of the user's runs. */
function valueOf(given: object, key: string | number): unknown {
  const { value, get, set } = Object.getOwnPropertyDescriptor(given, key) as PropertyDescriptor
  return get === undefined && set === undefined ? value : NOT_PLAIN
}

function copyInside(value: unknown, met: Met, depth: number, types: Types): unknown {
  const isNew = typeof value === "object" && !met.isAgain(value as object)
  return isNew ? copyOwn(value as object, met, depth + 1, types) : NOT_PLAIN
}

// No hole, no named property. Indices come first among the keys: if the last key is one, all are.
function isDense(list: unknown[]): boolean {
  const keys = Object.keys(list)
  return keys.length === list.length && (list.length === 0 || keys[list.length - 1] === String(list.length - 1))
}

/** How many objects are looked through one by one, which is quicker while they are few. */
const LISTED_MAX = 16

/**
 * The objects above and beside one: what comes again is shared, or a cycle, and must stay so in a copy. Made once there is
 * one inside another: most payloads are flat.
 */
class Met {
  readonly #few: object[]
  #many: Set<object> | null = null

  constructor(first: object) {
    this.#few = [first]
  }

  isAgain(object: object): boolean {
    if (this.#many === null) {
      if (this.#few.includes(object)) return true
      if (this.#few.length < LISTED_MAX) {
        this.#few.push(object)
        return false
      }
      this.#many = new Set(this.#few)
    }
    if (this.#many.has(object)) return true
    this.#many.add(object)
    return false
  }
}

/** `Date.prototype` of what structured clone makes; a fake clock's may be another. */
let datePrototype: unknown

// Throws for what is no Date.
function copyDate(date: object): unknown {
  datePrototype ??= typeof structuredClone === "function" ? Object.getPrototypeOf(structuredClone(new Date(0))) : null
  return Date.prototype === datePrototype ? new Date(Date.prototype.getTime.call(date)) : NOT_PLAIN
}

/** What only the runtime can tell. */
interface Types {
  isProxy(value: unknown): boolean
  isArgumentsObject(value: unknown): boolean
}

/** Looked for at the first payload; `undefined` before that. */
let types: Types | null | undefined

// Node's own, asked of the process: a bundler must not find a builtin here.
function findTypes(): Types | null {
  try {
    const found: Types | undefined = globalThis.process?.getBuiltinModule?.("node:util")?.types
    // Elsewhere what stands in for it may not know.
    return found?.isProxy(new Proxy({}, {})) && !found.isProxy({}) && typeof found.isArgumentsObject === "function" ? found : null
  } catch {
    return null
  }
}
