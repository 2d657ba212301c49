// The inverse of js/engine-text.ts, which says why the inlined engine looks as it does.

import { codeOf } from "./wasm-code.mjs"

const PREFIXES = 2
const DIGITS = Array.from({ length: 0x7f - 0x20 }, (_, at) => String.fromCharCode(0x20 + at)).filter((character) =>
  /[^"'`\\$<]/.test(character)
)

// More are not numbered by a byte.
const SHAPES_MAX = 256

/** A module as text for a string literal. */
export function encodeEngine(wasm) {
  return textOf(apart(wasm))
}

function apart(wasm) {
  const { before, functions, behind } = codeOf(wasm)
  const shapes = shapesOf(functions.flat())
  const parts = new Map([["shapes", functions.flat().map((instruction) => shapes.get(shapeOf(instruction)).number)]])
  for (const { kind, bytes } of functions.flat(2).flatMap(({ operands }) => operands)) {
    if (!parts.has(kind)) parts.set(kind, [])
    parts.get(kind).push(...bytes)
  }
  const kinds = [...parts.keys()]
  const contents = [...parts.values(), before, behind]
  const numbers = [wasm.length, contents.length, ...contents.map(({ length }) => length), functions.length, shapes.size]
  for (const { head, operands } of shapes.values()) {
    numbers.push(head.length, ...head, operands.length, ...operands.map(({ kind }) => kinds.indexOf(kind)))
  }
  return Uint8Array.from([numbers.flatMap(leb), ...contents].flatMap((part) => [...part]))
}

// The last instruction of a function has the first number, the most frequent ones have the next.
function shapesOf(instructions) {
  const found = new Map()
  for (const instruction of instructions) {
    const shape = shapeOf(instruction)
    if (!found.has(shape)) found.set(shape, { ...instruction, count: 0 })
    found.get(shape).count++
  }
  if (found.size > SHAPES_MAX) throw new Error(`instructions have ${found.size} shapes, ${SHAPES_MAX} at the most are expected`)
  const sorted = [...found].sort(([, a], [, b]) => Number(b.last) - Number(a.last) || b.count - a.count)
  return new Map(sorted.map(([shape, { head, operands }], number) => [shape, { head, operands, number }]))
}

function shapeOf({ head, operands, last }) {
  return [last, ...head, ...operands.map(({ kind }) => kind)].join()
}

function leb(number) {
  return number < 0x80 ? [number] : [(number & 0x7f) | 0x80, ...leb(number >>> 7)]
}

function textOf(bytes) {
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
