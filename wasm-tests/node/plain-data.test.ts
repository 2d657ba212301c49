// What is copied without structured clone is copied as structured clone would: the same copies, the same errors, and the
// same code of the user's run in the same order.

import { runInNewContext } from "node:vm"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { copyIn, copyOut } from "../../js/codec.js"
import { AlkstoreError } from "../../js/errors.js"
import { copyGiven, NOT_PLAIN } from "../../js/plain-data.js"

/** Everything that can be told of a value from outside, sharing and cycles included, as text. */
function shape(value: unknown, seen = new Map<object, number>()): string {
  if (typeof value !== "object" || value === null) return Object.is(value, -0) ? "-0" : `${typeof value} ${String(value)}`
  const known = seen.get(value)
  if (known !== undefined) return `#${known}`
  seen.set(value, seen.size)
  const owner: unknown = Object.getPrototypeOf(value)
  const inside =
    value instanceof Map
      ? [...value].map(([k, v]) => `${shape(k, seen)}=>${shape(v, seen)}`)
      : value instanceof Set
        ? [...value].map((v) => shape(v, seen))
        : value instanceof Date || value instanceof RegExp || value instanceof Number || value instanceof String
          ? [`${value instanceof Date ? value.getTime() : value.toString()}`]
          : []
  const own = Reflect.ownKeys(value).map((key) => {
    const { value: child, writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(value, key)!
    const text = value instanceof Error && key === "stack" ? "" : shape(child, seen)
    return `${String(key)} ${writable}${enumerable}${configurable}:${text}`
  })
  return `${PROTOTYPES.get(owner) ?? "?"} ${Object.isExtensible(value)} {${[...inside, ...own].join(",")}}`
}

const PROTOTYPES = new Map<unknown, string>(
  [Object, Array, Date, Map, Set, RegExp, Error, TypeError, RangeError, Number, String, Boolean, BigInt, ArrayBuffer,
    Uint8Array, Float64Array].map(({ prototype, name }) => [prototype, name])
)

/** What a copy came to: its shape, or the error. */
function outcome(copy: () => unknown): string {
  try {
    return shape(copy())
  } catch (error) {
    const cause = error instanceof AlkstoreError ? error.cause : error
    return `${(cause as Error).constructor.name} ${(cause as Error).name}: ${(cause as Error).message}`
  }
}

/** A value, made anew at each call, that tells `log` what of it is run. */
type Make = (log: string[]) => unknown

function check(make: Make): void {
  const [ours, theirs]: [string[], string[]] = [[], []]
  const given = make(ours)
  const copied = outcome(() => copyIn(given))
  const cloned = outcome(() => structuredClone(make(theirs)))
  expect(copied).toBe(cloned)
  // A message that names a culprit has looked at the payload again.
  if (!copied.includes("Error")) expect(ours).toEqual(theirs)
  else return
  const kept = copyIn(make([]))
  expect(outcome(() => copyOut(kept))).toBe(cloned)
  if (typeof kept === "object" && kept !== null) expect(copyOut(kept)).not.toBe(kept)
}

const shared = (): unknown => {
  const one = { n: 1 }
  return { a: one, b: [one] }
}
const cycle = (): unknown => {
  const top: Record<string, unknown> = { list: [] }
  ;(top["list"] as unknown[]).push(top)
  return top
}
const noting = (log: string[], name: string, value: unknown = 1): PropertyDescriptor => ({
  get: () => (log.push(name), value),
  enumerable: true,
  configurable: true
})
const watched = (log: string[], target: object): object =>
  new Proxy(target, {
    get: (at, key) => (log.push(`get ${String(key)}`), Reflect.get(at, key)),
    ownKeys: (at) => (log.push("ownKeys"), Reflect.ownKeys(at)),
    getPrototypeOf: (at) => (log.push("getPrototypeOf"), Reflect.getPrototypeOf(at)),
    getOwnPropertyDescriptor: (at, key) => (log.push(`own ${String(key)}`), Reflect.getOwnPropertyDescriptor(at, key))
  })
class Point {
  x = 1
}
class List extends Array<unknown> {}

/** One of everything that is easily taken for plain data. */
const NASTY: Record<string, Make> = {
  "primitives": () => [undefined, null, true, -0, Number.NaN, Infinity, "text", "\ud800", 10n],
  "a plain object": () => ({ id: 1, to: "a", nested: { list: [1, [2]], none: undefined } }),
  "an empty object": () => ({}),
  "an empty array": () => [],
  "a Date": () => ({ at: new Date(5), odd: new Date(Number.NaN) }),
  "a Date with a property": () => Object.assign(new Date(5), { extra: 1 }),
  "a Date's heir": () => new (class Later extends Date {})(5),
  "something that says it is a Date": () => Object.create(Date.prototype) as object,
  "an object in two places": shared,
  "a Date in two places": () => ((date) => [date, date])(new Date(5)),
  "a cycle": cycle,
  "a getter": (log) => Object.defineProperties({ b: 1 }, { a: noting(log, "a"), c: noting(log, "c", {}) }),
  "getters in two objects": (log) => ({
    one: Object.defineProperty({ b: 1 }, "a", noting(log, "one.a")),
    two: Object.defineProperty({ b: 1 }, "a", noting(log, "two.a")),
    last: new Map()
  }),
  "a getter that throws": () => ({ fine: 1, get odd() { throw new RangeError("not today") } }),
  "a getter that changes what comes after it": () => ({ get a() { delete (this as { b?: number }).b; return 1 }, b: 2 }),
  "a setter": () => Object.defineProperty({ a: 1 }, "b", { set() {}, enumerable: true }),
  "a getter of an array": (log) => Object.defineProperty([1, 2], 1, noting(log, "1")),
  "an enumerable symbol": () => ({ [Symbol("s")]: 1, a: 2 }),
  "a symbol with a getter": (log) => Object.defineProperty({ a: 1 }, Symbol.toStringTag, noting(log, "tag", "Odd")),
  "a property that is not enumerable": () => Object.defineProperty({ a: 1 }, "b", { value: 2 }),
  "a getter that is not enumerable": (log) => Object.defineProperty({ a: 1 }, "b", { get: () => log.push("b") }),
  "a sparse array": () => Object.assign(Array(3), { 1: "a" }),
  "a sparse array with a property": () => Object.assign(Array(3), { 0: 1, 1: 2, extra: true }),
  "an array with a property": () => Object.assign([1, 2], { extra: true }),
  "an array with a hidden constructor": (log) => Object.defineProperty([1], "constructor", { get: () => log.push("species") }),
  "an array's heir": () => List.from([1, 2]),
  "a long array": () => Array.from({ length: 300 }, (_, n) => ({ n })),
  "a wide object": () => Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`key${n}`, n])),
  "a deep object": () => Array.from({ length: 500 }).reduce<object>((inner) => ({ inner }), {}),
  "a key __proto__": () => JSON.parse('{"__proto__": {"polluted": true}, "x": {"__proto__": [1]}}') as unknown,
  "keys of Object.prototype": () => ({ constructor: 1, toString: { a: 1 }, hasOwnProperty: [] }),
  "keys that are indices": () => ({ 2: "b", 1: "a", x: "c", "-1": "d" }),
  "frozen": () => Object.freeze({ list: Object.freeze([1]), a: Object.freeze({ b: 1 }) }),
  "without a prototype": () => Object.assign(Object.create(null) as object, { a: 1 }),
  "with a prototype of its own": () => Object.assign(Object.create({ inherited: 1 }) as object, { a: 1 }),
  "a class instance": () => ({ at: new Point() }),
  "a Map without its prototype": () => Object.setPrototypeOf(new Map([[1, 2]]), Object.prototype) as object,
  "a RegExp without its prototype": () => Object.setPrototypeOf(/a/, Object.prototype) as object,
  "a Date without its prototype": () => Object.setPrototypeOf(new Date(5), Object.prototype) as object,
  "an array without its prototype": () => Object.setPrototypeOf([1, 2], Object.prototype) as object,
  "an object that says it is an array": () => Object.assign(Object.create(Array.prototype) as object, { 0: 1, length: 1 }),
  "a function without its prototype": () => Object.setPrototypeOf(Object.assign(() => 1, { a: 1 }), Object.prototype) as object,
  "arguments": () => (function (..._: unknown[]) { return arguments })(1, 2),
  "a Proxy": (log) => watched(log, { a: 1 }),
  "a Proxy of an array": (log) => ({ list: watched(log, [1]) }),
  "a revoked Proxy": () => ((pair) => (pair.revoke(), { a: 1, inner: pair.proxy }))(Proxy.revocable({}, {})),
  "a prototype that is a Proxy": (log) => Object.setPrototypeOf({ a: 1 }, watched(log, {})) as object,
  "an object of another realm": () => ({ a: runInNewContext(`({ list: [1], at: new Date(5) })`) as object }),
  "an array of another realm": () => runInNewContext(`[1, { a: 1 }]`) as object,
  "boxed primitives": () => [Object(1), Object("s"), Object(true), Object(10n)],
  "a boxed symbol": () => [Object(Symbol("s"))],
  "an error": () => ({ a: new TypeError("odd"), b: Object.assign(new Error("x"), { code: 1 }) }),
  "a function": () => ({ a: 1, f() {} }),
  "a symbol": () => ({ a: [Symbol("s")] }),
  "a Promise": () => ({ a: Promise.resolve(1) }),
  "a WeakMap": () => [new WeakMap()],
  "Maps and Sets": () => new Map<unknown, unknown>([["a", new Set([{ b: 1 }])], [{ k: 1 }, [1]]]),
  "bytes": () => ({ bytes: new Uint8Array([1, 2]), buffer: new ArrayBuffer(2) }),
  "a module": () => Math
}

describe("a payload is copied as structured clone copies it", () => {
  for (const [name, make] of Object.entries(NASTY)) test(name, () => check(make))

  test("any of it anywhere in a tree", () => {
    const nasty = fc.constantFrom(...Object.values(NASTY))
    const leaf = fc.oneof(nasty, fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true, maxDepth: 1 })
      .map((value): Make => () => structuredClone(value)))
    const { tree } = fc.letrec<{ tree: Make }>((tie) => ({
      tree: fc.oneof({ maxDepth: 4, withCrossShrink: true }, leaf,
        fc.array(tie("tree"), { maxLength: 5 }).map((parts): Make => (log) => parts.map((part) => part(log))),
        fc.dictionary(fc.oneof(fc.string({ maxLength: 3 }), fc.constantFrom("__proto__", "constructor", "0")), tie("tree"),
          { maxKeys: 5 }).map((parts): Make => (log) =>
          Object.fromEntries(Object.entries(parts).map(([key, part]) => [key, part(log)]))))
    }))
    fc.assert(fc.property(tree, check), { numRuns: 400, seed: 5 })
  })

  test("whatever Object.prototype and Array.prototype have been given", () => {
    const spoilt: [object, string | number][] = [[Object.prototype, "to"], [Array.prototype, 0], [Object.prototype, 1]]
    let called = 0
    const set = (): void => void (called += 1)
    for (const [prototype, key] of spoilt) Object.defineProperty(prototype, key, { set, configurable: true })
    const copies = [copyIn({ to: 1, b: 2 }), copyIn([3, 4])]
    for (const [prototype, key] of spoilt) delete (prototype as Record<string | number, unknown>)[key]
    expect(copies).toEqual([{ to: 1, b: 2 }, [3, 4]])
    expect(called).toBe(0)
  })

  test("also where the stack ends", () => {
    const dive = (): unknown => {
      try {
        return dive()
      } catch {
        return outcome(() => copyIn({ a: { b: 1 } }))
      }
    }
    expect(["RangeError RangeError: Maximum call stack size exceeded", shape({ a: { b: 1 } })]).toContain(dive())
  })
})

test.each<[what: string, plain: object]>([
  ["a small object", { id: 1, to: "somebody@example.org", subject: "Your order is ready" }],
  ["a tree", { user: { name: "a" }, items: [{ n: 1 }, { n: 2 }], tags: ["x"], none: null }],
  ["a Date", { at: new Date(5) }],
  ["an empty array", { list: [] }]
])("%s is copied without it", (_, plain) => {
  const copy = copyGiven(plain)
  expect(copy).not.toBe(NOT_PLAIN)
  expect(copy).toStrictEqual(plain)
})
