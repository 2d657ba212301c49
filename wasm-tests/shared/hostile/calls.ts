// Every call of the public API, with every argument and every option. The types see to it that none is missing.

import { type memory, open } from "alkstore-wasm"
import type {
  ClaimedJob,
  Clock,
  EnqueueOptions,
  Job,
  JobCollection,
  ListOptions,
  Lock,
  OpenOptions,
  Outbox,
  Queue,
  QueueOptions,
  RunSchedulesOptions,
  ScheduleOptions,
  Store,
  Transaction,
} from "alkstore-wasm"
import { indexedDb, type IndexedDbOptions, upgrade } from "alkstore-wasm/indexeddb"
import { ManualClock } from "alkstore-wasm/testing"
import { init } from "../../../js/entries/slim.js"
import { DAY, HOUR, MAX, must, START } from "../support.js"
import * as kinds from "./kinds.js"
import { type Argument, argument, bag, type Call, type Calls } from "./site.js"
import { LETTER, type World } from "./world.js"

const since = (at: number | null): number | null => (at === null || at === MAX ? at : at - START)

/** A call on the store, a queue … with the arguments as they are. */
const on = <T>(receiver: (world: World) => T, name: keyof T, args: Call["args"] = [], sync = false): Call<any> => ({
  sync,
  call: (world, given) => (receiver(world) as any)[name](...given),
  args,
})

/** What an enqueue may be given; `read` reads its job. */
function enqueueOptions(read: typeof fromMail, maxAttempts: number): Argument {
  const seen = (field: keyof Job, as = (value: any): unknown => value): Argument["seen"] => {
    return async (id, world) => as((await read(world, id))[field])
  }
  return bag<EnqueueOptions>(kinds.options, {
    delay: argument("delay", kinds.boundary, 1, seen("runAt", since), 0),
    runAt: argument("runAt", kinds.instant, 1, seen("runAt"), START),
    priority: argument("priority", kinds.optionalCount, 1, seen("priority"), 0),
    maxAttempts: argument("maxAttempts", kinds.optionalCount, 1, seen("maxAttempts"), maxAttempts),
    expires: argument("expires", kinds.boundary, 1, seen("expiresAt", since), null),
    transaction: argument("transaction", kinds.transaction, undefined, seen("state"), "pending"),
  })
}

const fromMail = async ({ mail }: World, id: number): Promise<any> => must(await mail.get(id))
const fromHooks = async ({ hooks }: World, id: number): Promise<any> => must(await hooks.get(id))

const payloadFrom = (read: typeof fromMail) =>
  argument("payload", kinds.payload, "a payload", async (id, world) => (await read(world, id)).payload)

// `[1, 2]` of what lies there; `those` of them count, of `all` that do.
const ids = (kind: typeof kinds.ids, those: number, all?: number): Argument => ({
  ...argument("ids", kind, [], (n) => (n === those ? "those" : n), all),
  item: argument("ids[0]", kinds.id, 0, (n) => (n === 0 ? "none" : n)),
})

function collection<T extends JobCollection<unknown>>(
  it: (world: World) => T,
  read: typeof fromMail,
  { maxAttempts, size, dead, those }: { maxAttempts: number; size: number; dead: number; those: number },
): Calls<JobCollection<unknown>> {
  const pageOf = (page: unknown[]): unknown => (page.length === size ? "all" : page.length)
  return {
    enqueue: on(it, "enqueue", [payloadFrom(read), enqueueOptions(read, maxAttempts)]),
    cancel: on(it, "cancel", [argument("id", kinds.id, 0, (found) => (found ? "one" : "none"))]),
    get: on(it, "get", [argument("id", kinds.id, 0, (job) => (job === null ? "none" : "one"))]),
    list: on(it, "list", [
      bag<ListOptions>(kinds.options, {
        state: argument("state", kinds.choice, "dead", pageOf, "all"),
        limit: argument("limit", kinds.optionalExtent, 1, pageOf, "all"),
        after: argument("after", kinds.after, 0, pageOf, "all"),
      }),
    ]),
    stats: on(it, "stats"),
    redrive: on(it, "redrive", [ids(kinds.idsOrAll, those, dead)]),
    purge: on(it, "purge", [ids(kinds.idsOrAll, those, dead)]),
    sweepExpired: on(it, "sweepExpired"),
    // There is a job, so it ends at once.
    wait: on(it, "wait", [argument("signal", kinds.signal, undefined, (result) => result, true)]),
  }
}

const queue = (world: World): Queue<unknown> => world.mail
const outbox = (world: World): Outbox<unknown> => world.hooks
const store = (world: World): Store => world.store
const workerId = (seen: (result: any) => unknown) => argument("workerId", kinds.localName, "w", seen)

const QUEUE: Calls<Queue<unknown>> = {
  ...collection(queue, fromMail, { maxAttempts: 3, size: 7, dead: 2, those: 1 }),
  claimOne: on(queue, "claimOne", [workerId((job) => job.workerId)]),
  claimBatch: on(queue, "claimBatch", [
    workerId(([job]) => job.workerId),
    argument("n", kinds.extent, 3, (jobs) => (jobs.length === 3 ? "all" : jobs.length)),
  ]),
  ackBatch: on(queue, "ackBatch", [ids(kinds.ids, 1)]),
}

let deliveredBy: string | null
const deliver = (job: ClaimedJob): void => {
  deliveredBy = job.workerId
}

const OUTBOX: Calls<Outbox<unknown>> = {
  ...collection(outbox, fromHooks, { maxAttempts: 5, size: 3, dead: 1, those: 0 }),
  runOnce: on(outbox, "runOnce", [
    workerId(() => deliveredBy),
    argument("delivery", kinds.callback, deliver, async (_, world) =>
      (await world.hooks.get(LETTER)) === null ? "called" : "not called",
    ),
  ]),
}

const lastError = async (_: unknown, { mail }: World): Promise<unknown> => (await mail.get(LAST))?.lastError
/** The world's claimed job that has no attempts left. */
const LAST = 1
const REASON = new Error("a reason")

const CLAIMED_JOB: Calls<ClaimedJob> = {
  ack: on((world) => world.job, "ack"),
  retry: {
    // Of the last attempt the reason is kept, and of any other the delay is.
    call: ({ job, other }, [error, delay]) => (error === REASON ? other : job).retry(error, delay),
    args: [
      argument("error", kinds.reason, REASON, lastError, "max attempts exceeded"),
      argument(
        "delay",
        kinds.boundary,
        undefined,
        async (_, { mail, other }) => {
          const wait = since(must(await mail.get(other.id)).runAt)
          return wait !== null && wait >= 2_500 && wait <= 5_000 ? "a backoff" : wait
        },
        "a backoff",
      ),
    ],
  },
  fail: on((world) => world.job, "fail", [argument("error", kinds.reason, REASON, lastError, "failed")]),
  heartbeat: on((world) => world.job, "heartbeat", [
    argument("extend", kinds.requiredBoundary, 1, async (_, { mail }) =>
      since(must(await mail.get(LAST)).claimExpiresAt),
    ),
  ]),
}

/** How long a lock is held: to the millisecond if it is one, else for ever. */
async function heldFor({ store, clock }: World, name: string): Promise<number> {
  const isFree = async (at: number): Promise<boolean> => {
    clock.set(START + at)
    return (await store.tryLock(name, "another", 1)) !== null
  }
  if (await isFree(0)) return 0
  if (await isFree(1)) return 1
  return (await isFree(1_000_000 * DAY)) ? HOUR : MAX
}

const lock = (world: World): Lock => world.lock

const LOCK: Calls<Lock> = {
  renew: on(lock, "renew", [argument("ttl", kinds.ttl, "1h", (_, world) => heldFor(world, "report"))]),
  release: on(lock, "release"),
  [Symbol.asyncDispose]: on(lock, Symbol.asyncDispose),
}

const inTransaction = (name: keyof Transaction, args: Call["args"]): Call<any> => ({
  // Refused inside, it is what the body ends with.
  call: ({ store }, given) => store.transaction((tx) => isPromise((tx[name] as any)(...given))),
  args,
})

function isPromise(answer: unknown): any {
  if (answer instanceof Promise) return answer
  throw new Error("it returned no promise")
}

/** The store's job `id` of whatever queue it was put into. */
const staged = (name: string) =>
  argument(name, kinds.sharedName, "mail", async (id, { store }, given) => {
    const into = name === "outbox" ? store.outbox(given as string) : store.queue(given as string)
    return (await into.get(id)) === null ? "nowhere" : into.name
  })

const TRANSACTION: Calls<Transaction> = {
  enqueue: inTransaction("enqueue", [staged("queue"), payloadFrom(fromMail), enqueueOptions(fromMail, 3)]),
  outboxEnqueue: inTransaction("outboxEnqueue", [
    { ...staged("outbox"), good: "hooks" },
    payloadFrom(fromHooks),
    enqueueOptions(fromHooks, 5),
  ]),
  get: inTransaction("get", [
    argument("queue", kinds.sharedName, "mail", (job, _, given) => (job === null ? given : "a job")),
    argument("id", kinds.id, 0, (job) => (job === null ? "none" : "one")),
  ]),
}

const stamp =
  (name: keyof QueueOptions) =>
  async (made: Queue): Promise<unknown> =>
    must(await made.get(await made.enqueue(1)))[name]

/** What a schedule fires, a day later. */
async function fired({ store, clock, mail }: World): Promise<unknown> {
  clock.set(START + DAY)
  const stop = new AbortController()
  const running = store.runSchedules(stop.signal)
  stop.abort()
  await running
  return must((await mail.list()).find((job) => job.priority === FIRST)).payload
}

const FIRST = 9

const STORE: Calls<Store> = {
  queue: on(
    store,
    "queue",
    [
      argument("queue", kinds.sharedName, "mail", (made) => made.name),
      bag<QueueOptions>(kinds.options, {
        visibilityTimeout: argument("visibilityTimeout", kinds.boundary, 1, stamp("visibilityTimeout"), 300_000),
        maxAttempts: argument("maxAttempts", kinds.optionalCount, 1, stamp("maxAttempts"), 3),
        backoffBase: argument("backoffBase", kinds.boundary, 1, stamp("backoffBase"), 5_000),
        deadLetterRetention: argument("deadLetterRetention", kinds.boundary, 1, stamp("deadLetterRetention"), null),
      }),
    ],
    true,
  ),
  outbox: on(store, "outbox", [argument("outbox", kinds.sharedName, "hooks", (made) => made.name)], true),
  tryLock: on(store, "tryLock", [
    argument("name", kinds.sharedName, "fresh", (lock) => lock.name),
    argument("owner", kinds.localName, "tab", async (_, { store }, owner) => {
      const [again, another] = [
        await store.tryLock("fresh", owner as string, 1),
        await store.tryLock("fresh", "another", 1),
      ]
      return again !== null && another === null ? owner : "another's"
    }),
    argument("ttl", kinds.ttl, "1h", (_, world) => heldFor(world, "fresh")),
  ]),
  schedule: on(store, "schedule", [
    argument("name", kinds.sharedName, "weekly", (schedule) => schedule.name),
    argument("spec", kinds.spec, "@every 1d"),
    argument("queue", kinds.sharedName, "mail", (schedule) => schedule.queue),
    argument("payload", kinds.payload, "a payload", (_, world) => fired(world)),
    {
      ...bag<ScheduleOptions>(kinds.options, {
        priority: argument("priority", kinds.optionalCount, 1, (schedule) => schedule.options.priority, null),
        maxAttempts: argument("maxAttempts", kinds.optionalCount, 1, (schedule) => schedule.options.maxAttempts, null),
        expires: argument("expires", kinds.boundary, 1, (schedule) => schedule.options.expires, null),
      }),
      good: { priority: FIRST },
    },
  ]),
  unschedule: on(store, "unschedule", [argument("name", kinds.sharedName, "weekly", (_, _world, name) => name)]),
  schedules: on(store, "schedules"),
  runSchedules: {
    // Without a signal that stops it, the store's end does.
    call: async ({ store, clock }, [signal, options]) => {
      const running = store.runSchedules(signal, options)
      if (signal === undefined || signal === null) await clock.settle().then(() => store.close())
      await running
    },
    args: [
      argument("signal", kinds.signal, AbortSignal.abort(), () => "ran", "ran"),
      bag<RunSchedulesOptions>(kinds.options, { standby: argument("standby", kinds.bool, true, () => true, true) }),
    ],
  },
  transaction: on(store, "transaction", [
    argument(
      "body",
      kinds.callback,
      () => "called",
      (result) => result,
    ),
  ]),
  durability: on(store, "durability"),
  persist: on(store, "persist"),
  close: on(store, "close"),
  [Symbol.asyncDispose]: on(store, Symbol.asyncDispose),
}

const CLOCK: Calls<ManualClock> = {
  now: on((world) => world.clock, "now", [], true),
  sleep: {
    call: (_, args) => {
      const clock = new ManualClock(START)
      const sleeping = clock.sleep(...(args as Parameters<Clock["sleep"]>)).then(() => "awake")
      const asleep = clock.settle().then(() => (clock.pending > 0 ? "asleep" : sleeping))
      return Promise.race([sleeping, asleep])
    },
    args: [
      argument("ms", kinds.nap, 5, (how) => how),
      argument("signal", kinds.signal, undefined, (how) => how, "asleep"),
    ],
  },
  advance: on((world) => world.clock, "advance", [
    argument("by", kinds.span, 1, (_, { clock }) => clock.now() - START),
  ]),
  set: on((world) => world.clock, "set", [argument("now", kinds.reading, START, (_, { clock }) => clock.now())], true),
  settle: on((world) => world.clock, "settle"),
}

/** The interfaces of `alkstore-wasm` and `/testing`, as their objects' classes are called. */
export const INTERFACES = {
  Store: STORE,
  Queue: QUEUE,
  Outbox: OUTBOX,
  ClaimedJob: CLAIMED_JOB,
  Lock: LOCK,
  Transaction: TRANSACTION,
  ManualClock: CLOCK,
} as const

async function works(opened: Store): Promise<string> {
  const made = opened.queue("mail")
  await made.enqueue(1)
  const job = await made.claimOne("w")
  const acknowledged = await job?.ack()
  await opened.close()
  return acknowledged ? "it works" : "it does not"
}

/** Whatever looks like a database, so that the other argument is looked at. */
const DATABASE = { createObjectStore() {} }

interface Functions {
  open: typeof open
  memory: typeof memory
  indexedDb: typeof indexedDb
  upgrade: typeof upgrade
  init: typeof init
  ManualClock: (...args: ConstructorParameters<typeof ManualClock>) => ManualClock
}

/** Functions and constructors, of all entries. */
export const FUNCTIONS: Calls<Functions> = {
  open: {
    call: (_, [options]) => open(options),
    args: [
      bag<OpenOptions>(
        kinds.options,
        {
          storage: argument("storage", kinds.storage, undefined, works, "it works"),
          clock: argument("clock", kinds.clock, undefined, works, "it works"),
          seed: argument("seed", kinds.seed, 1, works, "it works"),
        },
        (opened) => works(opened).then(() => "as without"),
      ),
    ],
  },
  memory: { sync: true, call: () => undefined, args: [] },
  indexedDb: {
    sync: true,
    call: (_, [name, options]) => indexedDb(name, options),
    args: [
      {
        ...bag<{ database: IDBDatabase }>(
          kinds.databaseName,
          { database: argument("database", kinds.database, undefined) },
          (made) => made.kind,
        ),
        name: "name",
        good: "a name",
      },
      bag<IndexedDbOptions>(kinds.options, {
        durability: argument("durability", kinds.choice, undefined, (made) => made.kind, "indexeddb"),
      }),
    ],
  },
  upgrade: {
    sync: true,
    call: (_, [db, transaction]) => upgrade(db, transaction),
    args: [argument("db", kinds.native, DATABASE), argument("transaction", kinds.native, undefined)],
  },
  init: { call: (_, [input]) => init(input), args: [argument("input", kinds.engineInput, undefined)] },
  ManualClock: {
    sync: true,
    call: (_, [at]) => new ManualClock(at),
    args: [argument("start", kinds.start, undefined, (clock) => clock.now(), START)],
  },
}
