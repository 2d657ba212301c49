// The engine as a string literal, made by scripts/engine-text.mjs. One character for each common byte and two for the
// others: unlike base64 this keeps bytes aligned with characters, so gzip finds what it would find in the wasm itself
// and the inlined engine costs the same over the wire; base64 costs a third more. Plain ASCII without quotes,
// backslashes and `<`: any charset, minifier or HTML page leaves it alone.

/** Characters that stand for bytes; the first two begin the pairs. */
const ALPHABET = /[^"'`\\$<]/
const PREFIXES = 2
const TABLE_LENGTH = 512

/** The bytes of `text`: 256 byte values in hex, the most common first, then the characters. */
export function decodeEngine(text: string): Uint8Array<ArrayBuffer> {
  const digits = alphabet()
  const singles = digits.length - PREFIXES
  const digitOf = new Uint8Array(128)
  digits.forEach((code, digit) => (digitOf[code] = digit))
  const bytesByRank = new Uint8Array(TABLE_LENGTH / 2)
  for (let rank = 0; rank < bytesByRank.length; rank++) {
    bytesByRank[rank] = Number.parseInt(text.slice(rank * 2, rank * 2 + 2), 16)
  }
  const bytes = new Uint8Array(text.length - TABLE_LENGTH)
  let length = 0
  for (let at = TABLE_LENGTH; at < text.length; at++) {
    const digit = digitOf[text.charCodeAt(at)] as number
    const rank =
      digit < PREFIXES ? singles + digit * digits.length + (digitOf[text.charCodeAt(++at)] as number) : digit - PREFIXES
    bytes[length++] = bytesByRank[rank] as number
  }
  return bytes.subarray(0, length)
}

function alphabet(): number[] {
  const codes: number[] = []
  for (let code = 0x20; code < 0x7f; code++) if (ALPHABET.test(String.fromCharCode(code))) codes.push(code)
  return codes
}
