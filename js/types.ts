/// <reference lib="esnext.disposable" preserve="true" />

/**
 * A length of time: a number of milliseconds, or digits with an optional decimal part and one of
 * `ms s m h d` (`"250ms"`, `"1.5s"`, `"5m"`, `"2h"`, `"1d"`), without sign or spaces. Strings are exact:
 * `"1.005s"` is 1005 ms. Fractions of a millisecond are dropped towards zero; anything else, NaN and infinity
 * included, is `InvalidArgument`.
 */
export type Duration = number | string

/** An instant: milliseconds since the Unix epoch, as `Date.now()` gives, or a `Date`. */
export type Instant = number | Date

/**
 * What an `AlkstoreError` says in its `code`.
 *
 * - `InvalidName`: a name that is empty, only white space or not well-formed Unicode.
 * - `ReservedName`: a queue, outbox, lock or schedule name that starts with `__alkstore_`.
 * - `InvalidSpec`: a schedule spec outside the grammar, or whose first boundary overflows the clock.
 * - `InvalidArgument`: a wrong type, an unknown option, NaN or infinity, a `ttl` that is not positive.
 * - `LeadershipLost`: another runner leads the schedules.
 * - `Codec`: a payload that structured clone cannot copy (a function, a symbol, a promise, a DOM node), or that the
 *   storage cannot keep. The message names the part.
 * - `Closed`: the store was closed, or the transaction's body has ended.
 * - `Storage`: the storage failed (quota, aborted transaction, lost connection). The operation did not happen;
 *   trying again may help. Only where the message says so is it not known whether it did: a database did not answer a
 *   commit for 30 s.
 * - `Unavailable`: the engine could not start; the message says why and what to do.
 * - `Panicked`: a defect of the engine stopped it. Open again: what was committed is intact.
 */
export type ErrorCode =
  | "InvalidName"
  | "ReservedName"
  | "InvalidSpec"
  | "InvalidArgument"
  | "LeadershipLost"
  | "Codec"
  | "Closed"
  | "Storage"
  | "Unavailable"
  | "Panicked"

/**
 * Where jobs, locks and schedules are kept. Made by `memory()`, or by `indexedDb()` of `alkstore-wasm/indexeddb`;
 * opaque otherwise. Stores opened on the same adapter share its state.
 */
export interface StorageAdapter {
  /** The kind of storage, `"memory"` for example. */
  readonly kind: string
}

/**
 * How long a storage keeps what it has committed. `persistent`: until the user deletes it. `best-effort`: the browser
 * may also clear it when the disk is full or the site has long been unused. `memory`: as long as the process lives.
 */
export type Durability = "persistent" | "best-effort" | "memory"

/**
 * Where the engine gets its time from. The default reads `Date.now` and the runtime's timers anew at each call,
 * so that fake timers work; `alkstore-wasm/testing` has a clock that is moved by hand.
 */
export interface Clock {
  /** The instant now, in milliseconds since the Unix epoch. */
  now(): number
  /**
   * Resolves after `ms` milliseconds (0 to 2^31−1) of elapsed time, or early when `signal` aborts. Never rejects;
   * may be late, never early.
   */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** Options of `open`. An option that is `null` or `undefined` is absent; an unknown one is `InvalidArgument`. */
export interface OpenOptions {
  /** Default: a new `memory()`, which no other store shares. */
  storage?: StorageAdapter | null | undefined
  /** Default: the runtime's own `Date.now` and timers, looked up at each call. */
  clock?: Clock | null | undefined
  /** Fixes the jitter of retries, for tests: a safe integer. Default: drawn from the runtime's entropy. */
  seed?: number | null | undefined
}

/**
 * A store: queues, outboxes, locks, schedules and transactions on one storage. Calls on one store take effect in
 * the order in which they are made, and a resolved promise means that the storage has committed. What returns a
 * promise rejects instead of throwing. An open store holds no timer and keeps no process alive; running loops do.
 *
 * `await using store = await open()` closes it at the end of the block.
 */
export interface Store extends AsyncDisposable {
  /**
   * A handle on the queue `name`. Nothing is stored: a queue is a name, and the options are copied onto each job as
   * it is enqueued through this handle.
   *
   * Throws `InvalidName`, `ReservedName`, `InvalidArgument` or `Closed`.
   */
  queue<P = unknown>(name: string, options?: QueueOptions | null): Queue<P>

  /**
   * A handle on the outbox `name`: a queue with its own defaults (60 s visibility timeout, 5 attempts, 5 s backoff)
   * and a runner that delivers. Its jobs live in the queue `__alkstore_outbox:{name}`, which only outbox calls reach.
   *
   * Throws `InvalidName`, `ReservedName` or `Closed`.
   */
  outbox<P = unknown>(name: string): Outbox<P>

  /**
   * Takes the lock `name` for `owner` until `ttl` from now, or resolves to `null` while somebody else holds it. The
   * same owner asking again while it holds the lock is granted, without moving the deadline.
   *
   * Exclusion lapses silently at the deadline: renew in time, or make the work safe to do twice. A lock that lapsed and
   * was never released leaves a row of its name for good: release what you take, and keep names few. Locks take no part
   * in transactions. Rejects with `InvalidName`, `ReservedName`, or `InvalidArgument` for a `ttl` that is not positive.
   */
  tryLock(name: string, owner: string, ttl: Duration): Promise<Lock | null>

  /**
   * Registers the schedule `name`, or replaces it: from its first boundary, one interval from now, each boundary
   * enqueues one job with `payload` into `queue`. `spec` is `@every <n><unit>` with one space, `n` a positive integer
   * and `unit` one of `s m h d`; cron strings are refused.
   *
   * The same spec text keeps the boundary that is due; a changed one starts again. Fires only while somebody runs
   * `runSchedules`. Rejects with `InvalidName`, `ReservedName`, `InvalidSpec`, `InvalidArgument` or `Codec`.
   */
  schedule<P>(
    name: string,
    spec: string,
    queue: string,
    payload: P,
    options?: ScheduleOptions | null
  ): Promise<Schedule>

  /** Removes the schedule `name`; `false` if there was none. Jobs that it has enqueued stay. */
  unschedule(name: string): Promise<boolean>

  /** All schedules with their next boundaries, in the order of their names. */
  schedules(): Promise<ScheduleInfo[]>

  /**
   * Fires the schedules until `signal` aborts, then resolves. One runner leads a storage at a time: while another
   * does, this rejects with `LeadershipLost`, at the start or later, unless `standby` asks to wait and take over
   * (within 2 s of a release or of a vanished leader's lease of 10 s ending).
   *
   * A boundary fires wholly or not at all, and never twice. After a pause at most 64 missed boundaries per schedule
   * are caught up. A failing storage is `Storage`; running again is safe.
   */
  runSchedules(signal?: AbortSignal | null, options?: RunSchedulesOptions | null): Promise<void>

  /**
   * Runs `body` and commits what it enqueued, all of it or none, then resolves to what `body` returned. Reads inside
   * see the transaction's own writes; nobody else does before the commit, and an open transaction blocks nobody.
   *
   * What `body` throws comes out unchanged, and nothing is stored. A call made before the body ends belongs to the
   * transaction, awaited or not; one made after it is `Closed`. If the storage fails an enqueue, this rejects alike.
   * It takes effect at its commit, which may come after calls that were made later. Its jobs have the defaults of a
   * plain queue.
   */
  transaction<T>(body: (tx: Transaction) => T | Promise<T>): Promise<T>

  /** How long the storage keeps what it has committed, as things stand. */
  durability(): Promise<Durability>

  /**
   * Asks the browser to keep the storage until the user deletes it, and resolves to what `durability` says then. The
   * browser may ask the user, and this waits for the answer: no answer may come. Workers cannot ask.
   */
  persist(): Promise<Durability>

  /**
   * Stops every loop of this store and releases the schedule lock; later calls reject with `Closed`. Waits for no
   * callback: jobs in delivery stay claimed until they lapse, and locks are not released.
   */
  close(): Promise<void>
}

/** Options of a queue handle, copied onto each job that is enqueued through it. */
export interface QueueOptions {
  /** How long a claim lives without a heartbeat. Default 300 s. Negative: claims lapse at once. */
  visibilityTimeout?: Duration | null | undefined
  /** How often a job is handed out before it is dead, lapsed claims included. Default 3; a safe integer. */
  maxAttempts?: number | null | undefined
  /** The first retry's longest delay, doubled at each further attempt up to 1 h. Default 5 s. */
  backoffBase?: Duration | null | undefined
  /** How long a dead job is kept before a sweep deletes it. Default: for ever. */
  deadLetterRetention?: Duration | null | undefined
}

/** Options of one enqueue. */
export interface EnqueueOptions {
  /** Ready this long from now. Wins over `runAt`; negative is a ready time in the past. */
  delay?: Duration | null | undefined
  /** Ready at this instant. */
  runAt?: Instant | null | undefined
  /** Higher is claimed first. Default 0; a safe integer. */
  priority?: number | null | undefined
  /** Instead of the queue's; a safe integer. */
  maxAttempts?: number | null | undefined
  /** No longer handed out this long after the enqueue; the next sweep moves it to dead with `"expired"`. */
  expires?: Duration | null | undefined
  /**
   * The caller's own database transaction on the same storage: the job commits or aborts with it. The call must be made
   * while the transaction is active, and resolves while it still is; the job is stored once the transaction completes.
   * If it aborts, the id names no job, and another tab may be given it. The job's place is that of the transaction: calls
   * without one that were made before in the same turn come after it.
   * On IndexedDB a native, readwrite `IDBTransaction` whose scope includes the store `alkstore`. Memory has none: there
   * it is `InvalidArgument`.
   */
  transaction?: unknown
}

/** Options of a schedule, given to each job that it enqueues. */
export interface ScheduleOptions {
  /** Higher is claimed first. Default 0; a safe integer. */
  priority?: number | null | undefined
  /** Instead of a plain queue's 3; a safe integer. */
  maxAttempts?: number | null | undefined
  /** No longer handed out this long after its boundary fired. */
  expires?: Duration | null | undefined
}

/** Options of `runSchedules`. */
export interface RunSchedulesOptions {
  /** Wait to lead instead of rejecting with `LeadershipLost`. Default false. */
  standby?: boolean | null | undefined
}

/** Options of `list`. */
export interface ListOptions {
  /** Only jobs in this state. Default: all. */
  state?: JobState | null | undefined
  /** At most this many. Default 100; zero or negative gives the empty list. */
  limit?: number | null | undefined
  /** Only jobs with a greater id: the last id of the page before. */
  after?: number | null | undefined
}

/** `pending` waits, `processing` is claimed, `dead` has failed for good. Completed jobs leave no row. */
export type JobState = "pending" | "processing" | "dead"

/** What a queue holds at one instant. */
export interface QueueStats {
  /** Jobs that wait, ready or delayed. */
  readonly pending: number
  /** Jobs that a claim would hand out now, lapsed claims included. */
  readonly ready: number
  /** Jobs that are claimed, lapsed or not. */
  readonly processing: number
  /** Dead jobs. */
  readonly dead: number
  /** The next instant at which a job becomes claimable: now if one is, `null` if none will. */
  readonly nextDeadline: number | null
}

/** What a queue and an outbox have in common: looking at jobs, removing them, dead letters, waiting. */
export interface JobCollection<P> {
  /** The name it was opened with. */
  readonly name: string

  /**
   * Stores a job and resolves to its id, a positive integer that grows with every enqueue and is never used again.
   * The payload is copied as structured clone would copy it: changing it afterwards changes nothing.
   *
   * Rejects with `Codec` for what cannot be copied, `InvalidArgument` for a wrong option, `Storage` if nothing was
   * stored.
   */
  enqueue(payload: P, options?: EnqueueOptions | null): Promise<number>

  /** Removes a pending or processing job, whoever holds it; `false` if there is none. */
  cancel(id: number): Promise<boolean>

  /** Reads a job, dead ones too; `null` if there is none. Its payload is a fresh copy. */
  get(id: number): Promise<Job<P> | null>

  /** Jobs by id, at most `limit` (100) of them; go on with `after`, which is exclusive. */
  list(options?: ListOptions | null): Promise<Job<P>[]>

  /** How many jobs there are in which state, and when the next one becomes claimable. */
  stats(): Promise<QueueStats>

  /**
   * Puts dead jobs back: pending, ready now, with no attempts behind them. Without `ids` all of the queue, with an
   * empty list none. Resolves to how many; ids that are not dead here do not count.
   */
  redrive(ids?: readonly number[] | null): Promise<number>

  /** Deletes dead jobs: those of `ids`, or all of the queue without. Resolves to how many. */
  purge(ids?: readonly number[] | null): Promise<number>

  /**
   * Moves jobs whose expiry has passed to dead with `"expired"`, then deletes dead ones older than their
   * `deadLetterRetention`; resolves to how many it moved plus how many it deleted. Nothing else sweeps.
   */
  sweepExpired(): Promise<number>

  /**
   * Resolves to `true` once a claim may have something to do: at once, at the next deadline, or on a wake from any
   * context. A hint: another worker may be faster, and a job that is out of attempts is made dead by the claim. Resolves to `false` when `signal` aborts or the store closes. What a context
   * committed that vanished before it could wake anybody is found within a minute.
   */
  wait(signal?: AbortSignal | null): Promise<boolean>
}

/** A queue. Delivery is at least once: a job whose worker vanishes is handed out again when its claim lapses. */
export interface Queue<P = unknown> extends JobCollection<P> {
  /**
   * Claims the first claimable job (priority highest first, then ready time, then id) for `workerId`, to one claimant
   * only, until its visibility timeout ends. Counts as an attempt. `null` if none is claimable.
   */
  claimOne(workerId: string): Promise<ClaimedJob<P> | null>

  /** Claims up to `n` jobs in one step, in the order of `claimOne`. `n` is truncated; zero or less claims nothing. */
  claimBatch(workerId: string, n: number): Promise<ClaimedJob<P>[]>

  /**
   * Acknowledges those of `ids` whose claims are alive, whoever claimed them, and resolves to how many. A lapsed or
   * unknown id is left alone; a repeated one counts once.
   */
  ackBatch(ids: readonly number[]): Promise<number>
}

/** An outbox: a queue of things to deliver, enqueued together with the change that they report. */
export interface Outbox<P = unknown> extends JobCollection<P> {
  /**
   * Claims one job and calls `delivery` with it, outside any lock or transaction: success acknowledges the job, a
   * throw or a rejection of any value is a retry with that message. Resolves to whether there was a job.
   *
   * `while (await outbox.wait(signal)) await outbox.runOnce(id, deliver)` is a worker that never polls. A delivery
   * longer than 60 s calls `job.heartbeat`. Rejects with `Closed` if the store closed meanwhile.
   */
  runOnce(workerId: string, delivery: (job: ClaimedJob<P>) => unknown): Promise<boolean>
}

/** A job as it was when it was read: plain values, absent ones `null`, times in milliseconds. */
export interface Job<P = unknown> {
  readonly id: number
  readonly queue: string
  readonly state: JobState
  readonly payload: P
  readonly priority: number
  /** The instant from which it may be claimed. */
  readonly runAt: number
  /** How often it has been handed out. */
  readonly attempts: number
  readonly maxAttempts: number
  readonly workerId: string | null
  readonly claimedAt: number | null
  /** The instant after which its claim no longer counts. */
  readonly claimExpiresAt: number | null
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly visibilityTimeout: number
  readonly backoffBase: number
  readonly deadLetterRetention: number | null
  /** Of a dead job: why. */
  readonly lastError: string | null
  /** Of a dead job: since when. */
  readonly diedAt: number | null
}

/**
 * A claimed job. Its operations land only while this very claim holds the job and has not lapsed; afterwards they
 * resolve to `false` and change nothing, even if the next holder has the same `workerId`.
 */
export interface ClaimedJob<P = unknown> extends Job<P> {
  /** Done: removes the job. `false` if the claim was lost. */
  ack(): Promise<boolean>

  /**
   * Puts the job back, ready after `delay`; without one after a random draw from the upper half of
   * `backoffBase · 2^(attempts−1)`, at most 1 h. With no attempts left it goes to dead with `error`. `false` if the
   * claim was lost.
   */
  retry(error?: unknown, delay?: Duration | null): Promise<boolean>

  /** Gives up: to dead at once, with `error` or `"failed"`. `false` if the claim was lost. */
  fail(error?: unknown): Promise<boolean>

  /**
   * Lets the claim live until `extend` from now, whatever it was; may be repeated. Not positive lets it lapse.
   * `false` if the claim was lost already.
   */
  heartbeat(extend: Duration): Promise<boolean>
}

/** What a transaction's body may do. Each call after the body has ended rejects with `Closed`. */
export interface Transaction {
  /** Enqueues with a plain queue's defaults (300 s, 3 attempts, 5 s) when the transaction commits. */
  enqueue<P>(queue: string, payload: P, options?: EnqueueOptions | null): Promise<number>

  /** Enqueues into an outbox, with an outbox's defaults, when the transaction commits. */
  outboxEnqueue<P>(outbox: string, payload: P, options?: EnqueueOptions | null): Promise<number>

  /** Reads a job of `queue`, the transaction's own included; `null` if there is none. */
  get<P = unknown>(queue: string, id: number): Promise<Job<P> | null>
}

/** A held lock. `await using` releases it at the end of the block. */
export interface Lock extends AsyncDisposable {
  readonly name: string

  /** A new full window of `ttl` from now; `false` once lapsed or taken: a renewal never revives. */
  renew(ttl: Duration): Promise<boolean>

  /** Gives the lock back: `true` if the entry was still this owner's, even lapsed; `false` if gone or taken. */
  release(): Promise<boolean>
}

/** A registered schedule. */
export interface Schedule {
  readonly name: string
  readonly spec: string
  readonly queue: string
  readonly options: {
    readonly priority: number | null
    readonly maxAttempts: number | null
    /** In milliseconds. */
    readonly expires: number | null
  }
}

/** A registered schedule and its next boundary, in milliseconds since the Unix epoch. */
export interface ScheduleInfo extends Schedule {
  readonly nextFireAt: number
}
