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

  /** What is left of the texts. */
  rest(): string {
    return this.#text.slice(this.#textAt)
  }

  column(): unknown {
    const column = this.number()
    const text = this.text()
    return column === Number.POSITIVE_INFINITY ? text : Number.isNaN(column) ? null : column
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

  /** Whether what was read, whatever it is, has a payload, and its columns: their texts are given, one after another. */
  unpack(row: unknown, numbers: Float64Array): string {
    numbers.fill(Number.NEGATIVE_INFINITY)
    let text = ""
    if (typeof row !== "object" || row === null) return text
    if ("p" in row) numbers[0] = 1
    const columns = (row as { v?: unknown }).v
    if (!Array.isArray(columns)) return text
    // By index: a stored array may have properties of its own under the names of methods.
    for (let index = 0; index < columns.length; index++) {
      const at = 1 + 2 * index
      if (at >= numbers.length) break
      const column: unknown = columns[index]
      const ownText = typeof column === "string" ? column : ""
      numbers[at] = numberOf(column)
      numbers[at + 1] = ownText.length
      text += ownText
    }
    return text
  }

  write(numbers: Float64Array, text: string, payload: unknown): void {
    const from = new Taker(numbers, text)
    const letter = from.letter()
    const v: unknown[] = []
    for (let left = from.number(); left > 0; left--) v.push(from.column())
    const queue = from.rest()
    const k: Key[] = []
    while (!from.isDone) k.push(from.entry(queue))
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

function numberOf(column: unknown): number {
  if (column === null) return Number.NaN
  if (typeof column === "string") return Number.POSITIVE_INFINITY
  return typeof column === "number" && Number.isFinite(column) ? column : Number.NEGATIVE_INFINITY
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
