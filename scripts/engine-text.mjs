// The inlined engine: a string literal, which tools/unpack turns back into the engine.
//
// Its code is taken apart: what the instructions do, the locals they name, the offsets, the constants, each in a stream
// of their own. A compressor then sees like beside like, and the inlined engine costs an eighth less over the wire than
// the wasm itself. And one character stands for each common byte, two for the others: unlike base64 this keeps bytes
// aligned with characters. Plain ASCII without quotes, backslashes and `<`: any charset, minifier or HTML page leaves it
// alone.

import { codeOf } from "./wasm-code.mjs"

const PREFIXES = 2
const DIGITS = Array.from({ length: 0x7f - 0x20 }, (_, at) => String.fromCharCode(0x20 + at)).filter((character) =>
  /[^"'`\\$<]/.test(character)
)

// A byte numbers them.
const SHAPES_MAX = 256

// Pairs of instructions that are frequent get a shape of their own, until there are so many. More gain nothing: what is
// rarer than the characters there are takes two.
const PAIRED_SHAPES_MAX = 192

// Part by part; in this order they compress best.
const KINDS = ["offset", "i32", "local", "depth", "function", "type", "i64", "locals", "global"]

// An operand in a shape: which part it lies in.
const OPERAND = 256

/** A module as text for a string literal. */
export function encodeEngine(wasm) {
  return textOf(apart(wasm))
}

function apart(wasm) {
  const { before, functions, behind } = codeOf(wasm)
  const instructions = functions.flat()
  const parts = KINDS.map(() => [])
  for (const { kind, bytes } of instructions.flatMap(({ operands }) => operands)) parts[KINDS.indexOf(kind)].push(...bytes)
  const { shapes, numbers } = byFrequency(paired(shapesOf(instructions)))
  const contents = [numbers, before, behind, ...parts]
  const lengths = contents.map(({ length }) => length)
  const head = [lengths.length, ...lengths, functions.length, shapes.length]
  for (const shape of shapes) head.push(shape.length, ...shape)
  return Uint8Array.from([head.flatMap(leb), ...contents].flatMap((part) => [...part]))
}

// The shapes that there are, and the number of each instruction's. The first shape is that of a function's last one.
function shapesOf(instructions) {
  const found = new Map([["last", 0]])
  const shapes = [[...instructions.at(-1).head]]
  const numbers = instructions.map(({ head, operands, last }) => {
    const shape = [...head, ...operands.map(({ kind }) => OPERAND + KINDS.indexOf(kind))]
    const key = last ? "last" : shape.join()
    if (!found.has(key)) found.set(key, shapes.push(shape) - 1)
    return found.get(key)
  })
  if (shapes.length > SHAPES_MAX) throw new Error(`instructions have ${shapes.length} shapes, more than a byte numbers`)
  return { shapes, numbers }
}

function paired({ shapes, numbers }) {
  const counts = new Uint32Array(SHAPES_MAX ** 2)
  for (let paired = numbers; ; ) {
    if (shapes.length >= PAIRED_SHAPES_MAX) return { shapes, numbers: paired }
    counts.fill(0)
    for (let at = 1; at < paired.length; at++) {
      // The last one of a function stays by itself: it is how a decoder finds the end.
      if (paired[at - 1] > 0 && paired[at] > 0) counts[paired[at - 1] * SHAPES_MAX + paired[at]]++
    }
    const most = counts.reduce((best, count, pair) => (count > counts[best] ? pair : best), 0)
    const [first, second] = [Math.floor(most / SHAPES_MAX), most % SHAPES_MAX]
    const pair = shapes.push([...shapes[first], ...shapes[second]]) - 1
    const shorter = []
    for (let at = 0; at < paired.length; at++) {
      const isPair = paired[at] === first && paired[at + 1] === second
      shorter.push(isPair ? pair : paired[at])
      if (isPair) at++
    }
    paired = shorter
  }
}

// The first one stays the first.
function byFrequency({ shapes, numbers }) {
  const counts = shapes.map(() => 0)
  for (const number of numbers) counts[number]++
  counts[0] = Number.POSITIVE_INFINITY
  const order = [...shapes.keys()].sort((a, b) => (counts[a] === counts[b] ? a - b : counts[b] - counts[a]))
  const renumbered = order.map((_, number) => order.indexOf(number))
  return { shapes: order.map((number) => shapes[number]), numbers: numbers.map((number) => renumbered[number]) }
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
