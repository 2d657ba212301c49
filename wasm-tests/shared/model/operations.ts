// Operations that are one call. They may be made together: the model does them in the order of the calls.

import type { ClaimedJob, Queue } from "alkstore-wasm"
import fc from "fast-check"
import { HOUR, must, SECOND } from "../support.js"
import type { EnqueueOptions, Job } from "./model.js"
import { type Lane, plain, QUEUES, same, type World } from "./world.js"

export interface Operation {
  text: string
  /** Calls the store `by`, without waiting. */
  call: (world: World, by: number) => Promise<any>
  /** Does the same to the model, and compares. */
  check: (world: World, answer: any, by: number) => void
}

export const some = fc.nat(99)
export const pick = <T>(list: readonly T[], at: number): T | undefined => list[list.length === 0 ? 0 : at % list.length]

const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 2 })
export const laneIndex = fc.nat(QUEUES.length)
const queueIndex = fc.nat(QUEUES.length - 1)
const worker = fc.constantFrom("a", "b")

/** Small and plain, and what a storage keeps apart. */
export const payload = fc.oneof(
  fc.nat(9),
  fc.record({ to: fc.string({ maxLength: 3 }), tags: fc.array(fc.nat(3), { maxLength: 2 }) }),
  fc.nat(9).map((n) => new Map([["n", n]])),
  fc.nat(9).map((n) => "x".repeat(5_000 + n)),
)

/** Instants lie around the one at which the call is made. */
export type Given = Omit<EnqueueOptions, "runAt"> & { runIn?: number }

const given: fc.Arbitrary<Given> = fc.record(
  {
    delay: fc.constantFrom(-5 * SECOND, 0, 1, 4 * SECOND, 20 * SECOND, HOUR),
    runIn: fc.integer({ min: -20 * SECOND, max: 20 * SECOND }),
    priority: fc.integer({ min: -1, max: 2 }),
    maxAttempts: fc.integer({ min: -1, max: 4 }),
    expires: fc.constantFrom(-1, 0, 1, 3 * SECOND, 15 * SECOND, 2 * HOUR),
  },
  { requiredKeys: [] },
)

export const enqueueOptions = given
export function optionsAt({ runIn, ...options }: Given, now: number): EnqueueOptions {
  return { ...options, ...(runIn !== undefined && { runAt: now + runIn }) }
}

const lane = ({ lanes }: World, at: number): Lane => must(lanes[at])

/** Recent ids, whichever queue they are in, and one that no job has. */
const idsOf = ({ model }: World, ats: number[]): number[] => ats.map((at) => Math.max(model.lastId + 1 - (at % 25), 0))

export const enqueue = fc
  .record({ at: laneIndex, value: payload, options: given })
  .map(({ at, value, options }): Operation => {
    let passed: EnqueueOptions
    return {
      text: `enqueue into ${at} ${JSON.stringify(options)}`,
      call: (world, by) => {
        passed = optionsAt(options, world.model.now)
        return must(lane(world, at).handles[by]).enqueue(value, passed)
      },
      check: (world, id) => world.model.enqueue(id, lane(world, at).name, lane(world, at).stamps, value, passed),
    }
  })

export const claim = fc
  .record({ at: queueIndex, workerId: worker, n: fc.integer({ min: 0, max: 4 }), one: fc.boolean() })
  .map(
    ({ at, workerId, n, one }): Operation => ({
      text: `${workerId} claims ${one ? "one" : n} of ${at}`,
      call: async (world, by) => {
        const queue = must(lane(world, at).handles[by]) as Queue
        return one ? queue.claimOne(workerId).then((job) => (job === null ? [] : [job])) : queue.claimBatch(workerId, n)
      },
      check: (world, jobs: ClaimedJob[], by) => {
        const expected = world.model.claim(lane(world, at).name, workerId, one ? 1 : n)
        same(
          "claimed",
          jobs.map(plain),
          expected.map(([, job]) => job),
        )
        expected.forEach(([claim], each) =>
          world.claims.push({ job: must(jobs[each]), claim, lane: lane(world, at), by }),
        )
      },
    }),
  )

const reason = fc.constantFrom<[unknown, string | null]>(
  [undefined, null],
  ["a text", "a text"],
  [new Error("an error"), "an error"],
)

/** Of some claim, most of them recent, many of them lost. */
const settle = (text: string, settled: (claimed: World["claims"][number]) => Pick<Operation, "call" | "check">) =>
  some.map((which): Operation => {
    let chosen: Pick<Operation, "call" | "check"> | undefined
    return {
      text: `${text} by claim ${which} from the last`,
      call: async (world, by) => {
        const recent = world.claims
          .filter((claimed) => claimed.by === by)
          .slice(-10)
          .reverse()
        const claimed = pick(recent, which)
        chosen = claimed && settled(claimed)
        return chosen?.call(world, by)
      },
      check: (world, answer, by) => chosen?.check(world, answer, by),
    }
  })

const ack = settle("ack", ({ job, claim }) => ({
  call: () => job.ack(),
  check: ({ model }, answer) => same("ack", answer, model.ack(claim)),
}))

const fail = reason.chain(([error, text]) =>
  settle("fail", ({ job, claim }) => ({
    call: () => job.fail(error),
    check: ({ model }, answer) => same("fail", answer, model.fail(claim, text)),
  })),
)

const heartbeat = fc.constantFrom(-1, 0, 1, 5 * SECOND, 60 * SECOND).chain((extend) =>
  settle(`heartbeat ${extend}`, ({ job, claim }) => ({
    call: () => job.heartbeat(extend),
    check: ({ model }, answer) => same("heartbeat", answer, model.heartbeat(claim, extend)),
  })),
)

const retry = fc
  .tuple(reason, optional(fc.constantFrom(-5 * SECOND, 0, 1, 7 * SECOND)))
  .chain(([[error, text], delay]) =>
    settle(`retry ${delay}`, ({ job, claim, lane }) => ({
      // Read at once, whatever else is under way: what was drawn.
      call: (_, by) => Promise.all([job.retry(error, delay), must(lane.handles[by]).get(job.id)]),
      check: ({ model }, [landed, after]) => {
        const runAt = delay === undefined ? drawn(model.jitter(claim), after) : model.now + delay
        same("retry", landed, model.retry(claim, text, runAt))
        same("after it", plain(after), model.get(lane.name, job.id))
      },
    })),
  )

/** What the engine drew, if it may have. */
export function drawn(
  range: [low: number, high: number] | null,
  after: Job | import("alkstore-wasm").Job | null,
): number {
  if (range === null) return 0
  const runAt = after?.runAt ?? Number.NaN
  if (!(runAt >= range[0] && runAt <= range[1]))
    throw new Error(`ready again at ${runAt}, not in ${range.join(" to ")}`)
  return runAt
}

const byId = (name: "cancel" | "get") =>
  fc.tuple(laneIndex, some).map(([at, which]): Operation => {
    let id: number
    return {
      text: `${name} ${which} of ${at}`,
      call: async (world, by) => must(lane(world, at).handles[by])[name]((id = must(idsOf(world, [which])[0]))),
      check: (world, answer) =>
        same(name, name === "get" ? plain(answer) : answer, world.model[name](lane(world, at).name, id)),
    }
  })

const byIds = (name: "ackBatch" | "redrive" | "purge") =>
  fc
    .tuple(name === "ackBatch" ? queueIndex : laneIndex, optional(fc.array(some, { maxLength: 8 })))
    .map(([at, which]): Operation => {
      let ids: number[] | null
      return {
        text: `${name} of ${at} ${which?.join() ?? "all"}`,
        call: async (world, by) => {
          ids = which === undefined && name !== "ackBatch" ? null : idsOf(world, which ?? [])
          return (must(lane(world, at).handles[by]) as Queue)[name](ids as number[])
        },
        check: (world, answer) => same(name, answer, world.model[name](lane(world, at).name, ids as number[])),
      }
    })

const list = fc
  .tuple(
    laneIndex,
    optional(fc.constantFrom("pending", "processing", "dead")),
    optional(fc.constantFrom(-1, 0, 1, 3)),
    optional(some),
  )
  .map(([at, state, limit, which]): Operation => {
    let after: number | undefined
    return {
      text: `list ${at} ${state} ${limit} ${which}`,
      call: async (world, by) => {
        after = which === undefined ? undefined : must(idsOf(world, [which])[0])
        return must(lane(world, at).handles[by]).list({ state, limit, after })
      },
      check: (world, page) => {
        same("list", page.map(plain), world.model.list(lane(world, at).name, state ?? null, limit ?? 100, after ?? 0))
      },
    }
  })

const stats = laneIndex.map(
  (at): Operation => ({
    text: `stats of ${at}`,
    call: async (world, by) => must(lane(world, at).handles[by]).stats(),
    check: (world, answer) => same("stats", answer, world.model.stats(lane(world, at).name)),
  }),
)

const sweep = laneIndex.map(
  (at): Operation => ({
    text: `sweep ${at}`,
    call: async (world, by) => must(lane(world, at).handles[by]).sweepExpired(),
    check: (world, answer) => same("sweep", answer, world.model.sweepExpired(lane(world, at).name)),
  }),
)

const name = fc.constantFrom("x", "x", "y")
const owner = fc.constantFrom("a", "b")
const ttl = fc.constantFrom(1, 5 * SECOND, 30 * SECOND)

const tryLock = fc.tuple(name, owner, ttl).map(
  ([name, owner, ttl]): Operation => ({
    text: `${owner} takes ${name} for ${ttl}`,
    call: async ({ stores }, by) => must(stores[by]).tryLock(name, owner, ttl),
    check: (world, lock, by) => {
      same("tryLock", lock !== null, world.model.tryLock(name, owner, ttl))
      if (lock !== null) world.locks.push({ lock, owner, by })
    },
  }),
)

const lockCall = (text: string, called: (held: World["locks"][number]) => Pick<Operation, "call" | "check">) =>
  some.map((which): Operation => {
    let chosen: Pick<Operation, "call" | "check"> | undefined
    return {
      text: `${text} lock ${which} from the last`,
      call: async (world, by) => {
        const held = pick(
          world.locks
            .filter((held) => held.by === by)
            .slice(-4)
            .reverse(),
          which,
        )
        chosen = held && called(held)
        return chosen?.call(world, by)
      },
      check: (world, answer, by) => chosen?.check(world, answer, by),
    }
  })

const renew = ttl.chain((ttl) =>
  lockCall(`renew for ${ttl}`, ({ lock, owner }) => ({
    call: () => lock.renew(ttl),
    check: ({ model }, answer) => same("renew", answer, model.renew(lock.name, owner, ttl)),
  })),
)

const release = lockCall("release", ({ lock, owner }) => ({
  call: () => lock.release(),
  check: ({ model }, answer) => same("release", answer, model.release(lock.name, owner)),
}))

const scheduled = fc.record({
  name: fc.constantFrom("n", "Z", "é"),
  spec: fc.constantFrom("@every 10s", "@every 1m", "@every 1h", "@every 1d"),
  at: queueIndex,
  payload,
  options: fc.record({
    priority: fc.option(fc.integer({ min: -1, max: 2 })),
    maxAttempts: fc.option(fc.integer({ min: 0, max: 4 })),
    expires: fc.option(fc.constantFrom(0, 3 * SECOND, HOUR)),
  }),
})

const schedule = scheduled.map(
  ({ name, spec, at, payload, options }): Operation => ({
    text: `schedule ${name} ${spec} into ${at} ${JSON.stringify(options)}`,
    call: async ({ stores }, by) => must(stores[by]).schedule(name, spec, must(QUEUES[at]), payload, options),
    check: ({ model }, answer) => {
      same("schedule", answer, { name, spec, queue: QUEUES[at], options })
      model.schedule(name, spec, must(QUEUES[at]), payload, options)
    },
  }),
)

const unschedule = fc.constantFrom("n", "Z", "é").map(
  (name): Operation => ({
    text: `unschedule ${name}`,
    call: async ({ stores }, by) => must(stores[by]).unschedule(name),
    check: ({ model }, answer) => same("unschedule", answer, model.unschedule(name)),
  }),
)

/** Weighted as a busy program would have them. */
export const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 8, arbitrary: enqueue },
  { weight: 6, arbitrary: claim },
  { weight: 3, arbitrary: ack },
  { weight: 3, arbitrary: retry },
  { weight: 2, arbitrary: fail },
  { weight: 2, arbitrary: heartbeat },
  { weight: 1, arbitrary: byId("cancel") },
  { weight: 1, arbitrary: byId("get") },
  { weight: 1, arbitrary: byIds("ackBatch") },
  { weight: 2, arbitrary: byIds("redrive") },
  { weight: 1, arbitrary: byIds("purge") },
  { weight: 1, arbitrary: list },
  { weight: 1, arbitrary: stats },
  { weight: 3, arbitrary: sweep },
  { weight: 5, arbitrary: tryLock },
  { weight: 2, arbitrary: renew },
  { weight: 1, arbitrary: release },
  { weight: 2, arbitrary: schedule },
  { weight: 1, arbitrary: unschedule },
)
