// What cannot be copied is named: where it is in the payload, and what it is.

import { describe, expect, test } from "vitest"
import { copyIn } from "../../js/codec.js"
import { AlkstoreError } from "../../js/errors.js"

function refusal(payload: unknown): AlkstoreError {
  try {
    copyIn(payload)
  } catch (error) {
    expect(error).toBeInstanceOf(AlkstoreError)
    expect((error as AlkstoreError).code).toBe("Codec")
    expect((error as AlkstoreError).cause).toBeDefined()
    return error as AlkstoreError
  }
  throw new Error("it was accepted")
}

const cycle: Record<string, unknown> = { child: {} }
cycle["child"] = { parent: cycle, list: [cycle] }
cycle["callback"] = () => 1

const CASES: [payload: unknown, culprit: string][] = [
  [() => 1, "payload is a function"],
  [class Point {}, "payload is a function"],
  [Symbol("s"), "payload is a symbol"],
  [{ items: [1, 2, {}, { callback() {} }] }, "payload.items[3].callback is a function"],
  [{ "odd key": { "0": Symbol("s") } }, 'payload["odd key"]["0"] is a symbol'],
  [{ ünïcode: { $a_1: () => 1 } }, "payload.ünïcode.$a_1 is a function"],
  [Promise.resolve(1), "payload is a Promise"],
  [{ list: new Proxy([], {}) }, "payload.list is a Proxy"],
  [[new WeakMap(), () => 1], "payload[0] is a WeakMap"],
  [{ fine: new Date(), it: [1].values() }, "payload.it is an Array Iterator"],
  [new Map<unknown, unknown>([["a", 1], ["b", { deep: () => 1 }]]), 'payload.get("b").deep is a function'],
  [{ keys: new Map([[Symbol("s"), 1]]) }, "a key of payload.keys is a symbol"],
  [new Set<unknown>([1, new Set([() => 1])]), "a value in a value in payload is a function"],
  [cycle, "payload.callback is a function"],
  [Object.assign(Object.create(null) as object, { f() {} }), "payload.f is a function"]
]

describe("the message names the part at fault", () => {
  test.each(CASES)("%o: %s", (payload, culprit) => {
    expect(refusal(payload).message).toBe(`the payload cannot be copied by structured clone: ${culprit}`)
  })

  test("bytes that were given away", () => {
    const bytes = new Uint8Array(1)
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] })
    expect(refusal({ bytes }).message).toMatch(/: payload\.bytes is a Uint8Array \(.*detached.*\)$/i)
  })

  test("what throws while it is read", () => {
    const thrown = new Error("not today")
    const payload = { list: [{ get odd() { throw thrown } }] }
    const error = refusal(payload)
    expect(error.message).toMatch(/by structured clone: payload\.list\[0\]\.odd cannot be read: Error: not today$/)
    expect(error.cause).toBe(thrown)
  })

  test("a Proxy, whatever is in it", () => {
    expect(refusal({ inner: new Proxy({}, {}) }).message).toContain("payload.inner is ")
    expect(refusal({ list: [1, new Proxy({ a: 1, b: [2] }, {})] }).message).toMatch(/: payload\.list\[1\] is a Proxy$/)
    expect(refusal(new Map([["a", { b: new Proxy([1], {}) }]])).message).toMatch(/: payload\.get\("a"\)\.b is a Proxy$/)
    expect(refusal(new Proxy({ a: { b: 1 } }, {})).message).toMatch(/: payload is a Proxy$/)
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(refusal({ inner: proxy }).message).toContain("payload.inner is an object that cannot be read")
  })

  test("nothing more than the cause, where it may be any of a circle", () => {
    const circle: { child?: object } = {}
    circle.child = new Proxy({ parent: circle }, {})
    expect(refusal(circle).message).toMatch(/by structured clone: DataCloneError: ./)
  })

  test("its depth, where that is what is wrong", () => {
    const deep = Array.from({ length: 200_000 }).reduce<object>((inner) => ({ inner }), {})
    expect(refusal(deep).message).toMatch(/: payload is nested too deeply for what is left of the stack$/)
  })

  test("in a payload that is very deep or very large, without ado", () => {
    const deep = Array.from({ length: 2_000 }).reduce<object>((inner) => ({ inner }), { f: () => 1 })
    expect(refusal(deep).message).toMatch(/\.inner\.inner\.f is a function$/)
    const large = [...Array.from({ length: 50_000 }, (_, n) => ({ n })), () => 1]
    expect(refusal(large).message).toMatch(/payload\[50000\] is a function$/)
  })
})
