// What everything in a soak shares: one clock, one storage, one set of books.

import { AlkstoreError, open } from "alkstore-wasm"
import type { Queue, QueueOptions, StorageAdapter, Store } from "alkstore-wasm"
import { seeded, type Random } from "../shared/seeded.js"
import { Books } from "./books.js"
import { SoakClock, type Elsewhere } from "./clock.js"
import { Findings } from "./findings.js"
import { Numbers } from "./payloads.js"
import { Signals } from "./signals.js"
import { Timetable } from "./timetable.js"

/** How much is done in a simulated day. */
export interface Load {
  readonly sessions: number
  readonly stepsPerSession: number
  readonly actionsPerStep: number
  /** Of schedules, beside one every hour, one whose spec changes, and one that comes and goes. */
  readonly specs: readonly string[]
}

/** The place that is soaked. */
export interface Place {
  readonly elsewhere: Elsewhere
  readonly faults: Faults
  /** An adapter for the one storage; several stores may be open on it. */
  adapter(): StorageAdapter
  /** What only this place can do, at the end of a session: nothing else is under way. */
  extra(world: World): Promise<void>
  /** What is left where it should not be, when nothing is under way. */
  audit(world: World): Promise<void>
}

export interface Faults {
  /** How many have struck. */
  readonly struck: number
  /** Lets one of them strike soon. */
  arm(random: Random): void
  /** None strikes from here on. */
  calm(): Promise<void>
}

export interface World {
  readonly clock: SoakClock
  readonly random: Random
  readonly findings: Findings
  readonly books: Books
  readonly timetable: Timetable
  readonly signals: Signals
  readonly numbers: Numbers
  readonly load: Load
  readonly place: Place
  /** Open from the first day to the last. */
  readonly ground: Store
  readonly counts: Counts
  open(storage?: StorageAdapter): Promise<Store>
}

/** What was done, for the summary. */
export interface Counts {
  stores: number
  runs: number
  actions: number
  claims: number
  late: number
  refused: number
  jumps: number
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** Of plain queues, the options that a world's handles have. Leases are short, so that many lapse. */
export const QUEUES: Record<string, QueueOptions> = {
  mail: { visibilityTimeout: MINUTE_MS, maxAttempts: 4, deadLetterRetention: 2 * DAY_MS },
  later: { visibilityTimeout: MINUTE_MS, backoffBase: "1s", deadLetterRetention: DAY_MS },
  reports: {},
  errands: { visibilityTimeout: MINUTE_MS, maxAttempts: 50 }
}
export const OUTBOXES = ["webhooks", "letters"]

export function queueOf<P = unknown>(store: Store, name: string): Queue<P> {
  return store.queue<P>(name, QUEUES[name])
}

export async function newWorld(place: Place, load: Load, seed: number): Promise<World> {
  const clock = new SoakClock(place.elsewhere)
  const random = seeded(seed)
  const findings = new Findings()
  const counts: Counts = { stores: 0, runs: 0, actions: 0, claims: 0, late: 0, refused: 0, jumps: 0 }
  const openStore = (storage = place.adapter()): Promise<Store> => {
    counts.stores += 1
    return open({ clock, storage, seed: random.int(0, 1_000_000) })
  }
  return {
    clock,
    random,
    findings,
    books: new Books(findings),
    timetable: new Timetable(findings),
    signals: new Signals(),
    numbers: new Numbers(),
    load,
    place,
    ground: await openStore(),
    counts,
    open: openStore
  }
}

/** What `call` resolves to; `null` if a fault refused it, which then has not happened. Nothing else may fail. */
export async function attempt<T>(world: World, what: string, call: () => Promise<T>): Promise<{ value: T } | null> {
  try {
    return { value: await call() }
  } catch (error) {
    refused(world, what, error)
    return null
  }
}

/** Notes that `what` was refused: a fault must have struck. */
export function refused({ counts, findings, place }: World, what: string, error: unknown): void {
  counts.refused += 1
  const isExcused = codeOf(error) === "Storage" && place.faults.struck > 0 && !/is not known/.test(String(error))
  findings.check(isExcused, () => `${what}: ${error}`)
}

export function codeOf(error: unknown): string | null {
  return error instanceof AlkstoreError ? error.code : null
}
