// The engine as a string literal, made by scripts/engine-text.mjs.
//
// Its code is taken apart: what the instructions do, the locals they name, the offsets, the constants, each in a stream
// of their own. A compressor then sees like beside like, and the inlined engine costs an eighth less over the wire than
// the wasm itself. And one character stands for each common byte, two for the others: unlike base64 this keeps bytes
// aligned with characters. Plain ASCII without quotes, backslashes and `<`: any charset, minifier or HTML page leaves it
// alone.

import { FallbackEncoder } from "./text-codec.js"

/** Characters that stand for bytes; the first two begin the pairs. */
const ALPHABET = /[^"'`\\$<]/
const PREFIXES = 2
const TABLE_LENGTH = 512

/** The part that says which shape each instruction has. */
const SHAPES = 0

/** The shape of an instruction that ends a function. */
const LAST = 0

/** What stands in a shape for an operand, and above: which part it lies in. */
const OPERAND = 256

/** The module that `text` is. */
export function decodeEngine(text: string): Uint8Array<ArrayBuffer> {
  return joined(bytesOf(text))
}

/** The bytes of `text`: 256 byte values in hex, the most common first, then the characters. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const [single, pairs] = tables(text.slice(0, TABLE_LENGTH))
  // Codes first, natively: in a cold start this loop is interpreted, and a typed array is all it should touch.
  const codes = new (globalThis.TextEncoder ?? FallbackEncoder)().encode(text)
  const bytes = new Uint8Array(codes.length - TABLE_LENGTH)
  let length = 0
  for (let at = TABLE_LENGTH; at < codes.length; at++) {
    const code = codes[at] as number
    const pair = pairs[code]
    bytes[length++] = pair === undefined ? (single[code] as number) : (pair[codes[++at] as number] as number)
  }
  return bytes.subarray(0, length)
}

/** What each character stands for: a byte, or with the one after it another. */
function tables(ranks: string): [Uint8Array, Uint8Array[]] {
  const alphabet: number[] = []
  for (let code = 0x20; code < 0x7f; code++) if (ALPHABET.test(String.fromCharCode(code))) alphabet.push(code)
  const single = new Uint8Array(128)
  const pairs: Uint8Array[] = []
  for (const code of alphabet.slice(0, PREFIXES)) pairs[code] = new Uint8Array(128)
  const byRank = [...alphabet.slice(PREFIXES).map((code): [Uint8Array, number] => [single, code])]
  for (const code of alphabet.slice(0, PREFIXES)) {
    for (const second of alphabet) byRank.push([pairs[code] as Uint8Array, second])
  }
  for (let rank = 0; rank < TABLE_LENGTH / 2; rank++) {
    const [table, code] = byRank[rank] as [Uint8Array, number]
    table[code] = Number.parseInt(ranks.slice(rank * 2, rank * 2 + 2), 16)
  }
  return [single, pairs]
}

/**
 * The module that was taken apart: first numbers (its length, those of its parts, how many functions it has, and the
 * shapes that instructions have: their bytes, and where their operands lie), then the parts.
 */
function joined(apart: Uint8Array): Uint8Array<ArrayBuffer> {
  const read = [0]
  const number = (): number => numberAt(apart, read)
  const numbers = (): number[] => Array.from({ length: number() }, number)
  const module = new Uint8Array(number())
  const lengths = numbers()
  let functions = number()
  const shapes = Array.from({ length: number() }, numbers)
  let end = read[0] as number
  // Where each part is read next.
  const next = Uint32Array.from(lengths, (length) => (end += length) - length)
  const [before, behind] = next.subarray(-2) as unknown as [number, number]
  module.set(apart.subarray(before, behind))
  end = behind - before
  const body = new Uint8Array(module.length)
  while (functions-- > 0) {
    const length = bodyOf(apart, next, shapes, body)
    let rest = length
    for (; rest > 127; rest >>= 7) module[end++] = rest | 128
    module[end++] = rest
    module.set(body.subarray(0, length), end)
    end += length
  }
  module.set(apart.subarray(behind), end)
  return module
}

/** The length of the next function's body. Apart: engines compile what is called often sooner than one long loop. */
function bodyOf(apart: Uint8Array, next: Uint32Array, shapes: number[][], body: Uint8Array): number {
  let length = 0
  let shape: number
  do {
    shape = apart[(next[SHAPES] as number)++] as number
    const bytes = shapes[shape] as number[]
    for (let n = 0; n < bytes.length; n++) {
      const byte = bytes[n] as number
      if (byte < OPERAND) {
        body[length++] = byte
      } else {
        let digit: number
        do {
          digit = apart[(next[byte - OPERAND] as number)++] as number
          body[length++] = digit
        } while (digit > 127)
      }
    }
  } while (shape !== LAST)
  return length
}

function numberAt(bytes: Uint8Array, at: number[]): number {
  let value = 0
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[(at[0] as number)++] as number
    value |= (byte & 127) << shift
    if (byte < 128) return value
  }
}
