import { describe, expect, test } from "vitest"
import { rejection, start, startQueue, claim, must } from "./support.js"
import { seeded } from "./seeded.js"
import type { Random } from "./seeded.js"

/** What comes back from a store: once by a read, once by a claim. */
async function roundTrips(payload: unknown): Promise<unknown[]> {
  const { queue } = await startQueue()
  const id = await queue.enqueue(payload)
  return [must(await queue.get(id)).payload, (await claim(queue)).payload]
}

class Point {
  x = 1
  get twice(): number {
    return this.x * 2
  }
}

const withKey = (): unknown => JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1, "hasOwnProperty": 2}')

const KINDS: [what: string, value: unknown][] = [
  ["a plain object", { id: 1, to: "a@example.org", tags: ["x", "y"], nested: { deep: [null, undefined, true] } }],
  ["an empty object", {}],
  ["an empty array", []],
  ["odd numbers", [0, -0, NaN, Infinity, -Infinity, Number.MAX_SAFE_INTEGER, 5e-324, 1e308, 0.1 + 0.2]],
  ["odd strings", ["", "\u0000", "\ud800", "\u{1f600}", "x".repeat(100_000)]],
  ["bigints", [0n, -1n, 2n ** 200n]],
  ["undefined as a property", { a: undefined, b: [undefined] }],
  ["a Date", new Date(5)],
  ["an invalid Date", new Date(NaN)],
  ["a RegExp", /a(b)?/giu],
  ["a Map", new Map<unknown, unknown>([["a", 1], [{ key: 1 }, new Map([[1, 2]])], [NaN, NaN]])],
  ["a Set", new Set<unknown>([1, "a", { b: 2 }, new Set([3])])],
  ["boxed primitives", [new Number(1), new String("s"), new Boolean(false), Object(1n)]],
  ["an ArrayBuffer", new Uint8Array([1, 2, 3]).buffer],
  ["typed arrays", [
    new Uint8Array([1, 2]), new Int8Array([-1]), new Uint8ClampedArray([300]), new Int16Array([-2]),
    new Uint16Array([2]), new Int32Array([-3]),
    new Uint32Array([3]), new Float32Array([1.5]), new Float64Array([NaN, -0]), new BigInt64Array([-1n]),
    new BigUint64Array([1n]),
  ]],
  ["a view into a buffer", new Uint8Array(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2)],
  ["a DataView", new DataView(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2)],
  ["errors", [new Error("boom"), new TypeError("odd"), new RangeError("far")]],
  ["a sparse array", Object.assign(Array(5), { 1: "a", 3: undefined })],
  ["an array with properties", Object.assign([1, 2], { extra: "kept" })],
  ["a class instance", new Point()],
  ["getters", { get to() { return "computed" } }],
  ["symbol keys", { [Symbol("s")]: 1, a: 2 }],
  ["hidden properties", Object.defineProperty({ a: 1 }, "hidden", { value: 2, enumerable: false })],
  ["an object without a prototype", Object.assign(Object.create(null) as object, { a: 1 })],
  ["inherited properties", Object.create({ inherited: 1 }, { own: { value: 2, enumerable: true } })],
  ["keys named like an object's own machinery", withKey()],
  ["numeric keys", { 2: "b", 1: "a", x: "c", "-1": "d" }],
  ["a toJSON that is not data", { toJSON: undefined, valueOf: 1 }],
  ["deep nesting", Array.from({ length: 500 }).reduce<object>((inner) => ({ inner }), {})],
  ["a long array", Array.from({ length: 3_000 }, (_, i) => ({ i }))],
  ["a frozen object", Object.freeze({ list: Object.freeze([1]) })],
  ["arguments-like things", { length: 2, 0: "a", 1: "b" }],
]

describe("payloads come back as structured clone copies them", () => {
  test.each(KINDS)("%s", async (_, value) => {
    const expected = structuredClone(value)
    for (const actual of await roundTrips(value)) {
      expect(actual).toStrictEqual(expected)
      expect(linesOf(actual)).toEqual(linesOf(expected))
    }
  })

  test.each(KINDS)("%s: through an outbox, a schedule and a transaction", async (_, value) => {
    const { store, clock } = await start()
    const expected = structuredClone(value)
    await store.outbox("mail").enqueue(value)
    await store.schedule("report", "@every 1s", "fired", value)
    await store.transaction(async (tx) => {
      const id = await tx.enqueue("staged", value)
      expect(must(await tx.get("staged", id)).payload).toStrictEqual(expected)
    })
    const stop = new AbortController()
    const run = store.runSchedules(stop.signal)
    await clock.advance("1s")
    stop.abort()
    await run
    for (const source of [store.outbox("mail"), store.queue("fired"), store.queue("staged")]) {
      expect(must((await source.list())[0]).payload).toStrictEqual(expected)
    }
  })

  test("cycles stay cycles", async () => {
    const cycle: Record<string, unknown> = { list: [] }
    cycle["self"] = cycle
    ;(cycle["list"] as unknown[]).push(cycle)
    for (const actual of (await roundTrips(cycle)) as (typeof cycle)[]) {
      expect(actual["self"]).toBe(actual)
      expect((actual["list"] as unknown[])[0]).toBe(actual)
      expect(actual).not.toBe(cycle)
    }
  })

  test("shared references stay shared, equal but different ones different", async () => {
    const shared = { n: 1 }
    const date = new Date(5)
    const payload = { a: shared, b: [shared], c: { n: 1 }, d: date, e: date, f: new Map([["x", shared]]) }
    for (const actual of (await roundTrips(payload)) as (typeof payload)[]) {
      expect(actual.a).toBe(actual.b[0])
      expect(actual.a).toBe(actual.f.get("x"))
      expect(actual.a).not.toBe(actual.c)
      expect(actual.d).toBe(actual.e)
    }
  })

  test("two views of one buffer still are", async () => {
    const { buffer } = new Uint8Array([1, 2, 3, 4])
    const payload = { bytes: new Uint8Array(buffer, 0, 2), rest: new Uint8Array(buffer, 2, 2) }
    for (const actual of (await roundTrips(payload)) as (typeof payload)[]) {
      expect(actual.bytes.buffer).toBe(actual.rest.buffer)
      expect([...actual.rest]).toEqual([3, 4])
    }
  })

  test("a megabyte of bytes comes back whole, and the sender's stays usable", async () => {
    const bytes = new Uint8Array(1 << 20).map((_, i) => i % 251)
    for (const actual of (await roundTrips(bytes)) as Uint8Array[]) {
      expect(actual).toHaveLength(1 << 20)
      expect(actual.every((byte, i) => byte === i % 251)).toBe(true)
    }
    expect(bytes).toHaveLength(1 << 20)
  })

  test("a Blob keeps its content and type", async () => {
    const payload = { file: new Blob(["hello"], { type: "text/plain" }) }
    for (const actual of (await roundTrips(payload)) as (typeof payload)[]) {
      expect(await actual.file.text()).toBe("hello")
      expect(actual.file.type).toBe("text/plain")
    }
  })

  test("a prototype is not polluted by a payload", async () => {
    for (const actual of await roundTrips(withKey())) {
      expect(Object.getPrototypeOf(actual)).toBe(Object.prototype)
      expect(Object.keys(actual as object)).toContain("__proto__")
      expect(({} as { polluted?: boolean }).polluted).toBe(undefined)
    }
  })

  test.each(Array.from({ length: 60 }, (_, i) => i + 1))("random data, seed %d", async (seed) => {
    const value = randomValue(seeded(seed), 4, [])
    const expected = linesOf(structuredClone(value))
    for (const actual of await roundTrips(value)) expect(linesOf(actual)).toEqual(expected)
  })
})

describe("what structured clone cannot copy is Codec", () => {
  test.each<[what: string, value: unknown]>([
    ["a function", () => 1],
    ["a class", Point],
    ["a symbol", Symbol("s")],
    ["a registered symbol", Symbol.for("s")],
    ["a promise", Promise.resolve(1)],
    ["a Proxy", new Proxy({}, {})],
    ["a WeakMap", new WeakMap()],
    ["a WeakSet", new WeakSet()],
    ["a WeakRef", new WeakRef({})],
    ["an iterator", [1].values()],
    ["a generator", (function* () { yield 1 })()],
    ["an object with a method", { to: "a", send() {} }],
    ["an array with a function", [1, [() => 1]]],
    ["a Map with a symbol", new Map([[Symbol("s"), 1]])],
    ["a store", undefined],
  ])("%s", async (what, value) => {
    const { store, queue } = await startQueue()
    const payload = what === "a store" ? { store: { close: () => store.close() } } : value
    expect(() => structuredClone(payload)).toThrow()
    const error = await rejection(() => queue.enqueue(payload))
    expect(error.code).toBe("Codec")
    expect(error.message).not.toBe("")
    expect(await queue.list()).toEqual([])
  })
})

const CLASSES = [
  Object, Array, Map, Set, Date, RegExp, Error, TypeError, RangeError, Number, String, Boolean, BigInt, ArrayBuffer,
  DataView, Uint8Array, Int8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array,
  Float64Array, BigInt64Array, BigUint64Array,
]
const PROTOTYPES = new Map<unknown, string>(CLASSES.map(({ prototype, name }) => [prototype, name]))

/**
 * All there is to see of a value, one line for each thing in it: prototypes,
 own keys in their order with their attributes, holes, what
 * is inside, and which references are one.
 */
function linesOf(value: unknown): string[] {
  const lines: string[] = []
  const seen = new Map<object, number>()
  const visit = (path: string, current: unknown): void => {
    if (typeof current !== "object" || current === null) {
      lines.push(`${path} ${typeof current} ${Object.is(current, -0) ? "-0" : String(current)}`)
      return
    }
    const known = seen.get(current)
    if (known !== undefined) return void lines.push(`${path} is #${known}`)
    seen.set(current, seen.size)
    const prototype = PROTOTYPES.get(Object.getPrototypeOf(current)) ?? "of another kind"
    lines.push(
      `${path} #${seen.size - 1} ${prototype}${Object.isExtensible(current) ? "" : " (closed)"} ${insideOf(current)}`,
    )
    if (ArrayBuffer.isView(current)) return visit(`${path}.buffer`, current.buffer)
    const items = current instanceof Map || current instanceof Set ? [...current] : []
    items.forEach((item: unknown, i) => visit(`${path}<${i}>`, item))
    for (const key of Reflect.ownKeys(current)) {
      if (current instanceof Error && key === "stack") continue
      const { get, value: held, ...attributes } = must(Object.getOwnPropertyDescriptor(current, key))
      lines.push(`${path}.${String(key)} ${JSON.stringify(attributes)}${get ? " getter" : ""}`)
      visit(`${path}.${String(key)}`, held)
    }
  }
  visit("", value)
  return lines
}

/** What an object holds besides its properties. */
function insideOf(value: object): string {
  if (value instanceof Date) return String(value.getTime())
  if (value instanceof RegExp) return String(value)
  if (value instanceof ArrayBuffer) return [...new Uint8Array(value)].join(",")
  if (ArrayBuffer.isView(value)) return `${value.byteOffset}+${value.byteLength}`
  const isBoxed = [Number, String, Boolean, BigInt].some((type) => value instanceof type)
  return isBoxed ? String(value) : ""
}

function randomValue(random: Random, depth: number, made: object[]): unknown {
  const leaves: (() => unknown)[] = [
    () => random.int(-1000, 1000), () => random.unit(), () => -0, () => NaN, () => "s".repeat(random.int(0, 9)),
    () => null, () => undefined,
    () => random.chance(0.5), () => BigInt(random.int(-9, 9)), () => new Date(random.int(0, 1e12)),
    () => new Uint8Array(random.int(0, 5)),
  ]
  if (made.length > 0 && random.chance(0.15)) return random.pick(made)   // shared, or a cycle
  if (depth === 0 || random.chance(0.3)) return random.pick(leaves)()
  const size = random.int(0, 5)
  const inner = (): unknown => randomValue(random, depth - 1, made)
  const build = random.pick([
    () => {
      const object: Record<string, unknown> = random.chance(0.1) ? (Object.create(null) as Record<string, unknown>) : {}
      made.push(object)
      const keys = ["a", "b", "c", "0", "10", "2", "length", "constructor", "toString", "key with spaces"]
      for (let i = 0; i < size; i++) object[random.pick(keys)] = inner()
      if (random.chance(0.1)) {
        const ordinary = { enumerable: true, configurable: true, writable: true }
        Object.defineProperty(object, "__proto__", { value: inner(), ...ordinary })
      }
      if (random.chance(0.1)) Object.freeze(object)
      return object
    },
    () => {
      const array: unknown[] = []
      made.push(array)
      for (let i = 0; i < size; i++) array.push(inner())
      if (random.chance(0.1)) array.length += 2
      return array
    },
    () => {
      const map = new Map<unknown, unknown>()
      made.push(map)
      for (let i = 0; i < size; i++) map.set(inner(), inner())
      return map
    },
    () => {
      const set = new Set<unknown>()
      made.push(set)
      for (let i = 0; i < size; i++) set.add(inner())
      return set
    },
  ])
  return build()
}
