// A payload for each number, of every kind that is stored in a way of its own, and the number of a payload.

import type { Random } from "../shared/seeded.js"

const KINDS = 12
const BYTES = 600
const LARGE_CHARACTERS = 6_000

/** The payload of the job number `n`. */
export function payloadOf(n: number): unknown {
  switch (n % KINDS) {
    case 9:
      return new Map<string, unknown>([["n", n], ["text", textOf(n)]])
    case 10:
      return { n, bytes: new Uint8Array(BYTES).fill(n % 251) }
    case 11:
      return { n, text: textOf(n).padEnd(LARGE_CHARACTERS, "x") }
    default:
      return { n, text: textOf(n), at: new Date(n), tags: ["a", n, null] }
  }
}

/** Whether a durable storage keeps it in a record of its own. */
export function liesApart(n: number): boolean {
  return n % KINDS >= 9
}

/** The number of the job that `payload` belongs to, or `null` if it is not exactly that job's. */
export function numberOf(payload: unknown): number | null {
  const n: unknown = payload instanceof Map ? payload.get("n") : (payload as { n?: unknown } | null)?.n
  if (!Number.isSafeInteger(n)) return null
  return isSame(payload, payloadOf(n as number)) ? (n as number) : null
}

/** Numbers that nobody has drawn. */
export class Numbers {
  #last = 0

  next(): number {
    return this.several(1)
  }

  /** The first of `count` in a row. */
  several(count: number): number {
    this.#last += count
    return this.#last - count + 1
  }
}

/** Some of the kinds of errors that a delivery may end with. */
export function anError(random: Random): unknown {
  return random.pick<unknown>([new Error("the receiver is away"), "no", undefined, null, 404, { status: 500 }])
}

function textOf(n: number): string {
  return `job ${n}: ä€😀`
}

function isSame(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) return Object.is(a, b)
  if (a.constructor.name !== b.constructor.name) return false
  if (a instanceof Date) return a.getTime() === (b as Date).getTime()
  if (a instanceof Uint8Array) return String(a) === String(b)
  const [mine, others] = [entriesOf(a), entriesOf(b)]
  const isAsThere = ([key, value]: [unknown, unknown], at: number): boolean =>
    key === others[at]![0] && isSame(value, others[at]![1])
  return mine.length === others.length && mine.every(isAsThere)
}

function entriesOf(value: object): [unknown, unknown][] {
  return value instanceof Map ? [...value.entries()] : Object.entries(value)
}
