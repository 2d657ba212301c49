// What happens: operations, alone or several at once, the clock, and what takes more than one call.

import type { ClaimedJob, Outbox, Transaction } from "alkstore-wasm"
import fc from "fast-check"
import { HOUR, MINUTE, must, SECOND } from "../support.js"
import { OUTBOX, PLAIN, SCHEDULER } from "./model.js"
import {
  drawn,
  enqueueOptions,
  type Given,
  laneIndex,
  type Operation,
  operation,
  optionsAt,
  payload,
  pick,
  some,
} from "./operations.js"
import { compare, moveTo, plain, QUEUES, same, type World } from "./world.js"

type Command = fc.AsyncCommand<object, World>

function command(text: string, run: (world: World) => Promise<void>): Command {
  return { check: () => true, run: (_, world) => run(world), toString: () => text }
}

const by = fc.nat(1)
const other = (by: number): number => 1 - by

/** Without the payloads, which are of no account. */
const short = (steps: Step[]): string => JSON.stringify(steps.map((step) => ({ ...step, value: undefined })))

async function together(world: World, by: number, operations: Operation[]): Promise<void> {
  const answers = await Promise.all(operations.map(({ call }) => call(world, by)))
  operations.forEach(({ check }, at) => check(world, answers[at], by))
}

const alone = fc
  .tuple(by, operation)
  .map(([by, one]) => command(`${by}: ${one.text}`, (world) => together(world, by, [one])))

const atOnce = fc.tuple(by, fc.array(operation, { minLength: 2, maxLength: 5 })).map(([by, several]) => {
  return command(`${by}: at once ${several.map(({ text }) => text).join("; ")}`, (world) =>
    together(world, by, several),
  )
})

/** Forth, back a little, and back by hours, around the bounds that the contract names. */
const step = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 5 * SECOND }) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 40 * SECOND }) },
  { weight: 3, arbitrary: fc.integer({ min: -30 * SECOND, max: 0 }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      1,
      1_000,
      5_000,
      9_999,
      10_000,
      30_000,
      30_001,
      60_001,
      299_999,
      300_000,
      300_001,
      -60_000,
      -60_001,
    ),
  },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 5 * HOUR }) },
  { weight: 2, arbitrary: fc.integer({ min: -5 * HOUR, max: -MINUTE }) },
)

const clock = step.map((ms) =>
  command(`the clock moves by ${ms}`, async (world) => moveTo(world, world.model.now + ms)),
)

/** To the very instant that decides something, or a millisecond beside it. */
const toDeadline = fc.tuple(some, fc.constantFrom(-1, 0, 1)).map(([which, beside]) =>
  command(`the clock moves to deadline ${which}, and ${beside}`, async (world) => {
    const deadline = pick(world.model.deadlines(), which)
    if (deadline !== undefined) moveTo(world, deadline + beside)
  }),
)

const look = by.map((by) => command(`${by}: look at everything`, (world) => compare(world, by)))

const wait = fc.tuple(by, laneIndex).map(([by, at]) =>
  command(`${by}: wait for ${at}`, async (world) => {
    const { name, handles } = must(world.lanes[at])
    const stop = new AbortController()
    const waiting = must(handles[by]).wait(stop.signal)
    const isDue = world.model.isDue(name)
    if (!isDue) stop.abort()
    same("wait", await waiting, isDue)
  }),
)

/** What a delivery does before it ends. */
type Deed = { moves: number } | { extends: number } | { acks: true }

const deed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record({ moves: step }),
  fc.record({ extends: fc.constantFrom(-1, 0, 30 * SECOND) }),
  fc.record({ acks: fc.constant<true>(true) }),
)

const failure = fc.option(
  fc.constantFrom<[unknown, string]>(
    [new Error("no answer"), "no answer"],
    ["text", "text"],
    [undefined, "undefined"],
    [null, "null"],
  ),
)

const deliver = fc.record({ by, deeds: fc.array(deed, { maxLength: 2 }), failure }).map(({ by, deeds, failure }) =>
  command(
    `${by}: deliver with ${JSON.stringify(deeds)} and then ${failure === null ? "success" : `throw ${failure[1]}`}`,
    async (world) => {
      const { model } = world
      const { name, handles } = must(world.lanes[QUEUES.length])
      const outbox = must(handles[by]) as Outbox
      const stopped: { claimed: ReturnType<typeof model.claim> | null } = { claimed: null }
      const delivery = async (job: ClaimedJob): Promise<void> => {
        const [claimed] = (stopped.claimed = model.claim(name, "w", 1))
        same("delivered", plain(job), claimed?.[1] ?? null)
        const claim = must(claimed)[0]
        for (const each of deeds) {
          if ("moves" in each) moveTo(world, model.now + each.moves)
          else if ("extends" in each)
            same("heartbeat", await job.heartbeat(each.extends), model.heartbeat(claim, each.extends))
          else same("ack", await job.ack(), model.ack(claim))
        }
        if (failure !== null) throw failure[0]
      }
      // What the comparisons above throw would be taken for a failed delivery.
      const outcome = await caught(outbox, delivery)
      if (stopped.claimed === null) {
        same("nothing to deliver", [], model.claim(name, "w", 1))
        return same("runOnce", outcome, false)
      }
      same("runOnce", outcome, true)
      const claim = must(stopped.claimed[0])[0]
      if (failure === null) model.ack(claim)
      else {
        const range = model.jitter(claim)
        model.retry(claim, failure[1], drawn(range, range && (await outbox.get(claim.id))))
      }
    },
  ),
)

async function caught(outbox: Outbox, delivery: (job: ClaimedJob) => Promise<void>): Promise<boolean> {
  let fault: unknown
  const answer = await outbox.runOnce("w", (job) =>
    delivery(job).catch((error: unknown) => {
      if (error instanceof Error && error.name === "AssertionError") fault = error
      throw error
    }),
  )
  if (fault !== undefined) throw fault
  return answer
}

/** What a transaction's body does. */
type Step =
  | { stage: number; value: unknown; options: Given }
  | { get: number; of: number }
  | { moves: number }
  | { looks: true }
  | { outside: number; value: unknown }

const bodyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ stage: laneIndex, value: payload, options: enqueueOptions }) },
  { weight: 2, arbitrary: fc.record({ get: some, of: fc.nat(QUEUES.length - 1) }) },
  { weight: 1, arbitrary: fc.record({ moves: fc.oneof(step, fc.constantFrom(-2 * HOUR, HOUR)) }) },
  { weight: 1, arbitrary: fc.record({ looks: fc.constant<true>(true) }) },
  { weight: 1, arbitrary: fc.record({ outside: laneIndex, value: payload }) },
)

async function within(world: World, by: number, tx: Transaction, does: Step): Promise<void> {
  const { model, lanes } = world
  if ("stage" in does) {
    const options = optionsAt(does.options, model.now)
    const isOutbox = does.stage === QUEUES.length
    const id = await (isOutbox
      ? tx.outboxEnqueue("hooks", does.value, options)
      : tx.enqueue(must(QUEUES[does.stage]), does.value, options))
    model.stage(id, must(lanes[does.stage]).name, isOutbox ? OUTBOX : PLAIN, does.value, options)
  } else if ("get" in does) {
    const [queue, id] = [must(QUEUES[does.of]), Math.max(model.lastId + 1 - (does.get % 10), 0)]
    same("get inside", plain(await tx.get(queue, id)), model.getInside(queue, id))
  } else if ("moves" in does) moveTo(world, model.now + does.moves)
  else if ("looks" in does) await compare(world, other(by))
  else {
    const { name, stamps, handles } = must(lanes[does.outside])
    model.enqueue(await must(handles[other(by)]).enqueue(does.value), name, stamps, does.value, {})
  }
}

const ABORT = new Error("the body's own")

const transaction = fc
  .record({ by, steps: fc.array(bodyStep, { maxLength: 6 }), commits: fc.boolean() })
  .map(({ by, steps, commits }) =>
    command(`${by}: transaction ${short(steps)} and ${commits ? "commit" : "throw"}`, async (world) => {
      const run = must(world.stores[by]).transaction(async (tx) => {
        for (const step of steps) await within(world, by, tx, step)
        if (!commits) throw ABORT
      })
      if (commits) {
        await run
        return world.model.commit()
      }
      const error = await run.catch((error: unknown) => error)
      if (error !== ABORT) throw error
      world.model.rollBack()
    }),
  )

/** Leads for `span`, and, if there is one, before the eyes of a rival. */
const lead = (span: fc.Arbitrary<number>): fc.Arbitrary<Command> =>
  fc.tuple(by, span, fc.boolean()).map(([by, span, hasRival]) =>
    command(`${by}: lead for ${span}${hasRival ? ", and a rival" : ""}`, async (world) => {
      const { model, clock, stores, lanes } = world
      const stop = new AbortController()
      const running = must(stores[by]).runSchedules(stop.signal)
      if (hasRival) {
        const rival = await must(stores[other(by)])
          .runSchedules()
          .then(
            () => "led",
            (error: { code: string }) => error.code,
          )
        same("a rival", rival, "LeadershipLost")
      }
      if (span > 0) await clock.advance(span)
      stop.abort()
      await running
      const runner = `runner ${++world.runners}`
      const before = model.lastId
      const fired = model.lead(runner, span)
      same("the leader's lease", model.release(SCHEDULER, runner), true)
      const listed = await Promise.all(
        lanes.map(({ handles }) => must(handles[by]).list({ limit: 1e6, after: before })),
      )
      const jobs = listed.flat().sort((a, b) => a.id - b.id)
      same(
        "fired",
        jobs.map((job) => ({ ...plain(job), id: 0 })),
        fired.map((job) => ({ ...job, id: 0 })),
      )
      model.adopt(
        fired,
        jobs.map(({ id }) => id),
      )
    }),
  )

/** In a storage that waits, time that passes by hand would not wait for it: there a leader has one turn. */
export function commandsFor({ waits }: { waits: boolean }): fc.Arbitrary<Command>[] {
  const spans = waits ? fc.constant(0) : fc.constantFrom(0, 0, 3 * SECOND, 25 * SECOND)
  return [
    alone,
    alone,
    alone,
    alone,
    alone,
    alone,
    alone,
    alone,
    clock,
    clock,
    clock,
    toDeadline,
    toDeadline,
    atOnce,
    wait,
    deliver,
    deliver,
    transaction,
    lead(spans),
    look,
  ]
}
