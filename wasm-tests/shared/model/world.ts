// The engine beside the model: two stores on one storage, one clock, and what the operations leave for later ones.

import { open } from "alkstore-wasm"
import type { ClaimedJob, Lock, Outbox, Queue, StorageAdapter, Store } from "alkstore-wasm"
import { ManualClock } from "alkstore-wasm/testing"
import { expect } from "vitest"
import { fieldsOf, START } from "../support.js"
import { type Claim, type Job, Model, OUTBOX, PLAIN, type Stamps } from "./model.js"

export const QUEUES = ["mail", "thumbs"] as const
const HOOKS = "hooks"

/** A queue, or an outbox. */
export interface Lane {
  /** As its jobs have it. */
  name: string
  stamps: Stamps
  /** By which store? */
  handles: (Queue | Outbox)[]
}

export interface World {
  model: Model
  clock: ManualClock
  stores: Store[]
  lanes: Lane[]
  /** Each with the store that it was made by. */
  claims: { job: ClaimedJob; claim: Claim; lane: Lane; by: number }[]
  locks: { lock: Lock; owner: string; by: number }[]
  /** Runners so far: each is somebody else. */
  runners: number
}

/** `options` are the stamps of the queues, in which `null` is the default. */
export async function start(storages: [StorageAdapter, StorageAdapter], options: Partial<Stamps>[]): Promise<World> {
  const clock = new ManualClock(START)
  const stores = [
    await open({ clock, seed: 1, storage: storages[0] }),
    await open({ clock, seed: 2, storage: storages[1] }),
  ]
  const queues = QUEUES.map((name, at): Lane => {
    return {
      name,
      stamps: { ...PLAIN, ...options[at] },
      handles: stores.map((store) => store.queue(name, options[at])),
    }
  })
  const outbox = {
    name: `__alkstore_outbox:${HOOKS}`,
    stamps: OUTBOX,
    handles: stores.map((store) => store.outbox(HOOKS)),
  }
  return { model: new Model(START), clock, stores, lanes: [...queues, outbox], claims: [], locks: [], runners: 0 }
}

export function moveTo(world: World, now: number): void {
  world.clock.set(now)
  world.model.now = now
}

export function same(what: string, engine: unknown, model: unknown): void {
  expect(engine, `${what}: the engine's answer, and the model's`).toEqual(model)
}

/** A job of the engine's, with nothing but its fields. */
export const plain = (job: ClaimedJob | import("alkstore-wasm").Job | null): Job | null =>
  job === null ? null : (fieldsOf(job) as Job)

/** Everything there is, as a store sees it. */
export async function compare(world: World, by: number): Promise<void> {
  const { model, lanes, stores } = world
  for (const { name, handles } of lanes) {
    same(`all of ${name}`, (await handles[by]!.list({ limit: 1e6 })).map(plain), model.list(name, null, Infinity, 0))
    same(`stats of ${name}`, await handles[by]!.stats(), model.stats(name))
  }
  same("schedules", await stores[by]!.schedules(), model.listSchedules())
}
