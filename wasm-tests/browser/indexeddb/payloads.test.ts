// Payloads in IndexedDB: what structured clone copies comes back, after a reload of everything but the database.

import { expect, test } from "vitest"
import { indexedDb } from "alkstore-wasm/indexeddb"
import { contents, freshName } from "../../shared/databases.js"
import { must, rejection } from "../../shared/support.js"
import { opened } from "./support.js"

const shared = { n: 1 }
const cycle: Record<string, unknown> = { list: [] }
cycle["self"] = cycle

const KINDS: [what: string, value: unknown][] = [
  ["primitives", [undefined, null, true, -0, NaN, Infinity, "text", "\ud800", 10n, 2n ** 200n]],
  ["nothing at all", undefined],
  ["a tree", { a: { b: [{ c: [1, [2, [3]]] }], d: undefined } }],
  ["a Date, a RegExp", [new Date(5), new Date(NaN), /a(b)?/giu]],
  ["a Map, a Set", new Map<unknown, unknown>([["a", new Set([1, "x"])], [{ key: 1 }, new Map([[1, 2]])]])],
  ["errors", [new RangeError("far"), new Error("with a cause", { cause: shared })]],
  ["buffers and views", [
    new Uint8Array([1, 2, 3]).buffer, new Uint8ClampedArray([300]), new Float64Array([NaN, -0]),
    new BigInt64Array([-1n]), new DataView(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2)
  ]],
  ["boxed primitives", [Object(1), Object("s"), Object(true), Object(1n)]],
  ["a sparse array", Object.assign(Array(5), { 1: "a", 3: undefined })],
  ["an array with properties", Object.assign([1, 2], { extra: "kept" })],
  ["a long string", "x".repeat(100_000)],
  ["a key that looks like a prototype", JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}')]
]

/** Through one store in and through another out: read, and claimed. */
async function roundTrips<P>(payload: P): Promise<P[]> {
  const name = freshName()
  const store = await opened(indexedDb(name))
  const id = await store.queue("mail").enqueue(payload)
  await store.close()
  const queue = (await opened(indexedDb(name))).queue<P>("mail")
  const [listed] = await queue.list()
  return [await queue.get(id), listed, await queue.claimOne("w")].map((job) => must(job).payload)
}

test.each(KINDS)("%s", async (_, value) => {
  const expected = structuredClone(value)
  for (const actual of await roundTrips(value)) expect(actual).toStrictEqual(expected)
})

test("cycles stay cycles, and what is shared stays shared, in the row and apart", async () => {
  const bytes = new Uint8Array(5_000)
  for (const actual of await roundTrips({ cycle, a: shared, b: shared })) {
    expect((actual.cycle as typeof cycle)["self"]).toBe(actual.cycle)
    expect(actual.a).toBe(actual.b)
  }
  for (const actual of await roundTrips({ a: shared, b: shared })) expect(actual.a).toBe(actual.b)
  for (const actual of await roundTrips([bytes, bytes.subarray(1)])) expect(actual[0]!.buffer).toBe(actual[1]!.buffer)
})

test("a Blob and a File, with their names and types", async () => {
  const file = new File(["hello ", "world"], "note.txt", { type: "text/plain", lastModified: 5 })
  for (const actual of await roundTrips({ photo: new Blob([new Uint8Array(100_000)], { type: "image/png" }), file })) {
    expect([actual.photo.size, actual.photo.type]).toEqual([100_000, "image/png"])
    expect([actual.file.name, actual.file.type, actual.file.lastModified]).toEqual(["note.txt", "text/plain", 5])
    expect(await actual.file.text()).toBe("hello world")
  }
})

test("an ImageData, a CryptoKey, geometry", async () => {
  const key = await crypto.subtle.generateKey({ name: "HMAC", hash: "SHA-256" }, false, ["sign"])
  const payload = { image: new ImageData(2, 1), key, point: new DOMPoint(1, 2), rect: new DOMRect(1, 2, 3, 4) }
  for (const actual of await roundTrips(payload)) {
    expect([actual.image.width, actual.image.data.length]).toEqual([2, 8])
    expect(actual.key.algorithm.name).toBe("HMAC")
    expect([actual.point.y, actual.rect.height]).toEqual([2, 4])
  }
})

const EMPTY_MODULE = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])

test("what can be copied and not be stored is Codec, with its place; others are not disturbed", async () => {
  const name = freshName()
  const queue = (await opened(indexedDb(name))).queue("mail")
  const module = await WebAssembly.compile(EMPTY_MODULE)
  const [before, error, after] = await Promise.all([
    queue.enqueue("before"),
    rejection(() => queue.enqueue({ list: [{ module }] })),
    queue.enqueue("after")
  ])
  expect([error.code, error.message]).toEqual([
    "Codec",
    "the payload cannot be stored by IndexedDB: payload.list[0].module is a WebAssembly.Module"
  ])
  const jobs = (await contents(name)).map(([key]) => key).filter((key) => typeof key === "number")
  expect(jobs).toEqual([before, after])
})

test("nor are they by what an error has as its cause", async () => {
  const queue = (await opened(indexedDb(freshName()))).queue("mail")
  const module = await WebAssembly.compile(EMPTY_MODULE)
  const payload = new Error("with a cause", { cause: { module } })
  const calls = ["before", payload, "after"].map((each) => queue.enqueue(each))
  const [before, between, after] = await Promise.allSettled(calls)
  expect([before?.status, after?.status]).toEqual(["fulfilled", "fulfilled"])
  // Not all browsers copy it, and some as a text.
  const isCopied = typeof structuredClone(payload).cause === "object"
  expect(between).toMatchObject(isCopied ? { status: "rejected", reason: { code: "Codec" } } : { status: "fulfilled" })
})

test("what cannot be copied is Codec, with its place", async () => {
  const queue = (await opened(indexedDb(freshName()))).queue("mail")
  for (const [payload, culprit] of [
    [{ items: [{}, { callback() {} }] }, "payload.items[1].callback is a function"],
    [{ element: document.createElement("p") }, "payload.element is a HTMLParagraphElement"]
  ] as const) {
    const error = await rejection(() => queue.enqueue(payload))
    expect(error.code).toBe("Codec")
    expect(error.message).toBe(`the payload cannot be copied by structured clone: ${culprit}`)
  }
})

test("a hand-out is nobody else's: changing it changes nothing", async () => {
  const queue = (await opened(indexedDb(freshName()))).queue<{ list: number[] }>("mail")
  const payload = { list: [1] }
  const id = await queue.enqueue(payload)
  payload.list.push(2)
  const [a, b] = await Promise.all([queue.get(id), queue.get(id)])
  must(a).payload.list.push(3)
  expect(must(b).payload).toEqual({ list: [1] })
  expect(must(await queue.claimOne("w")).payload).toEqual({ list: [1] })
})
