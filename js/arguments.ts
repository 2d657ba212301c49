// What callers pass, into what the engine takes: doubles, with NaN for an absent option. Types and finiteness are
// checked here, where the value can still be named; what a number may be beyond that is the engine's to say.

import { parseDuration } from "./duration.js"
import { AlkstoreError } from "./errors.js"
import type { EnqueueOptions, ErrorCode, QueueOptions, ScheduleOptions } from "./types.js"

/** What an error says in the place of a value. */
export function show(value: unknown): string {
  let text: string
  try {
    if (typeof value === "string") text = JSON.stringify(value)
    else if (typeof value === "bigint") text = `${value}n`
    else if (typeof value === "function") text = `function ${value.name || "(anonymous)"}`
    else if (Array.isArray(value)) text = `[${value.map(String).join(", ")}]`
    else text = String(value)
  } catch {
    text = typeof value
  }
  return text.length > 120 ? `${text.slice(0, 117)}...` : text
}

export function invalid(
  argument: string,
  value: unknown,
  expected: string,
  code: ErrorCode = "InvalidArgument"
): AlkstoreError {
  return new AlkstoreError(code, `${argument} must be ${expected}, got ${show(value)}`)
}

/** A name's type and form. Whether it is blank or reserved is the engine's to say. */
export function nameArgument(argument: string, value: unknown): string {
  if (typeof value !== "string") throw invalid(argument, value, "a string")
  if (!isWellFormed(value)) throw invalid(argument, value, "well-formed Unicode", "InvalidName")
  return value
}

// A loop, not a regular expression: compiling one costs a cold start more.
function isWellFormed(text: string): boolean {
  for (const character of text) {
    const point = character.codePointAt(0) as number
    if (point >= 0xd800 && point <= 0xdfff) return false
  }
  return true
}

export function finite(argument: string, value: unknown): number {
  if (typeof value !== "number" || !Number.isFinite(value)) throw invalid(argument, value, "a finite number")
  return value
}

export function count(argument: string, value: unknown): number {
  if (!Number.isSafeInteger(value)) throw invalid(argument, value, "a safe integer")
  return value as number
}

export function duration(argument: string, value: unknown): number {
  const ms = typeof value === "string" ? parseDuration(value) : value
  if (typeof ms !== "number" || !Number.isFinite(ms)) {
    throw invalid(argument, value, 'a finite number of milliseconds or a string like "250ms", "1.5s", "5m", "2h", "1d"')
  }
  return ms
}

/**
 * How long something is held: at least a millisecond, what is below one dropped. The engine says the same; here the
 * value can be named as it was given.
 */
export function ttl(argument: string, value: unknown): number {
  const ms = duration(argument, value)
  if (Math.trunc(ms) <= 0) throw invalid(argument, value, "at least 1 ms")
  return ms
}

export function instant(argument: string, value: unknown): number {
  const ms = isDate(value) ? Date.prototype.getTime.call(value) : value
  if (typeof ms !== "number" || !Number.isFinite(ms)) {
    throw invalid(argument, value, "a finite number of milliseconds since the Unix epoch, or a valid Date")
  }
  return ms
}

// By its brand, not its class: it may come from another realm, or be made by a fake clock's Date.
function isDate(value: unknown): value is Date {
  try {
    Date.prototype.getTime.call(value)
    return true
  } catch {
    return false
  }
}

/** Ids, ascending, each once. */
export function ids(argument: string, value: unknown): Float64Array {
  const list = listOf(value)
  if (list === null) throw invalid(argument, value, "an array of ids")
  const checked = new Float64Array(list.length)
  let isAscending = true
  for (let at = 0; at < list.length; at++) {
    const id = list[at]
    // The name of one among many is made only for whom it does not fit.
    if (!Number.isSafeInteger(id)) count(`${argument}[${at}]`, id)
    checked[at] = id as number
    isAscending &&= at === 0 || (checked[at - 1] as number) < (id as number)
  }
  return isAscending ? checked : Float64Array.from(new Set(checked)).sort()
}

/** What an array holds, read once; `null` for what is none, or cannot be read. */
function listOf(value: unknown): unknown[] | null {
  try {
    if (!Array.isArray(value)) return null
    const list: unknown[] = []
    for (let at = 0, { length } = value; at < length; at++) list.push(value[at])
    return list
  } catch {
    // A getter threw, or the Proxy was revoked: no array.
    return null
  }
}

/** The same, where none at all means every job. */
export function idsOrAll(argument: string, value: unknown): Float64Array | undefined {
  return value === undefined || value === null ? undefined : ids(argument, value)
}

export function callback<F>(argument: string, value: F): F {
  if (typeof value !== "function") throw invalid(argument, value, "a function")
  return value
}

export interface Signal {
  readonly signal: AbortSignal
  /** As it was read with the rest: reading it again might throw. */
  readonly aborted: boolean
}

/** Anything that looks like a signal is one: there are polyfills, and other realms. `null` where there is none. */
export function signalArgument(signal: unknown): Signal | null {
  if (signal === undefined || signal === null) return null
  const given = signal as AbortSignal
  try {
    const { aborted, addEventListener, removeEventListener } = given
    const listens = typeof addEventListener === "function" && typeof removeEventListener === "function"
    if (typeof given === "object" && typeof aborted === "boolean" && listens) return { signal: given, aborted }
  } catch {
    // A getter threw: no signal.
  }
  throw invalid("signal", signal, "an AbortSignal")
}

type Kind = (name: string, value: unknown) => unknown

/**
 * Reads an options object, each option once. Absent ones (`undefined`, `null`) are left out of the result; an unknown
 * one is refused whatever its value.
 */
export function options<K extends string>(
  argument: string,
  given: unknown,
  kinds: Record<K, Kind>
): Partial<Record<K, unknown>> {
  if (given === undefined || given === null) return {}
  if (!isPlain(given)) throw invalid(argument, given, "an object of options")
  const result: Partial<Record<K, unknown>> = {}
  const values = readAll(argument, given, Object.keys(kinds))
  for (const name of Object.keys(kinds) as K[]) {
    const value = values[name]
    if (value !== undefined && value !== null) result[name] = kinds[name](name, value)
  }
  return result
}

// Not an array, a Date, a boxed primitive or a promise that nobody awaited: of these every option would be absent.
function isPlain(given: unknown): given is object {
  try {
    return Object.prototype.toString.call(given) === "[object Object]"
  } catch {
    return false
  }
}

// The object may have getters, or be a Proxy: anything may be thrown while reading it.
function readAll(argument: string, given: object, names: string[]): Record<string, unknown> {
  let unknown: string | undefined
  const values: Record<string, unknown> = {}
  try {
    unknown = Object.keys(given).find((key) => !names.includes(key))
    if (unknown === undefined) for (const name of names) values[name] = (given as Record<string, unknown>)[name]
  } catch (cause) {
    throw new AlkstoreError("InvalidArgument", `${argument} could not be read: ${show(cause)}`, { cause })
  }
  if (unknown === undefined) return values
  let value: unknown
  try {
    value = (given as Record<string, unknown>)[unknown]
  } catch {
    value = "something that cannot be read"
  }
  throw new AlkstoreError(
    "InvalidArgument",
    `${argument} has no option ${show(unknown)} (got ${show(value)}); there are ${names.join(", ")}`
  )
}

const absent = Number.NaN
const or = (value: unknown): number => (value === undefined ? absent : (value as number))

export interface EnqueueNumbers {
  delay: number
  runAt: number
  priority: number
  maxAttempts: number
  expires: number
  /** The caller's own, for the storage to check; `undefined` where there is none. */
  transaction: unknown
}

const NO_ENQUEUE_OPTIONS: EnqueueNumbers = {
  delay: absent,
  runAt: absent,
  priority: absent,
  maxAttempts: absent,
  expires: absent,
  transaction: undefined
}

const ENQUEUE_KINDS: Record<keyof EnqueueOptions, Kind> = {
  delay: duration,
  runAt: instant,
  priority: count,
  maxAttempts: count,
  expires: duration,
  transaction: (_, value) => value
}

export function enqueueOptions(given: unknown): EnqueueNumbers {
  if (given === undefined || given === null) return NO_ENQUEUE_OPTIONS
  const { delay, runAt, priority, maxAttempts, expires, transaction } = options("options", given, ENQUEUE_KINDS)
  return {
    delay: or(delay),
    runAt: or(runAt),
    priority: or(priority),
    maxAttempts: or(maxAttempts),
    expires: or(expires),
    transaction
  }
}

const QUEUE_KINDS: Record<keyof QueueOptions, Kind> = {
  visibilityTimeout: duration,
  maxAttempts: count,
  backoffBase: duration,
  deadLetterRetention: duration
}

export function queueOptions(given: unknown): Record<keyof QueueOptions, number> {
  const read = options("options", given, QUEUE_KINDS)
  return {
    visibilityTimeout: or(read.visibilityTimeout),
    maxAttempts: or(read.maxAttempts),
    backoffBase: or(read.backoffBase),
    deadLetterRetention: or(read.deadLetterRetention)
  }
}

const SCHEDULE_KINDS: Record<keyof ScheduleOptions, Kind> = { priority: count, maxAttempts: count, expires: duration }

export function scheduleOptions(given: unknown): Record<keyof ScheduleOptions, number> {
  const read = options("options", given, SCHEDULE_KINDS)
  return { priority: or(read.priority), maxAttempts: or(read.maxAttempts), expires: or(read.expires) }
}
