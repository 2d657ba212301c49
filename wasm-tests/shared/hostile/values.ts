// What a caller may pass that no type allows.

import { MAX } from "../support.js"

export interface Value {
  /** Anew for each use, where it could be changed or remembered. */
  readonly make: () => unknown
  /** How a message shows it. */
  readonly shown: string
  /** What a dead letter keeps of it when it is why a job failed; `null` if it counts as no reason. */
  readonly text: string | null
}

const value = (make: () => unknown, shown: string, text: string | null = shown): Value => ({ make, shown, text })

/** What throwing getters and traps throw. */
export const TRAP = "a trap"

export function trap(): never {
  throw new Error(TRAP)
}

export function hostile(): string {
  return "called"
}

class Point {
  x = 1
  y = 2
}

const HUGE = "x".repeat(2 ** 17)
const DEEP = Array.from({ length: 200_000 }).reduce<object>((inner) => ({ inner }), {})

// Whatever anybody may look for in an object.
const READ =
  "then aborted addEventListener removeEventListener now sleep kind storage clock seed delay runAt priority " +
  "maxAttempts expires transaction limit state after standby visibilityTimeout backoffBase deadLetterRetention " +
  "durability database createObjectStore objectStoreNames mode idbtrans message length 0"

const biting = (): object =>
  Object.defineProperties({}, Object.fromEntries(READ.split(" ").map((name) => [name, { get: trap, enumerable: true }])))

// The traps of a Proxy are named like the functions of Reflect.
const biter = (): object =>
  new Proxy({}, Object.fromEntries(Object.getOwnPropertyNames(Reflect).map((name) => [name, trap])))

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

function cyclic(): object {
  const object: Record<string, unknown> = {}
  object["self"] = object
  return object
}

const OBJECT = "[object Object]"

export const VALUES = {
  undefined: value(() => undefined, "undefined", null),
  null: value(() => null, "null", null),
  true: value(() => true, "true"),
  NaN: value(() => Number.NaN, "NaN"),
  Infinity: value(() => Infinity, "Infinity"),
  "-Infinity": value(() => -Infinity, "-Infinity"),
  "-0": value(() => -0, "0"),
  "2^53": value(() => MAX + 1, "9007199254740992"),
  "-1": value(() => -1, "-1"),
  "1.5": value(() => 1.5, "1.5"),
  "an empty string": value(() => "", '""', ""),
  "white space": value(() => " \t\n", '" \\t\\n"', " \t\n"),
  "a lone surrogate": value(() => "\ud800", '"\\ud800"', "\ufffd"),
  "a huge string": value(() => HUGE, `"${"x".repeat(100)}`, HUGE),
  "the name __proto__": value(() => "__proto__", '"__proto__"', "__proto__"),
  "a reserved name": value(() => "__alkstore_x", '"__alkstore_x"', "__alkstore_x"),
  "a number as text": value(() => "5", '"5"', "5"),
  "a word": value(() => "soon", '"soon"', "soon"),
  "a symbol": value(() => Symbol("s"), "Symbol(s)"),
  "a BigInt": value(() => 1n, "1n", "1"),
  "a function": value(() => hostile, "function hostile", String(hostile)),
  "an array": value(() => [1, 2], "[1, 2]", "1,2"),
  "an invalid Date": value(() => new Date(Number.NaN), "Invalid Date"),
  "a cyclic object": value(cyclic, OBJECT),
  "an object with a key __proto__": value(() => JSON.parse('{"__proto__": {"polluted": true}}') as object, OBJECT),
  "an object whose getters throw": value(biting, OBJECT),
  "a Proxy whose traps throw": value(biter, "object"),
  "a revoked Proxy": value(revoked, "object"),
  "a class instance": value(() => new Point(), OBJECT),
  "a boxed number": value(() => Object(5), "5"),
  "a boxed string": value(() => Object("5s"), "5s"),
  "a thenable": value(() => ({ then: (resolve: (value: unknown) => void) => resolve("its value") }), OBJECT),
  "a promise": value(() => Promise.resolve("its value"), "[object Promise]"),
  "a Map": value(() => new Map([["delay", 5]]), "[object Map]"),
  "an object without a prototype": value(() => Object.create(null), "object"),
  "an object that cannot be made a string": value(() => ({ toString: trap, valueOf: trap }), "object"),
  "200,000 objects in each other": value(() => DEEP, OBJECT),
} satisfies Record<string, Value>

export type ValueName = keyof typeof VALUES
export const VALUE_NAMES = Object.keys(VALUES) as ValueName[]
