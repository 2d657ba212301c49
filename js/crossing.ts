// How the engine calls a transaction: rows and reads cross as numbers and texts (src/wasm/keyed.rs), and become plain
// arrays here. A call for each column would cost more than what is done with it.

import type { Key, KeyedTransaction, Read } from "./keyed.js"

/** Takes numbers, and texts whose lengths are among them, one after another. */
class Taker {
  readonly #numbers: Float64Array
  readonly #text: string
  #at = 0
  #textAt = 0

  constructor(numbers: Float64Array, text: string) {
    this.#numbers = numbers
    this.#text = text
  }

  get isDone(): boolean {
    return this.#at >= this.#numbers.length
  }

  number(): number {
    return this.#numbers[this.#at++] as number
  }

  letter(): string {
    return String.fromCharCode(this.number())
  }

  text(): string {
    return this.#text.slice(this.#textAt, (this.#textAt += this.number()))
  }

  /** An entry's key. */
  entry(queue: string): Key[] {
    return [queue, this.letter(), this.number(), this.number(), this.number()]
  }
}

export abstract class Crossing implements KeyedTransaction {
  abstract read(reads: Read[]): Promise<unknown[]>
  abstract insert(id: number, k: Key[], v: unknown[], payload: unknown): void
  abstract update(id: number, k: Key[], v: unknown[]): void
  abstract remove(id: number): void
  abstract put(key: Key, k: Key[], v: unknown[], payload: unknown): void
  abstract delete(key: Key): void
  abstract commit(): Promise<void>
  abstract abort(): void

  ask(numbers: Float64Array, text: string): Promise<unknown[]> {
    const from = new Taker(numbers, text)
    const reads: Read[] = []
    while (!from.isDone) reads.push(readOf(from))
    return this.read(reads)
  }

  /** The columns of what was read, whatever it is: their texts are given, one after another. */
  unpack(row: unknown, numbers: Float64Array, lengths: Float64Array, hasPayload: Float64Array): string {
    numbers.fill(Number.NEGATIVE_INFINITY)
    let text = ""
    if (typeof row !== "object" || row === null) return text
    hasPayload[0] = "p" in row ? 1 : 0
    const columns = (row as { v?: unknown }).v
    if (!Array.isArray(columns)) return text
    for (let at = 0; at < columns.length && at < numbers.length; at++) {
      const column: unknown = columns[at]
      if (typeof column === "number" && Number.isFinite(column)) numbers[at] = column
      else if (column === null) numbers[at] = Number.NaN
      else if (typeof column === "string") {
        numbers[at] = Number.POSITIVE_INFINITY
        lengths[at] = column.length
        text += column
      }
    }
    return text
  }

  write(
    kind: number,
    numbers: Float64Array,
    lengths: Float64Array,
    text: string,
    entries: Float64Array,
    payload: unknown
  ): void {
    let textAt = 0
    const v: unknown[] = []
    for (let at = 0; at < numbers.length; at++) {
      const column = numbers[at] as number
      if (column === Number.POSITIVE_INFINITY) v.push(text.slice(textAt, (textAt += lengths[at] as number)))
      else v.push(Number.isNaN(column) ? null : column)
    }
    const queue = text.slice(textAt)
    const from = new Taker(entries, "")
    const k: Key[] = []
    while (!from.isDone) k.push(from.entry(queue))
    const letter = String.fromCharCode(kind)
    const name = v[1] as number
    if (letter === "n") this.insert(name, k, v, payload)
    else if (letter === "j") this.update(name, k, v)
    else this.put(letter === "m" ? ["m"] : [letter, name], k, v, payload)
  }

  erase(kind: number, id: number, name: string): void {
    const letter = String.fromCharCode(kind)
    if (letter === "j") this.remove(id)
    else this.delete([letter, name])
  }
}

function readOf(from: Taker): Read {
  const letter = from.letter()
  switch (letter) {
    case "m":
      return ["get", ["m"]]
    case "j":
      return ["get", from.number()]
    case "p":
      return ["get", ["p", from.number()]]
    case "r":
      return ["rows", from.number(), from.number(), from.number()]
    case "a": {
      // An array sorts after every string.
      const kind = from.letter()
      return ["rows", [kind], [kind, []], 0]
    }
    case "i": {
      const queue = from.text()
      return ["index", from.entry(queue), from.entry(queue), from.number()]
    }
    case "c": {
      const queue = from.text()
      return ["count", from.entry(queue), from.entry(queue)]
    }
    default:
      return ["get", [letter, from.text()]]
  }
}
