// How rows and reads cross between the engine and an adapter.

import { expect, test } from "vitest"
import { Crossing } from "../../../js/crossing.js"
import type { Read } from "../../../js/keyed.js"

/** A transaction that notes what it is called with. */
class Noted extends Crossing {
  readonly calls: unknown[][] = []

  async read(reads: Read[]): Promise<unknown[]> {
    return reads
  }
  insert = (...given: unknown[]): void => void this.calls.push(["insert", ...given])
  update = (...given: unknown[]): void => void this.calls.push(["update", ...given])
  remove = (...given: unknown[]): void => void this.calls.push(["remove", ...given])
  put = (...given: unknown[]): void => void this.calls.push(["put", ...given])
  delete = (...given: unknown[]): void => void this.calls.push(["delete", ...given])
  commit = (): Promise<void> => Promise.resolve()
  abort = (): void => undefined
}

const of = (...numbers: number[]): Float64Array => Float64Array.from(numbers)
const letter = (text: string): number => text.charCodeAt(0)
const [TEXT, NULL, OTHER] = [Infinity, NaN, -Infinity]

test("a row is written by its kind, with its columns and its entries", () => {
  const noted = new Noted()
  const queue = "m\0\u{1F4E7}"
  const write = (kind: string, ...columns: number[]): void => {
    const numbers = columns.flatMap((column) => [column, column === TEXT ? queue.length : 0])
    const entries = [letter("o"), -1, 2, 3, letter("p"), 0, 0, 3]
    noted.write(of(letter(kind), columns.length, ...numbers, ...entries), queue + queue, "payload")
  }
  for (const kind of ["n", "j"]) write(kind, 1, 7, TEXT, NULL, -5)
  for (const kind of ["l", "s"]) write(kind, 1, TEXT)
  noted.write(of(letter("m"), 2, 1, 0, 33, 0), "", undefined)
  const k = [[queue, "o", -1, 2, 3], [queue, "p", 0, 0, 3]]
  expect(noted.calls).toEqual([
    ["insert", 7, k, [1, 7, queue, null, -5], "payload"],
    ["update", 7, k, [1, 7, queue, null, -5]],
    ["put", ["l", queue], k, [1, queue], "payload"],
    ["put", ["s", queue], k, [1, queue], "payload"],
    ["put", ["m"], [], [1, 33], undefined]
  ])
})

test("a job goes by its id, anything else by its name", () => {
  const noted = new Noted()
  noted.erase(letter("j"), 7, "")
  noted.erase(letter("l"), 0, "lock")
  expect(noted.calls).toEqual([["remove", 7], ["delete", ["l", "lock"]]])
})

test("reads come one after another", async () => {
  const numbers = of(
    ...[letter("m"), letter("j"), 7, letter("p"), 8, letter("l"), 3, letter("r"), 1, 9, 64, letter("a"), letter("s")],
    ...[letter("i"), 1, letter("o"), 1, 2, 3, letter("o"), 4, 5, 6, 32],
    ...[letter("c"), 1, letter("d"), 1, 2, 3, letter("d"), 4, 5, 6]
  )
  expect(await new Noted().ask(numbers, "tagqr")).toEqual([
    ["get", ["m"]],
    ["get", 7],
    ["get", ["p", 8]],
    ["get", ["l", "tag"]],
    ["rows", 1, 9, 64],
    ["rows", ["s"], ["s", []], 0],
    ["index", ["q", "o", 1, 2, 3], ["q", "o", 4, 5, 6], 32],
    ["count", ["r", "d", 1, 2, 3], ["r", "d", 4, 5, 6]]
  ])
})

test("what was read is columns, whatever it is", () => {
  const unpack = (row: unknown): unknown[] => {
    const numbers = new Float64Array(1 + 2 * 4)
    const text = new Noted().unpack(row, numbers)
    const [hasPayload, ...columns] = numbers
    const pairs = [0, 2, 4, 6].map((at) => columns.slice(at, at + 2))
    return [pairs.map(([number]) => number), pairs.map(([, length]) => length), text, (hasPayload as number) > 0]
  }
  expect(unpack({ v: [1, "a\0b", null, "\u{1F4E7}"], p: undefined })).toEqual([
    [1, TEXT, NULL, TEXT],
    [0, 3, 0, 2],
    "a\0b\u{1F4E7}",
    true
  ])
  expect(unpack({ v: [1, 2, 3, 4, 5] })).toEqual([[1, 2, 3, 4], [0, 0, 0, 0], "", false])
  const nothing = [OTHER, OTHER, OTHER, OTHER]
  for (const v of [[NaN, Infinity, {}, ""], [1n, undefined, true, -Infinity]]) {
    const numbers = v.map((column) => (column === "" ? TEXT : OTHER))
    expect(unpack({ v })).toEqual([numbers, [0, 0, 0, 0], "", false])
  }
  for (const row of [undefined, null, "row", 7, {}, { v: "text" }]) {
    expect(unpack(row)).toEqual([nothing, nothing, "", false])
  }
})
