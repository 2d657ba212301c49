// A defect of the engine's ends it: what is pending says so, what comes later says why, and opening again starts anew.

import { describe, expect, onTestFinished, test, vi } from "vitest"
import type { ClaimedJob, Store } from "../../../js/types.js"
import { INTERFACES } from "../hostile/calls.js"
import type { Call } from "../hostile/site.js"
import { build } from "../hostile/world.js"
import { gate, must, SECOND } from "../support.js"
import { AlkstoreError, DEFECT, engine, failureOf, memory, open, panic, striker, StruckClock } from "./support.js"

const PANICKED = { code: "Panicked", message: expect.stringContaining(DEFECT) as string }

/** A job's whole life in a store that was opened after the end of another. */
async function expectFreshStart(): Promise<void> {
  const store = await open()
  const queue = store.queue("mail")
  expect(await queue.stats()).toMatchObject({ pending: 0, processing: 0, dead: 0 })
  await queue.enqueue("a job")
  expect(await must(await queue.claimOne("w")).ack()).toBe(true)
  await store.close()
}

describe("a panic", () => {
  test("rejects everything that is pending, with its message", async () => {
    const store = await open()
    const [queue, outbox] = [store.queue("mail"), store.outbox("hooks")]
    await outbox.enqueue("a letter")
    const pending = [
      queue.wait(),
      outbox.wait(new AbortController().signal),
      store.runSchedules(),
      store.runSchedules(null, { standby: true }),
      outbox.runOnce("w", () => new Promise(() => {})),
    ]
    await outbox.stats()
    await panic()
    // There was a letter, so this one had ended.
    expect(await pending.splice(1, 1)[0]).toBe(true)
    for (const promise of pending) expect(await failureOf(() => promise)).toMatchObject(PANICKED)
    await expectFreshStart()
  })

  test("in a future that is polled later rejects what is pending too, and is no uncaught error", async () => {
    const store = await open()
    const waiting = failureOf(() => store.queue("mail").wait())
    const { glue } = await engine()
    glue.testPanicLater(DEFECT)
    expect(await waiting).toMatchObject(PANICKED)
    await expectFreshStart()
  })

  test("leaves no timer behind, which would keep a process alive", async () => {
    const [set, clear] = [vi.spyOn(globalThis, "setTimeout"), vi.spyOn(globalThis, "clearTimeout")]
    onTestFinished(() => void vi.restoreAllMocks())
    const waiting = failureOf(async () => (await open()).queue("mail").wait())
    const idle = (): number => set.mock.calls.findIndex(([, ms]) => ms === 2 ** 31 - 1)
    await vi.waitFor(() => expect(idle()).not.toBe(-1))
    const timer: unknown = set.mock.results[idle()]?.value
    await panic()
    expect(await waiting).toMatchObject(PANICKED)
    expect(clear).toHaveBeenCalledWith(timer)
  })

  test("lets go of the sleeps on a clock of the user's own", async () => {
    const signals: AbortSignal[] = []
    const sleep = (_: number, signal: AbortSignal): Promise<void> => {
      signals.push(signal)
      return new Promise(() => {})
    }
    const waiting = failureOf(async () => (await open({ clock: { now: () => 0, sleep } })).queue("mail").wait())
    await vi.waitFor(() => expect(signals).toHaveLength(1))
    await panic()
    expect(await waiting).toMatchObject(PANICKED)
    expect(signals[0]?.aborted).toBe(true)
  })

  test("makes every later call fail at once, with the first message", async () => {
    const world = await build(undefined, open)
    let transaction: { enqueue?: unknown } = {}
    const end = gate()
    const committed = world.store.transaction((tx) => {
      transaction = tx
      return end.opened
    })
    await panic()
    await panicAgain()
    for (const [kind, calls] of Object.entries(INTERFACES)) {
      // Its clock is a clock still, and how long the storage would keep things is no question to the engine.
      const others = kind === "ManualClock" ? Reflect.ownKeys(calls) : ["durability", "persist"]
      for (const name of Reflect.ownKeys(calls).filter((name) => !others.includes(name))) {
        const { call, args } = (calls as Record<PropertyKey, Call>)[name]!
        const on =
          kind === "Transaction"
            ? { ...world, store: { transaction: (run: (tx: unknown) => unknown) => run(transaction) } }
            : world
        const failure = await failureOf(() =>
          call(
            on as typeof world,
            args.map(({ good }) => good),
          ),
        )
        expect(failure, `${kind}.${String(name)}`).toMatchObject(PANICKED)
        expect(failure).toBeInstanceOf(AlkstoreError)
      }
    }
    end.open()
    expect(await failureOf(() => committed)).toMatchObject(PANICKED)
    await expectFreshStart()
  })

  // The engine that was struck is gone: another one strikes, and is none of the first one's business.
  async function panicAgain(): Promise<void> {
    await open()
    await panic("another defect")
  }

  test("leaves a fresh start: a new store works, and knows nothing of the old one", async () => {
    const old = await open()
    await old.queue("mail").enqueue("lost")
    await panic()
    await expectFreshStart()
    expect(await failureOf(() => old.schedules())).toMatchObject(PANICKED)
  })

  test("does not let a memory storage that was lost pass for an empty one", async () => {
    const storage = memory()
    await (await open({ storage })).queue("mail").enqueue("lost")
    await panic()
    expect(await failureOf(() => open({ storage }))).toMatchObject({
      code: "Panicked",
      message: expect.stringContaining("open a new memory()") as string,
    })
  })
})

describe("a panic in the middle of", () => {
  const OPERATIONS: [what: string, run: (store: Store, job: ClaimedJob, arm: () => void) => Promise<unknown>][] = [
    ["an enqueue", (store) => store.queue("mail").enqueue(1)],
    ["a claim", (store) => store.queue("mail").claimOne("w")],
    ["a settlement", (_, job) => job.ack()],
    ["a read", (store) => store.queue("mail").list()],
    ["a sweep", (store) => store.outbox("hooks").sweepExpired()],
    ["a lock", (store) => store.tryLock("report", "tab", 1)],
    ["a registration", (store) => store.schedule("nightly", "@every 1d", "mail", 1)],
    ["a leader's turn", (store) => store.runSchedules()],
    ["a wait", (store) => store.queue("mail").wait()],
    ["a delivery's claim", (store) => store.outbox("hooks").runOnce("w", () => {})],
    ["a staged enqueue", (store) => store.transaction((tx) => tx.enqueue("mail", 1))],
    [
      "a commit",
      (store, _, arm) =>
        store.transaction(async (tx) => {
          await tx.enqueue("mail", 1)
          arm()
        }),
    ],
  ]

  test.each(OPERATIONS)("%s rejects it", async (_, run) => {
    const clock = new StruckClock()
    const store = await open({ clock })
    const queue = store.queue("mail")
    await queue.enqueue("a job")
    const job = must(await queue.claimOne("w"))
    const waiting = failureOf(() => store.queue("another").wait())
    await store.schedules()
    const strike = await striker()
    const arm = (): void => void (clock.strike = strike)
    if (run.length < 3) arm()
    expect(await failureOf(() => run(store, job, arm))).toMatchObject(PANICKED)
    expect(await waiting).toMatchObject(PANICKED)
    await expectFreshStart()
  })

  test("a leader's later turn rejects the run, and a standby's", async () => {
    const clock = new StruckClock()
    let wake: () => void = () => {}
    const store = await open({
      clock: {
        now: () => clock.now(),
        sleep: (_, signal) =>
          Promise.race([clock.sleep(0, signal), new Promise<void>((resolve) => void (wake = resolve))]),
      },
    })
    const running = failureOf(() => store.runSchedules())
    await store.schedules()
    clock.strike = await striker()
    clock.at += 2 * SECOND
    wake()
    expect(await running).toMatchObject(PANICKED)
    await expectFreshStart()
  })
})

describe("a panic inside code of the caller's", () => {
  const succeed = (): void => {}
  const fail = (): never => {
    throw new Error("mine")
  }

  test.each([succeed, fail])("a delivery, which may then %o: runOnce says so", async (end) => {
    const store = await open()
    const outbox = store.outbox("hooks")
    await outbox.enqueue("a letter")
    const strike = await striker()
    let heartbeat: unknown
    const run = outbox.runOnce("w", async (job) => {
      strike()
      heartbeat = await failureOf(() => job.heartbeat(1))
      end()
    })
    expect(await failureOf(() => run)).toMatchObject(PANICKED)
    // Nobody waits for the delivery any more, which goes on to its end.
    for (let turn = 0; heartbeat === undefined && turn < 10; turn++) await null
    expect(heartbeat).toMatchObject(PANICKED)
    await expectFreshStart()
  })

  test("a transaction's body: what it throws comes out unchanged, and otherwise Panicked", async () => {
    for (const end of [succeed, fail]) {
      const store = await open()
      const strike = await striker()
      const run = store.transaction(async (tx) => {
        await tx.enqueue("mail", 1)
        strike()
        end()
      })
      expect(await failureOf(() => run)).toMatchObject(end === fail ? { message: "mine" } : PANICKED)
      await expectFreshStart()
    }
  })

  test.each<[what: string, run: (store: Store, strike: () => unknown) => unknown]>([
    [
      "a payload's getter",
      (store, strike) =>
        store.queue("mail").enqueue({
          get bite() {
            return strike()
          },
        }),
    ],
    [
      "an option's getter",
      (store, strike) =>
        store.queue("mail", {
          get maxAttempts() {
            return strike() as undefined
          },
        }),
    ],
    [
      "an error's toString",
      async (store, strike) => {
        await store.queue("mail").enqueue(1)
        return must(await store.queue("mail").claimOne("w")).fail({ toString: () => String(strike()) })
      },
    ],
    [
      "a signal's getter",
      (store, strike) =>
        store.queue("mail").wait({
          get aborted() {
            return strike() !== undefined
          },
          addEventListener() {},
          removeEventListener() {},
        } as unknown as AbortSignal),
    ],
    [
      "a signal's addEventListener",
      (store, strike) =>
        store.runSchedules({
          aborted: false,
          addEventListener: strike,
          removeEventListener() {},
        } as unknown as AbortSignal),
    ],
  ])("%s: the call says so", async (_, run) => {
    const store = await open()
    const strike = await striker()
    expect(await failureOf(() => run(store, strike))).toMatchObject(PANICKED)
    await expectFreshStart()
  })
})
