// The engine as a string literal, made by scripts/engine-text.mjs. One character for each common byte and two for the
// others: unlike base64 this keeps bytes aligned with characters, so gzip finds what it would find in the wasm itself
// and the inlined engine costs the same over the wire; base64 costs a third more. Plain ASCII without quotes,
// backslashes and `<`: any charset, minifier or HTML page leaves it alone.

import { FallbackEncoder } from "./text-codec.js"

/** Characters that stand for bytes; the first two begin the pairs. */
const ALPHABET = /[^"'`\\$<]/
const PREFIXES = 2
const TABLE_LENGTH = 512

/** The bytes of `text`: 256 byte values in hex, the most common first, then the characters. */
export function decodeEngine(text: string): Uint8Array<ArrayBuffer> {
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
