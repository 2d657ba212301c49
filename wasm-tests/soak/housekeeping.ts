// What is done when a session is over and nothing is under way: count what schedules fired, sweep, look after dead
// letters, and compare what is stored with the books.

import type { Job, JobState, Outbox, Queue } from "alkstore-wasm"
import { numberOf } from "./payloads.js"
import { drain } from "./workers.js"
import { attempt, OUTBOXES, QUEUES, queueOf, type World } from "./world.js"

const PAGE = 500
const REDRIVEN = 1 / 3
const PURGED = 1 / 2

type Collection = Queue | Outbox

/** Everything that the books have an account of. */
export function collections({ ground }: World): Collection[] {
  return [...Object.keys(QUEUES).map((name) => queueOf(ground, name)), ...OUTBOXES.map((name) => ground.outbox(name))]
}

export async function housekeeping(world: World): Promise<void> {
  await tally(world)
  await drain(world, queueOf(world.ground, "reports"), "reporter")
  for (const collection of collections(world)) {
    await sweep(world, collection)
    await deadLetters(world, collection)
    await compare(world, collection)
  }
}

// What has turned up in the queue of the schedules since the last time: each boundary one job.
async function tally(world: World): Promise<void> {
  const { timetable, books, findings, ground } = world
  for (const job of await all(queueOf<{ schedule: string }>(ground, "reports"))) {
    if (books.has("reports", job.id)) continue
    timetable.fired(job.payload.schedule)
    findings.check(job.attempts === 0, () => `reports ${job.id}: back, or handed out too soon`)
    books.enqueued("reports", job.id, 0)
  }
  timetable.compare(await ground.schedules())
}

async function sweep(world: World, collection: Collection): Promise<void> {
  const { findings, clock } = world
  const { name } = collection
  const now = clock.now()
  const before = await all(collection)
  const swept = await attempt(world, "sweepExpired", () => collection.sweepExpired())
  const after = new Map((await all(collection)).map((job) => [job.id, job]))
  const isExpired = ({ state, expiresAt }: Job): boolean => state !== "dead" && expiresAt !== null && expiresAt <= now
  // Retention moves back with a clock that was corrected, and when a job died is history, which does not.
  const died = ({ diedAt, deadLetterRetention }: Job, atMost: number): boolean =>
    diedAt !== null && deadLetterRetention !== null && diedAt - atMost <= now - deadLetterRetention
  const moved = before.filter(isExpired)
  for (const { id } of moved) {
    findings.check(after.get(id)?.lastError === "expired", () => `${name} ${id}: not dead after it expired`)
  }
  const deleted = before.filter(({ id }) => !after.has(id))
  for (const job of deleted) {
    findings.check(died(job, clock.corrected), () => `${name} ${job.id}: deleted before its retention ended`)
    leave(world, collection, job)
  }
  const kept = before.filter((job) => after.has(job.id) && died(job, 0))
  findings.check(kept.length === 0, () => `${name}: there after their retention: ${kept.map(({ id }) => id)}`)
  const expected = moved.length + deleted.length
  findings.check(swept?.value === expected, () => `${name}: swept ${swept?.value} instead of ${expected}`)
}

// Some are put back, some deleted, the rest is kept for the next day.
async function deadLetters(world: World, collection: Collection): Promise<void> {
  const { findings, random } = world
  const dead = await all(collection, "dead")
  const redriven = dead.slice(0, Math.floor(dead.length * REDRIVEN)).map((job) => job.id)
  const put = await attempt(world, "redrive", () => collection.redrive(redriven))
  findings.check(put?.value === redriven.length, () => `${collection.name}: redrove ${put?.value} of ${redriven.length}`)
  const rest = dead.slice(redriven.length)
  const chosen = random.chance(0.1) ? rest : rest.slice(0, Math.ceil(rest.length * PURGED))
  // All of them without ids.
  const ids = chosen === rest ? undefined : chosen.map((job) => job.id)
  const purged = await attempt(world, "purge", () => collection.purge(ids))
  findings.check(purged?.value === chosen.length, () => `${collection.name}: purged ${purged?.value} of ${chosen.length}`)
  for (const job of chosen) leave(world, collection, job)
}

function leave({ books }: World, collection: Collection, job: Job): void {
  books.left(collection.name, job.id, job.lastError === "expired" ? "expired" : "purged")
}

/** What is stored is what the books say, payloads included. */
export async function compare(world: World, collection: Collection): Promise<void> {
  const { books, findings } = world
  const { name } = collection
  const jobs = await all(collection)
  books.compare(name, new Set(jobs.map((job) => job.id)))
  const living = books.living(name)
  for (const job of jobs) {
    const n = name === "reports" ? 0 : numberOf(job.payload)
    findings.check(n === living.get(job.id), () => `${name} ${job.id}: the payload of ${n}, not of ${living.get(job.id)}`)
  }
  const { pending, processing, dead } = await collection.stats()
  const counted = pending + processing + dead
  findings.check(counted === jobs.length, () => `${name}: counts ${counted} jobs and lists ${jobs.length}`)
}

/** All jobs of a queue, a page at a time. */
export async function all<P>(collection: Queue<P> | Outbox<P>, state?: JobState): Promise<Job<P>[]> {
  const jobs: Job<P>[] = []
  for (;;) {
    const page = await collection.list({ limit: PAGE, after: jobs.at(-1)?.id ?? 0, state })
    jobs.push(...page)
    if (page.length < PAGE) return jobs
  }
}
