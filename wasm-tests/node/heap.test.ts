// The plain JavaScript heap that the engine is measured against does the same work: the same operations, the same answers,
// the same jobs.

import { describe, expect, test } from "vitest"
import { open } from "alkstore-wasm"
import type { ClaimedJob, EnqueueOptions, Job, JobState, Queue, QueueOptions } from "alkstore-wasm"
import { ManualClock } from "alkstore-wasm/testing"
import { HeapStore } from "../../benches/heap.mjs"
import type { HeapQueue } from "../../benches/heap.mjs"
import { START, fieldsOf, must } from "../shared/support.js"
import { seeded } from "../shared/seeded.js"
import type { Random } from "../shared/seeded.js"

const STEPS = 1500
const COMPARE_EVERY = 50
/** A step back of at most this much under the latest instant seen is not a clock set back. */
const BACK_MAX = 50_000
const CLAIMS_KEPT = 40

const QUEUES: QueueOptions[] = [
  {},
  { visibilityTimeout: 5000, maxAttempts: 3, backoffBase: 1000, deadLetterRetention: 20_000 },
  { visibilityTimeout: 0, maxAttempts: 1, deadLetterRetention: 0 },
  { visibilityTimeout: -1, maxAttempts: 6, backoffBase: 0, deadLetterRetention: -1 },
]

interface Side<Q, J> {
  queue: Q
  claims: J[]
}

/** One queue, on both sides. Claims are kept in pairs. */
interface Pair {
  ours: Side<Queue<unknown>, ClaimedJob<unknown>>
  heap: Side<HeapQueue, ClaimedJob<unknown>>
}

/** A job's id on both sides: ours may have gaps. */
interface IdPair {
  ours: number
  heap: number
}

class Comparison {
  readonly #clock = new ManualClock(START)
  readonly #heap = new HeapStore({ now: () => this.#clock.now() })
  readonly #ids: IdPair[] = []
  readonly #heapIds = new Map<number, number>()
  #latest = START
  #what = "nothing yet"

  constructor(
    readonly random: Random,
    readonly label: string,
  ) {}

  async run(): Promise<void> {
    const store = await open({ clock: this.#clock, seed: 1 })
    const pairs = QUEUES.map((options, i): Pair => ({
      ours: { queue: store.queue(`queue ${i}`, options), claims: [] },
      heap: { queue: this.#heap.queue(`queue ${i}`, options), claims: [] },
    }))
    for (let step = 1; step <= STEPS; step++) {
      this.#moveClock()
      this.#what = `${this.label}, step ${step} at ${this.#clock.now() - START}`
      await this.#step(this.random.pick(pairs))
      if (step % COMPARE_EVERY === 0) for (const pair of pairs) await this.#compareAll(pair)
    }
    await store.close()
  }

  #moveClock(): void {
    const now = this.#clock.now()
    const to = this.random.chance(0.15)
      ? Math.max(now - this.random.int(0, BACK_MAX), this.#latest - BACK_MAX)
      : now + this.random.pick([0, 0, 1, 10, 500, 2000, this.random.chance(0.1) ? 600_000 : 0])
    this.#clock.set(to)
    this.#latest = Math.max(this.#latest, to)
  }

  async #step(pair: Pair): Promise<void> {
    const { random } = this
    const roll = random.int(0, 99)
    if (roll < 30) await this.#enqueue(pair)
    else if (roll < 50) await this.#claim(pair)
    else if (roll < 75) await this.#settle(pair)
    else if (roll < 79) await this.#byId(pair, "cancel")
    else if (roll < 83) await this.#byId(pair, "get")
    else if (roll < 86) await this.#list(pair)
    else if (roll < 90) await this.#same("stats", pair.ours.queue.stats(), pair.heap.queue.stats())
    else if (roll < 94) await this.#same("sweepExpired", pair.ours.queue.sweepExpired(), pair.heap.queue.sweepExpired())
    else await this.#byIds(pair, random.pick(["ackBatch", "redrive", "purge"] as const))
  }

  async #enqueue({ ours, heap }: Pair): Promise<void> {
    const { random } = this
    const options: EnqueueOptions = {}
    if (random.chance(0.4)) options.delay = random.pick([-500, 0, 100, 1000, 30_000])
    if (random.chance(0.3)) options.runAt = this.#clock.now() + random.int(-5000, 5000)
    if (random.chance(0.4)) options.priority = random.int(-1, 2)
    if (random.chance(0.2)) options.maxAttempts = random.int(0, 4)
    if (random.chance(0.3)) options.expires = random.pick([-1, 0, 1, 2000, 20_000])
    const payload = { n: this.#ids.length, list: [random.int(0, 9)] }
    const id = { ours: await ours.queue.enqueue(payload, options), heap: await heap.queue.enqueue(payload, options) }
    const last = this.#ids.at(-1)
    if (last) expect(id.ours, this.#says("enqueue")).toBeGreaterThan(last.ours)
    this.#ids.push(id)
    this.#heapIds.set(id.ours, id.heap)
  }

  async #claim({ ours, heap }: Pair): Promise<void> {
    const { random } = this
    const workerId = `w${random.int(1, 2)}`
    const n = random.pick([-1, 0, 1, 2, 5, 50])
    const one = random.chance(0.4)
    const taken = one ? list(await ours.queue.claimOne(workerId)) : await ours.queue.claimBatch(workerId, n)
    const expected = one ? list(await heap.queue.claimOne(workerId)) : await heap.queue.claimBatch(workerId, n)
    expect(
      taken.map((job) => this.#translated(job)),
      this.#says(one ? "claimOne" : `claimBatch ${n}`),
    ).toEqual(expected.map(fieldsOf))
    ours.claims.push(...taken)
    heap.claims.push(...expected)
    for (const side of [ours, heap]) side.claims.splice(0, side.claims.length - CLAIMS_KEPT)
  }

  async #settle({ ours, heap }: Pair): Promise<void> {
    if (ours.claims.length === 0) return
    const { random } = this
    const at = random.int(0, ours.claims.length - 1)
    const [job, twin] = [must(ours.claims[at]), must(heap.claims[at])]
    const error = random.pick([undefined, null, "text", new Error("an Error"), 7])
    const how = random.pick(["ack", "retry", "backoff", "fail", "heartbeat"] as const)
    if (how === "ack") await this.#same(how, job.ack(), twin.ack())
    else if (how === "fail") await this.#same(how, job.fail(error), twin.fail(error))
    else if (how === "heartbeat") {
      const extend = random.pick([-1, 0, 1, 5000, 60_000])
      await this.#same(how, job.heartbeat(extend), twin.heartbeat(extend))
    } else {
      const delay = how === "retry" ? random.pick([-1, 0, 10, 5000]) : undefined
      const answer = await job.retry(error, delay)
      // The jitter is ours to draw; the heap is told what came out.
      const drawn = delay ?? (answer ? await this.#drawn(ours.queue, job) : 0)
      await this.#same(how, Promise.resolve(answer), twin.retry(error, drawn))
    }
  }

  async #drawn(queue: Queue<unknown>, job: ClaimedJob<unknown>): Promise<number> {
    const after = must(await queue.get(job.id))
    if (after.state === "dead") return 0
    const cap = Math.min(job.backoffBase * 2 ** (job.attempts - 1), 3_600_000)
    const wait = after.runAt - this.#clock.now()
    expect(wait, this.#says("jitter")).toBeGreaterThanOrEqual(Math.floor(cap / 2))
    expect(wait, this.#says("jitter")).toBeLessThanOrEqual(cap)
    return wait
  }

  async #byId({ ours, heap }: Pair, call: "cancel" | "get"): Promise<void> {
    const id = this.#someId()
    if (call === "cancel") return this.#same(call, ours.queue.cancel(id.ours), heap.queue.cancel(id.heap))
    const [job, twin] = [await ours.queue.get(id.ours), await heap.queue.get(id.heap)]
    expect(job && this.#translated(job), this.#says("get")).toEqual(twin && fieldsOf(twin))
  }

  async #byIds({ ours, heap }: Pair, call: "ackBatch" | "redrive" | "purge"): Promise<void> {
    if (call !== "ackBatch" && this.random.chance(0.3)) return this.#same(call, ours.queue[call](), heap.queue[call]())
    const chosen = Array.from({ length: this.random.int(0, 12) }, () => this.#someId())
    await this.#same(call, ours.queue[call](chosen.map((id) => id.ours)), heap.queue[call](chosen.map((id) => id.heap)))
  }

  async #list({ ours, heap }: Pair): Promise<void> {
    const { random } = this
    const options: { state?: JobState; limit?: number } = {}
    if (random.chance(0.5)) options.state = random.pick(["pending", "processing", "dead"])
    if (random.chance(0.5)) options.limit = random.pick([0, 1, 3, 1000])
    const after = random.chance(0.5) ? this.#someId() : { ours: 0, heap: 0 }
    const [page, expected] = [
      await ours.queue.list({ ...options, after: after.ours }),
      await heap.queue.list({ ...options, after: after.heap }),
    ]
    expect(
      page.map((job) => this.#translated(job)),
      this.#says(`list ${JSON.stringify(options)}`),
    ).toEqual(expected.map(fieldsOf))
  }

  async #compareAll({ ours, heap }: Pair): Promise<void> {
    const [all, expected] = [await ours.queue.list({ limit: 1e6 }), await heap.queue.list({ limit: 1e6 })]
    expect(all.map((job) => this.#translated(job)), this.#says("all jobs")).toEqual(expected.map(fieldsOf))
    await this.#same("stats", ours.queue.stats(), heap.queue.stats())
  }

  async #same(call: string, ours: Promise<unknown>, heap: Promise<unknown>): Promise<void> {
    expect(await ours, this.#says(call)).toEqual(await heap)
  }

  /** Any job's, whichever queue it is in, or one that no job ever had. */
  #someId(): IdPair {
    if (this.#ids.length === 0 || this.random.chance(0.05)) return { ours: 1e9, heap: 1e9 }
    return must(this.#ids[Math.max(0, this.#ids.length - 1 - this.random.int(0, 60))])
  }

  #translated(job: Job<unknown>): Job<unknown> {
    return { ...fieldsOf(job), id: must(this.#heapIds.get(job.id)) }
  }

  #says(call: string): string {
    return `${this.#what}: ${call}`
  }
}

const list = <T>(one: T | null): T[] => (one === null ? [] : [one])

describe(`${STEPS} random operations give what the package gives`, () => {
  test.each(Array.from({ length: 4 }, (_, i) => i + 1))("seed %d", async (seed) => {
    await new Comparison(seeded(seed), `seed ${seed}`).run()
  })
})
