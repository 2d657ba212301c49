// Where a payload goes, and which may not go anywhere. These are copies that structured clone has made: nothing in them
// runs code when it is looked at.

/**
 * What a payload may measure to lie in its job's row: characters, and for each value in it NODE_COST. A row is read
 * whole whenever anything of its job is, up to 64 at a time, and is written anew at each step of its life.
 */
const INLINE_MAX = 4_096
const NODE_COST = 16

/** Whether it is small, and of plain objects, arrays, Dates and primitives. */
export function isInline(payload: unknown): boolean {
  let left = INLINE_MAX
  const todo = [payload]
  while (todo.length > 0) {
    const value = todo.pop()
    left -= NODE_COST
    if (typeof value === "string") left -= value.length
    else if (typeof value === "bigint") return false
    else if (typeof value === "object" && value !== null && !(value instanceof Date)) {
      const prototype: unknown = Object.getPrototypeOf(value)
      if (prototype !== Object.prototype && prototype !== Array.prototype) return false
      for (const key of Object.keys(value)) {
        left -= key.length
        todo.push((value as Record<string, unknown>)[key])
      }
    }
    if (left - todo.length * NODE_COST < 0) return false
  }
  return true
}

const LANGUAGE = [
  "Array", "ArrayBuffer", "BigInt", "Boolean", "Date", "Error", "Map", "Number", "Object", "RegExp", "Set", "String"
]

/**
 * Whether all in it is of the language, and can be stored for sure. What a platform adds may be copied but not stored.
 */
export function isOfTheLanguage(payload: unknown): boolean {
  const seen = new Set<unknown>()
  const todo = [payload]
  while (todo.length > 0) {
    const value = todo.pop()
    if (typeof value !== "object" || value === null || seen.has(value)) continue
    seen.add(value)
    const inner = ArrayBuffer.isView(value) ? value.buffer : value
    const kind = Object.prototype.toString.call(inner).slice("[object ".length, -1)
    if (!LANGUAGE.includes(kind)) return false
    if (inner !== value || kind === "ArrayBuffer" || kind === "String") continue
    if (value instanceof Map) for (const [key, item] of value) todo.push(key, item)
    if (value instanceof Set) for (const item of value) todo.push(item)
    // No key of its own that can be listed.
    if (kind === "Error") todo.push((value as Error).cause)
    for (const key of Object.keys(value)) todo.push((value as Record<string, unknown>)[key])
  }
  return true
}
