// The specification: what each kind of argument makes of each value. What is not listed is refused.

import { expect } from "vitest"
import type { ErrorCode } from "alkstore-wasm"
import { MAX } from "../support.js"
import { TRAP, VALUES, type ValueName } from "./values.js"

/** Refused with this code, by a message that names the argument and shows the value, or says `says`. */
export interface Refused {
  refused: ErrorCode
  says?: string
}

/** Accepted, and this is what has become of it; ABSENT, ITSELF and COPY stand for what they say. */
export interface Taken {
  taken: unknown
}

export type Expected = Refused | Taken

/** As if the argument had not been given. */
export const ABSENT = Symbol("absent")
/** The very value. */
export const ITSELF = Symbol("itself")
/** What structured clone makes of it. */
export const COPY = Symbol("copy")

export type Kind = (value: ValueName) => Expected

const taken = (seen: unknown): Taken => ({ taken: seen })
const refused = (code: ErrorCode, says?: string): Refused =>
  says === undefined ? { refused: code } : { refused: code, says }

/** Whatever is not listed gets `otherwise`. */
function kind(otherwise: Expected, listed: Partial<Record<ValueName, Expected>>): Kind {
  return (value) => listed[value] ?? otherwise
}

const WRONG = refused("InvalidArgument")

const optional = { undefined: taken(ABSENT), null: taken(ABSENT) }

/** The same, where none may be given. */
const orAbsent =
  (other: Kind): Kind =>
  (value) =>
    value === "undefined" || value === "null" ? taken(ABSENT) : other(value)

const NAMES = {
  "an empty string": refused("InvalidName"),
  "white space": refused("InvalidName"),
  "a lone surrogate": refused("InvalidName"),
  "a huge string": taken(ITSELF),
  "a number as text": taken(ITSELF),
  "the name __proto__": taken(ITSELF),
  "a word": taken(ITSELF),
} as const

/** Queues, outboxes, locks, schedules. */
export const sharedName = kind(WRONG, { ...NAMES, "a reserved name": refused("ReservedName") })
/** Owners and workers. */
export const localName = kind(WRONG, { ...NAMES, "a reserved name": taken(ITSELF) })

export const spec = kind(WRONG, {
  "an empty string": refused("InvalidSpec"),
  "white space": refused("InvalidSpec"),
  "a lone surrogate": refused("InvalidSpec", "spec"),
  "a huge string": refused("InvalidSpec", "spec"),
  "the name __proto__": refused("InvalidSpec"),
  "a number as text": refused("InvalidSpec"),
  "a reserved name": refused("InvalidSpec"),
  "a word": refused("InvalidSpec"),
})

/** Any finite number is meaningful, and fractions of a millisecond are dropped. */
const NUMBERS = { "-0": taken(0), "2^53": taken(MAX), "-1": taken(-1), "1.5": taken(1) } as const

export const boundary = orAbsent(kind(WRONG, NUMBERS))
export const requiredBoundary = kind(WRONG, NUMBERS)
/** No strings, but Dates. */
export const instant = orAbsent(kind(WRONG, NUMBERS))
/** Holds something, so it is positive. */
export const ttl = kind(WRONG, { "2^53": taken(MAX), "1.5": taken(1) })
/** Truncated; not positive is nothing. */
export const extent = kind(WRONG, { "-0": taken(0), "2^53": taken("all"), "-1": taken(0), "1.5": taken(1) })
/** Safe integers. */
export const count = kind(WRONG, { "-0": taken(0), "-1": taken(-1) })
export const optionalCount = orAbsent(count)
export const optionalExtent = orAbsent(extent)
/** A count that no job has. */
export const id = kind(WRONG, { "-0": taken("none"), "-1": taken("none") })
/** Of the job that comes before the first one listed. */
export const after = orAbsent(kind(WRONG, { "-0": taken("all"), "-1": taken("all") }))
/** Any safe integer fixes the jitter. */
export const seed = orAbsent(kind(WRONG, { "-0": taken("it works"), "-1": taken("it works") }))
/** A clock's reading. */
export const reading = kind(WRONG, { "-0": taken(-0), "2^53": taken(MAX + 1), "-1": taken(-1), "1.5": taken(1.5) })
/** The same, as jobs have it. */
export const clockReading = kind(WRONG, NUMBERS)
/** A constructor's default stands for `undefined` alone. */
export const start: Kind = (value) => (value === "undefined" ? taken(ABSENT) : reading(value))
/** What a manual clock is to let pass. */
export const span = kind(WRONG, { "-0": taken(0), "2^53": taken(MAX + 1), "1.5": taken(1) })
/** What is slept: nothing, or for a while. */
export const nap = kind(WRONG, {
  "-0": taken("awake"),
  "-1": taken("awake"),
  "2^53": taken("asleep"),
  "1.5": taken("asleep"),
})

export const ids = kind(WRONG, { "an array": taken("those") })
export const idsOrAll = orAbsent(ids)

export const bool = orAbsent(kind(WRONG, { true: taken(true) }))
/** One of a few words, none of which is here. */
export const choice = orAbsent(kind(WRONG, {}))

/** Nothing here is one. */
export const signal = orAbsent(kind(WRONG, {}))
export const storage = orAbsent(kind(WRONG, {}))
export const clock = orAbsent(kind(WRONG, {}))
export const transaction = orAbsent(kind(WRONG, {}))
export const native = kind(WRONG, {})
/** One that is absent leaves a name that is none. */
export const database = kind(WRONG, {
  undefined: refused("InvalidArgument", "database must be"),
  null: refused("InvalidArgument", "database must be"),
})
/** Of an object that must have it. */
export const method = kind(WRONG, { "a function": taken("called") })
export const flag = kind(WRONG, { true: taken(true) })
export const callback = kind(WRONG, { "a function": taken("called") })

/** A bag of options: nothing but an object, in which no name is unknown. */
export const options = kind(refused("InvalidArgument", "options"), {
  ...optional,
  "an object without a prototype": taken(ABSENT),
})

const uncopied = (says: string): Refused => refused("Codec", says)

/** What structured clone takes. */
export const payload = kind(taken(COPY), {
  "a symbol": uncopied("payload is a symbol"),
  "a function": uncopied("payload is a function"),
  "an object whose getters throw": uncopied('payload["0"] cannot be read: Error: a trap'),
  "a Proxy whose traps throw": uncopied("payload is an object that cannot be read"),
  "a revoked Proxy": uncopied("payload is an object that cannot be read"),
  "a thenable": uncopied("payload.then is a function"),
  "a promise": uncopied("payload is a Promise"),
  "an object that cannot be made a string": uncopied("payload.toString is a function"),
  "200,000 objects in each other": uncopied("payload is nested too deeply"),
})

/** Why a job failed: anything, as text. */
export const reason: Kind = (value) => taken(VALUES[value].text ?? ABSENT)
/** The same of what was thrown, where nothing is something. */
export const thrown: Kind = (value) => taken(VALUES[value].text ?? value)

// What is looked at for a `then`.
const THENS = {
  "an object whose getters throw": TRAP,
  "a Proxy whose traps throw": TRAP,
  "a revoked Proxy": expect.stringContaining("revoked") as string,
} as const

const THROWN_BY_THEN = Object.fromEntries(Object.entries(THENS).map(([name, text]) => [name, taken(text)]))

/** What a delivery returns: success, unless it cannot be awaited. */
export const delivered = kind(taken("acknowledged"), THROWN_BY_THEN)
/** What a transaction's body returns comes out, awaited. */
export const returned = kind(taken(ITSELF), {
  ...THROWN_BY_THEN,
  "a thenable": taken("its value"),
  "a promise": taken("its value"),
})
/** Comes out unchanged. */
export const passed = kind(taken("unchanged"), {})
/** Makes no difference. */
export const ignored = kind(taken("ignored"), {})

/** A name of a database: any that is not blank. */
export const databaseName = kind(refused("InvalidArgument", "name"), {
  "a lone surrogate": taken("indexeddb"),
  "a huge string": taken("indexeddb"),
  "a number as text": taken("indexeddb"),
  "the name __proto__": taken("indexeddb"),
  "a reserved name": taken("indexeddb"),
  "a word": taken("indexeddb"),
})

/** Where the engine's bytes are. What is text is an address, and leads nowhere; what is awaited may be text. */
export const engineInput = kind(WRONG, {
  undefined: refused("Unavailable", "call init(input)"),
  "an empty string": refused("Unavailable", ""),
  "white space": refused("Unavailable", ""),
  "a lone surrogate": refused("Unavailable", ""),
  "a huge string": refused("Unavailable", ""),
  "a number as text": refused("Unavailable", "5"),
  "the name __proto__": refused("Unavailable", "__proto__"),
  "a reserved name": refused("Unavailable", "__alkstore_x"),
  "a word": refused("Unavailable", "soon"),
  "a thenable": refused("Unavailable", "its value"),
  "a promise": refused("Unavailable", "its value"),
  "an object whose getters throw": refused("Unavailable", TRAP),
  "a Proxy whose traps throw": refused("Unavailable", TRAP),
  "a revoked Proxy": refused("Unavailable", "revoked"),
})
