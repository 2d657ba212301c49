// Workers: what they claim is acked, retried, failed, held too long, or forgotten.

import type { ClaimedJob, Outbox, Queue } from "alkstore-wasm"
import { anError, numberOf, payloadOf } from "./payloads.js"
import { attempt, codeOf, refused, type World } from "./world.js"

/** Closer than this to its end, a lease may have ended or not. */
const DOUBT_MS = 30_000
const HANG_MS = 130_000
const BATCH_MAX = 10

/** Deliveries that hang, until they are let go of. */
export class Hanging {
  readonly #world: World
  #gates: { readonly due: number; readonly open: () => void }[] = []
  readonly #unawaited = new Set<Promise<void>>()
  #isOver = false

  constructor(world: World) {
    this.#world = world
  }

  /** Resolves long after a lease of a minute has ended; sooner if the session does, and at once from then on. */
  async hang(): Promise<void> {
    if (this.#isOver) return
    const due = this.#world.clock.elapsed + HANG_MS
    return new Promise((open) => void this.#gates.push({ due, open }))
  }

  /** Does `late` then, and lets the worker go on meanwhile. */
  afterwards(late: () => Promise<void>): void {
    const task = this.hang().then(late).finally(() => this.#unawaited.delete(task))
    this.#unawaited.add(task)
  }

  /** Lets go of all, and resolves when what was to be done late is done. */
  async end(): Promise<void> {
    this.#isOver = true
    this.letGo()
    await Promise.all(this.#unawaited)
  }

  letGo(): void {
    const isDue = ({ due }: { due: number }): boolean => this.#isOver || due <= this.#world.clock.elapsed
    const due = this.#gates.filter(isDue)
    this.#gates = this.#gates.filter((gate) => !isDue(gate))
    for (const gate of due) gate.open()
  }
}

/** What is known of a claim's end. */
class Lease {
  readonly #world: World
  readonly #jumps: number
  #end: number

  constructor(world: World, job: ClaimedJob) {
    this.#world = world
    this.#jumps = world.clock.jumps
    this.#end = job.claimExpiresAt!
  }

  extended(ms: number): void {
    this.#end = this.#world.clock.now() + ms
  }

  /** Whether it lives; `null` if that cannot be said. */
  get isAlive(): boolean | null {
    const left = this.#end - this.#world.clock.now()
    return this.#jumps !== this.#world.clock.jumps || Math.abs(left) < DOUBT_MS ? null : left > 0
  }
}

/** Takes from an outbox until `signal` aborts or the store closes. */
export async function outboxWorker(
  world: World,
  outbox: Outbox,
  id: string,
  signal: AbortSignal,
  hanging: Hanging
): Promise<void> {
  while (await waits(world, outbox, signal)) {
    try {
      await takeOne(world, outbox, id, hanging)
    } catch (error) {
      if (codeOf(error) === "Closed") return
      refused(world, `runOnce of ${outbox.name}`, error)
    }
  }
}

async function takeOne(world: World, outbox: Outbox, workerId: string, hanging: Hanging): Promise<void> {
  let taken: { id: number; lease: Lease; failed: boolean } | null = null
  await outbox.runOnce(workerId, async (job) => {
    noteClaim(world, outbox.name, job)
    taken = { id: job.id, lease: new Lease(world, job), failed: false }
    const draw = world.random.unit()
    if (draw < 0.12) {
      taken.failed = true
      throw anError(world.random)
    }
    if (draw < 0.17) {
      const landed = await job.heartbeat("2m")
      if (landed) taken.lease.extended(120_000)
    } else if (draw < 0.19) {
      await hanging.hang()
    } else if (draw < 0.23) {
      const n = world.numbers.next()
      const id = await outbox.enqueue(payloadOf(n), { delay: "30s" })
      world.books.enqueued(outbox.name, id, n)
    }
  })
  settle(world, outbox.name, taken)
}

// The delivery has succeeded: the job is gone if its lease lived.
function settle(world: World, queue: string, taken: { id: number; lease: Lease; failed: boolean } | null): void {
  if (taken === null || taken.failed) return
  const { isAlive } = taken.lease
  if (isAlive === null) world.books.doubt(queue, taken.id)
  else if (isAlive) world.books.left(queue, taken.id, "acked")
  else world.counts.late += 1
}

/** Claims one by one. */
export async function queueWorker(
  world: World,
  queue: Queue,
  id: string,
  signal: AbortSignal,
  hanging: Hanging
): Promise<void> {
  while (await waits(world, queue, signal)) {
    try {
      const job = await queue.claimOne(id)
      if (job !== null) await work(world, queue, job, hanging)
    } catch (error) {
      if (codeOf(error) === "Closed") return
      refused(world, `a claim of ${queue.name}`, error)
    }
  }
}

async function work(world: World, queue: Queue, job: ClaimedJob, hanging: Hanging): Promise<void> {
  noteClaim(world, queue.name, job)
  const lease = new Lease(world, job)
  const draw = world.random.unit()
  if (draw < 0.08) await landed(world, lease, "retry", () => job.retry(anError(world.random)))
  else if (draw < 0.13) await landed(world, lease, "retry", () => job.retry(null, "30s"))
  else if (draw < 0.17) await landed(world, lease, "fail", () => job.fail(anError(world.random)))
  else if (draw < 0.22) {
    if (await landed(world, lease, "heartbeat", () => job.heartbeat("2m"))) lease.extended(120_000)
    await ack(world, queue, job, lease)
  } else if (draw < 0.25) {
    hanging.afterwards(() => ack(world, queue, job, lease).catch((error: unknown) => ended(world, error)))
  } else if (draw >= 0.29) await ack(world, queue, job, lease)
  // What is left is forgotten: the worker has crashed, and the lease lapses.
}

async function ack(world: World, queue: Queue, job: ClaimedJob, lease: Lease): Promise<void> {
  const acked = await landed(world, lease, "ack", () => job.ack())
  if (acked) world.books.left(queue.name, job.id, "acked")
  else world.counts.late += 1
}

// A settlement lands as long as the lease lives, and no longer.
async function landed(world: World, lease: Lease, what: string, call: () => Promise<boolean>): Promise<boolean> {
  const before = lease.isAlive
  const answer = await call()
  const isWrong = before !== null && before === lease.isAlive && answer !== before
  world.findings.check(!isWrong, () => `${what} was ${answer}, and the lease ${before ? "alive" : "over"}`)
  return answer
}

/** Claims batches, from a queue whose jobs are cancelled by others meanwhile. */
export async function batchWorker(world: World, queue: Queue, id: string, signal: AbortSignal): Promise<void> {
  while (await waits(world, queue, signal)) {
    try {
      await takeBatch(world, queue, id)
    } catch (error) {
      if (codeOf(error) === "Closed") return
      refused(world, `a batch of ${queue.name}`, error)
    }
  }
}

/** Claims and acks until nothing is claimable: what schedules have fired. */
export async function drain(world: World, queue: Queue, id: string): Promise<void> {
  for (;;) {
    const claimed = await attempt(world, `draining ${queue.name}`, () => queue.claimBatch(id, 50))
    if (claimed === null) continue
    if (claimed.value.length === 0) return
    await ackAll(world, queue, claimed.value.map((job) => job.id))
  }
}

async function takeBatch(world: World, queue: Queue, id: string): Promise<void> {
  const jobs = await queue.claimBatch(id, world.random.int(1, BATCH_MAX))
  for (const job of jobs) noteClaim(world, queue.name, job)
  // Some workers crash before they ack the rest, and some give a job up.
  const acked = jobs.filter(() => !world.random.chance(0.05)).map((job) => job.id)
  const [first] = jobs
  if (first !== undefined && !acked.includes(first.id)) await first.fail("given up")
  await ackAll(world, queue, acked)
}

async function ackAll(world: World, queue: Queue, ids: number[]): Promise<void> {
  const count = await queue.ackBatch(ids)
  if (count === ids.length) for (const id of ids) world.books.left(queue.name, id, "acked")
  else for (const id of ids) world.books.doubt(queue.name, id)
}

function noteClaim(world: World, queue: string, job: ClaimedJob): void {
  world.counts.claims += 1
  world.books.claimed(queue, job.id, numberOf(job.payload))
}

async function waits(world: World, queue: Queue | Outbox, signal: AbortSignal): Promise<boolean> {
  for (;;) {
    try {
      return await queue.wait(signal)
    } catch (error) {
      if (codeOf(error) === "Closed") return false
      refused(world, `wait of ${queue.name}`, error)
    }
  }
}

function ended(world: World, error: unknown): void {
  if (codeOf(error) !== "Closed") refused(world, "a late ack", error)
}
