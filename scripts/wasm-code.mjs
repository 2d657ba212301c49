// A wasm module's code, as instructions: what each does, and with which numbers. See scripts/engine-text.mjs.

const CODE_SECTION = 10

// What follows an opcode and belongs to it, a type or a constant: so many bytes.
const PREFIXED = [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1]
const HEADS = new Map([
  ...[0x02, 0x03, 0x04, 0x3f, 0x40, 0xd0].map((opcode) => [opcode, () => 1]),
  ...Array.from({ length: 0x3e - 0x28 + 1 }, (_, at) => [0x28 + at, () => 1]),
  // Of so many types.
  [0x1c, (number) => number()],
  [0x43, () => 4],
  [0x44, () => 8],
  [0xfc, (number) => PREFIXED[number()]]
])

// The numbers that follow then, by kind.
const BR_TABLE = 0x0e
const OPERANDS = new Map([
  ...[0x0c, 0x0d].map((opcode) => [opcode, ["depth"]]),
  ...[0x10, 0xd2].map((opcode) => [opcode, ["function"]]),
  ...[0x20, 0x21, 0x22].map((opcode) => [opcode, ["local"]]),
  ...[0x23, 0x24, 0x25, 0x26].map((opcode) => [opcode, ["global"]]),
  ...Array.from({ length: 0x3e - 0x28 + 1 }, (_, at) => [0x28 + at, ["offset"]]),
  [0x11, ["type", "type"]],
  [0x41, ["i32"]],
  [0x42, ["i64"]]
])

// Those of 1.0 and sign extension, saturating truncation, bulk memory, and reference types.
const isKnown = (opcode) => opcode <= 0xc4 || [0xd0, 0xd1, 0xd2, 0xfc].includes(opcode)

/**
 * The parts of a module: the bytes `before` its first function, the `functions`, and the bytes `behind`. A
 * function is a list of `{ head, operands: [{ kind, bytes }], last }`, of which the first declares its locals.
 */
export function codeOf(wasm) {
  for (let at = 8; at < wasm.length; ) {
    const section = readerAt(wasm, at + 1)
    const end = section.number() + section.at()
    if (wasm[at] === CODE_SECTION) {
      const count = section.number()
      const before = wasm.subarray(0, section.at())
      return { before, functions: Array.from({ length: count }, () => functionOf(section)), behind: wasm.subarray(end) }
    }
    at = end
  }
  throw new Error("the engine has no code")
}

function functionOf(code) {
  const end = code.number() + code.at()
  const locals = code.instruction(() => Array.from({ length: code.number() }, () => ["locals", "locals"]).flat())
  const instructions = [locals]
  while (code.at() < end) {
    instructions.push(code.instruction(() => {
      const opcode = code.byte()
      if (!isKnown(opcode)) throw new Error(`the engine has an instruction that is not known here: 0x${opcode.toString(16)}`)
      if (opcode === BR_TABLE) return Array.from({ length: code.number() + 1 }, () => "depth")
      code.skip(HEADS.get(opcode)?.(code.number) ?? 0)
      return OPERANDS.get(opcode) ?? []
    }))
  }
  instructions.at(-1).last = true
  return instructions
}

function readerAt(bytes, start) {
  let at = start
  const reader = {
    at: () => at,
    byte: () => bytes[at++],
    skip: (length) => void (at += length),
    number: () => {
      let value = 0
      for (let shift = 0; ; shift += 7) {
        const byte = bytes[at++]
        value += (byte & 0x7f) * 2 ** shift
        if (byte < 0x80) return value
      }
    },
    instruction: (head) => {
      const from = at
      const kinds = head()
      const instruction = { head: bytes.subarray(from, at), operands: [], last: false }
      for (const kind of kinds) {
        const from = at
        reader.number()
        instruction.operands.push({ kind, bytes: bytes.subarray(from, at) })
      }
      return instruction
    }
  }
  return reader
}
