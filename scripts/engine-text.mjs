// The inverse of js/engine-text.ts, which says why the inlined engine looks as it does.

const PREFIXES = 2
const DIGITS = Array.from({ length: 0x7f - 0x20 }, (_, at) => String.fromCharCode(0x20 + at)).filter((character) =>
  /[^"'`\\$<]/.test(character)
)

/** `bytes` as text for a string literal. */
export function encodeEngine(bytes) {
  const singles = DIGITS.length - PREFIXES
  const counts = new Array(256).fill(0)
  for (const byte of bytes) counts[byte]++
  const byRank = [...counts.keys()].sort((a, b) => counts[b] - counts[a] || a - b)
  const codes = new Array(256)
  byRank.forEach((byte, rank) => {
    codes[byte] = rank < singles ? DIGITS[PREFIXES + rank] : pairOf(rank - singles)
  })
  return Buffer.from(byRank).toString("hex") + Array.from(bytes, (byte) => codes[byte]).join("")
}

function pairOf(rank) {
  return DIGITS[Math.floor(rank / DIGITS.length)] + DIGITS[rank % DIGITS.length]
}
