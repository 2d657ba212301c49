// What is handed out is what structured clone would have made of what is kept: for trees of plain data, which are copied
// by hand, as for everything else.

import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { copyOut } from "../../js/codec.js"

/** Everything that can be told of a value from outside, sharing and cycles included, as text. */
function shape(value: unknown, seen = new Map<object, number>()): string {
  if (typeof value !== "object" || value === null) return Object.is(value, -0) ? "-0" : `${typeof value} ${String(value)}`
  const known = seen.get(value)
  if (known !== undefined) return `#${known}`
  seen.set(value, seen.size)
  const kind = Object.prototype.toString.call(value)
  const owner = Object.getPrototypeOf(value)?.constructor?.name ?? "none"
  const inside =
    value instanceof Map
      ? [...value].map(([k, v]) => `${shape(k, seen)}=>${shape(v, seen)}`)
      : value instanceof Set
        ? [...value].map((v) => shape(v, seen))
        : value instanceof Date
          ? [String(value.getTime())]
          : []
  const own = Reflect.ownKeys(value).map((key) => {
    const { value: child, enumerable } = Object.getOwnPropertyDescriptor(value, key)!
    return `${String(key)}${enumerable ? "" : "!"}:${shape(child, seen)}`
  })
  return `${kind} ${owner} ${Array.isArray(value) ? value.length : ""}{${[...inside, ...own].join(",")}}`
}

function check(payload: unknown): void {
  const kept = structuredClone(payload)
  const before = shape(kept)
  const copy = copyOut(kept)
  expect(shape(copy)).toBe(shape(structuredClone(kept)))
  expect(shape(kept), "what is kept is not touched").toBe(before)
  if (typeof kept === "object" && kept !== null) expect(copy).not.toBe(kept)
}

const shared = { n: 1 }
const cyclic: Record<string, unknown> = { list: [] }
cyclic.self = cyclic
const sparse = [1, , 3] // eslint-disable-line no-sparse-arrays
const named = Object.assign([1, 2], { extra: true })
const holeAndName = Object.assign([1, , 3], { extra: true }) // as many keys as its length says

const CASES: Record<string, unknown> = {
  primitives: [undefined, null, true, -0, Number.NaN, "text", 10n],
  "an empty object and an empty list": [{}, []],
  "a tree": { a: { b: [{ c: [1, [2, [3]]] }] } },
  "an object in two places": [shared, { again: shared }],
  "a list in two places": ((list) => [list, list])([1]),
  "a cycle": cyclic,
  "a list with a hole": sparse,
  "a list with a named property": named,
  "a list with a hole and a named property": holeAndName,
  "a key __proto__": JSON.parse('{"__proto__": {"polluted": true}, "x": {"__proto__": [1]}}'),
  "keys that look like those of Object": { constructor: { prototype: 1 }, hasOwnProperty: [], toString: {} },
  "keys that look like indices": { 2: "b", 1: "a", x: {} },
  "a Date, a Map, a Set": [new Date(5), new Map([[shared, { v: 1 }]]), new Set([[1]])],
  "typed arrays on one buffer": ((buffer) => [new Uint8Array(buffer), new Uint16Array(buffer, 2)])(new ArrayBuffer(8)),
  "an Error and a RegExp": [new RangeError("x"), /a+/gi],
  "boxed primitives": [Object("s"), Object(1), Object(true), Object(1n)],
  "a class instance": new (class Point {
    x = { y: 1 }
  })()
}

describe("a payload that is handed out", () => {
  for (const [name, payload] of Object.entries(CASES)) test(`is as structured clone has it: ${name}`, () => check(payload))

  test("is as structured clone has it, whatever is in it", () => {
    const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true,
      withSparseArray: true, withNullPrototype: true, withObjectString: true })
    fc.assert(fc.property(anything, check), { numRuns: 2_000 })
  })

  test("is as structured clone has it, whatever in it is shared", () => {
    const graphs = fc.array(fc.tuple(fc.boolean(), fc.array(fc.tuple(fc.string({ maxLength: 2 }), fc.nat(7)), { maxLength: 4 })), {
      minLength: 1,
      maxLength: 8
    })
    const build = (spec: [boolean, [string, number][]][]): unknown => {
      const nodes = spec.map(([isArray]): any => (isArray ? [] : {}))
      spec.forEach(([isArray, edges], at) => {
        for (const [key, to] of edges) {
          const child = to < nodes.length ? nodes[to] : to
          if (isArray) nodes[at].push(child)
          else Object.defineProperty(nodes[at], key, { value: child, enumerable: true, configurable: true, writable: true })
        }
      })
      return nodes[0]
    }
    fc.assert(fc.property(graphs, (spec) => check(build(spec as [boolean, [string, number][]][]))), { numRuns: 2_000 })
  })
})
