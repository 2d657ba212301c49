// What JavaScript reads by itself, duration strings and the form of names: the engine's corpora of tests/fuzz, and random
// text, against readings that are slower and plainer.

import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import fc from "fast-check"
import { expect, test } from "vitest"
import { nameArgument } from "../../js/arguments.js"
import { parseDuration } from "../../js/duration.js"

const RUNS = { seed: 1, numRuns: 3000 }

function corpus(target: string): string[] {
  const folder = new URL(`../../tests/fuzz/corpus/${target}/`, import.meta.url)
  const texts = readdirSync(fileURLToPath(folder)).map((file) => readFileSync(new URL(file, folder), "utf8"))
  expect(texts.length).toBeGreaterThan(20)
  return texts
}

const UNITS: Record<string, bigint> = { ms: 1n, s: 1000n, m: 60_000n, h: 3_600_000n, d: 86_400_000n }

/** By integers that have no end. */
function milliseconds(text: string): number {
  const unit = Object.keys(UNITS).find((name) => text.endsWith(name) && !/[a-z]$/.test(text.slice(0, -name.length)))
  if (unit === undefined) return Number.NaN
  const [whole = "", ...rest] = text.slice(0, -unit.length).split(".")
  const fraction = rest[0] ?? ""
  const isDigits = (part: string): boolean => part.length > 0 && [...part].every((digit) => "0123456789".includes(digit))
  if (!isDigits(whole) || rest.length > 1 || (rest.length === 1 && !isDigits(fraction))) return Number.NaN
  const exact = (BigInt(whole + fraction) * (UNITS[unit] as bigint)) / 10n ** BigInt(fraction.length)
  return exact > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(exact)
}

test("a duration string is what integers without an end make of it", () => {
  const digits = fc.string({ unit: fc.constantFrom(..."0123456789"), maxLength: 25 })
  const unit = fc.constantFrom(...Object.keys(UNITS), "", "S", "ms ", "sm", "\n")
  const check = (text: string): void => {
    expect([text, parseDuration(text)]).toEqual([text, milliseconds(text)])
  }
  corpus("durations").forEach(check)
  const form = fc.tuple(digits, fc.constantFrom("", ".", "..", " ", "-", "e"), digits, unit).map((parts) => parts.join(""))
  fc.assert(fc.property(form, check), RUNS)
})

test("a name is refused for its form exactly if it does not survive a trip through UTF-8", () => {
  const survives = (name: string): boolean =>
    new TextDecoder("utf-8", { ignoreBOM: true }).decode(new TextEncoder().encode(name)) === name
  const check = (name: string): void => {
    if (survives(name)) expect(nameArgument("queue", name)).toBe(name)
    else expect(() => nameArgument("queue", name)).toThrow(/^queue must be well-formed Unicode, got "/)
  }
  corpus("names").forEach(check)
  const anyUnit = fc.integer({ min: 0, max: 0xffff })
  const surrogate = fc.integer({ min: 0xd800, max: 0xdfff })
  const unit = fc.oneof(anyUnit, surrogate, fc.constant(0xfeff)).map((code) => String.fromCharCode(code))
  fc.assert(fc.property(fc.string({ unit, maxLength: 8 }), check), RUNS)
})
