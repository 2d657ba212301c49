// What the contract says, done with lists that are looked through from end to end. Nothing here is quick, or clever.
//
// `now` is set from outside. Ids and the jitter of a retry are the engine's to draw: the model is told them, and says
// whether they may be.

const MINUTE = 60_000
const HOUR = 3_600_000

/** How exactly the latest instant is remembered. */
const LATEST_GRAIN = 10_000
const CATCH_UP_FIRES_MAX = 64
const LEADER_TTL = 10_000
const RENEW_EVERY = 2_000

export const SCHEDULER = "__alkstore_scheduler"

export interface Stamps {
  visibilityTimeout: number
  maxAttempts: number
  backoffBase: number
  deadLetterRetention: number | null
}

export const PLAIN: Stamps = {
  visibilityTimeout: 300_000,
  maxAttempts: 3,
  backoffBase: 5_000,
  deadLetterRetention: null,
}
export const OUTBOX: Stamps = {
  visibilityTimeout: 60_000,
  maxAttempts: 5,
  backoffBase: 5_000,
  deadLetterRetention: null,
}

export interface EnqueueOptions {
  delay?: number
  runAt?: number
  priority?: number
  maxAttempts?: number
  expires?: number
}

export interface ScheduleOptions {
  priority: number | null
  maxAttempts: number | null
  expires: number | null
}

/** A job as users see it. */
export interface Job extends Stamps {
  id: number
  queue: string
  state: "pending" | "processing" | "dead"
  payload: unknown
  priority: number
  runAt: number
  attempts: number
  workerId: string | null
  claimedAt: number | null
  claimExpiresAt: number | null
  createdAt: number
  expiresAt: number | null
  lastError: string | null
  diedAt: number | null
}

/** And what is known of it besides. */
interface Row {
  job: Job
  /** `runAt` was given as an instant. */
  isAbsolute: boolean
  /** How often it was claimed. */
  claims: number
  /** When its retention ends. */
  purgeAt: number | null
}

/** This very claim of a job. */
export interface Claim {
  id: number
  number: number
}

interface Schedule {
  name: string
  spec: string
  queue: string
  payload: unknown
  options: ScheduleOptions
  nextFireAt: number
}

export class Model {
  now: number
  /** In the order of ids. */
  rows: Row[] = []
  /** Of the transaction that is open. */
  staged: Row[] = []
  locks: { name: string; owner: string; expiresAt: number }[] = []
  schedules: Schedule[] = []
  /** The last id that was returned to anybody. */
  lastId = 0
  #latest: number | null = null

  constructor(now: number) {
    this.now = now
  }

  // §9. The storage remembers the latest instant that any operation has seen (to 10 s). More than one minute behind it
  // the clock was set back: every derived deadline moves back by the difference; instants that the user gave, and what
  // only tells history, stay.
  look(): number {
    this.#latest ??= this.now
    const back = this.#latest - this.now
    if (back > MINUTE) {
      for (const row of [...this.rows, ...this.staged]) {
        if (!row.isAbsolute) row.job.runAt -= back
        if (row.job.claimExpiresAt !== null) row.job.claimExpiresAt -= back
        if (row.job.expiresAt !== null) row.job.expiresAt -= back
        if (row.purgeAt !== null) row.purgeAt -= back
      }
      for (const lock of this.locks) lock.expiresAt -= back
      for (const schedule of this.schedules) schedule.nextFireAt -= back
      this.#latest = this.now
    } else if (-back >= LATEST_GRAIN) this.#latest = this.now
    return this.now
  }

  /** Every instant to come that decides something, the next one first. */
  deadlines(): number[] {
    const ofJobs = this.rows.flatMap(({ job, purgeAt }) => [job.runAt, job.claimExpiresAt, job.expiresAt, purgeAt])
    const others = [
      ...this.locks.map(({ expiresAt }) => expiresAt),
      ...this.schedules.map(({ nextFireAt }) => nextFireAt),
    ]
    const all = new Set([...ofJobs, ...others].filter((at) => at !== null && at > this.now))
    return ([...all] as number[]).sort((a, b) => a - b).slice(0, 10)
  }

  // §3. A job.

  #make(id: number, queue: string, stamps: Stamps, payload: unknown, options: EnqueueOptions): Row {
    const now = this.look()
    if (!(Number.isSafeInteger(id) && id > this.lastId)) throw new Error(`id ${id} came after ${this.lastId}`)
    this.lastId = id
    const { delay, runAt, priority = 0, maxAttempts = stamps.maxAttempts, expires } = options
    const job: Job = {
      id,
      queue,
      state: "pending",
      payload,
      priority,
      runAt: delay !== undefined ? now + delay : runAt !== undefined ? runAt : now,
      attempts: 0,
      ...stamps,
      maxAttempts,
      workerId: null,
      claimedAt: null,
      claimExpiresAt: null,
      createdAt: now,
      expiresAt: expires !== undefined ? now + expires : null,
      lastError: null,
      diedAt: null,
    }
    return { job, isAbsolute: delay === undefined && runAt !== undefined, claims: 0, purgeAt: null }
  }

  enqueue(id: number, queue: string, stamps: Stamps, payload: unknown, options: EnqueueOptions): void {
    this.rows.push(this.#make(id, queue, stamps, payload, options))
  }

  #of(queue: string): Row[] {
    return this.rows.filter(({ job }) => job.queue === queue)
  }

  #remove(gone: Row[]): number {
    this.rows = this.rows.filter((row) => !gone.includes(row))
    return gone.length
  }

  /** From when on neither a delay nor a lease stands in the way. */
  #freeAt({ job }: Row): number {
    return job.state === "processing" ? job.claimExpiresAt! + 1 : job.runAt
  }

  #isExpired({ job }: Row, at: number): boolean {
    return job.state !== "dead" && job.expiresAt !== null && job.expiresAt <= at
  }

  /** Claimable, if attempts were no matter. */
  #isDue(row: Row, now: number): boolean {
    return row.job.state !== "dead" && !this.#isExpired(row, now) && this.#freeAt(row) <= now
  }

  #isClaimable(row: Row, now: number): boolean {
    return row.job.attempts < row.job.maxAttempts && this.#isDue(row, now)
  }

  #isLeased({ job }: Row, now: number): boolean {
    return job.state === "processing" && job.claimExpiresAt! >= now
  }

  #kill(row: Row, lastError: string, now: number): void {
    Object.assign(row.job, { state: "dead", workerId: null, claimExpiresAt: null, lastError, diedAt: now })
    if (row.job.deadLetterRetention !== null) row.purgeAt = now + row.job.deadLetterRetention
  }

  #putBack(row: Row, runAt: number): void {
    Object.assign(row.job, { state: "pending", runAt, workerId: null, claimedAt: null, claimExpiresAt: null })
    row.isAbsolute = false
  }

  /** The claims, and the jobs as they were handed out. */
  claim(queue: string, workerId: string, n: number): [Claim, Job][] {
    const now = this.look()
    if (n <= 0) return []
    for (const row of this.#of(queue)) {
      if (this.#isDue(row, now) && row.job.attempts >= row.job.maxAttempts)
        this.#kill(row, "max attempts exceeded", now)
    }
    const claimable = this.#of(queue).filter((row) => this.#isClaimable(row, now))
    claimable.sort(({ job: a }, { job: b }) => b.priority - a.priority || a.runAt - b.runAt || a.id - b.id)
    return claimable.slice(0, n).map((row) => {
      const claimExpiresAt = now + row.job.visibilityTimeout
      Object.assign(row.job, {
        state: "processing",
        workerId,
        claimedAt: now,
        claimExpiresAt,
        attempts: row.job.attempts + 1,
      })
      row.claims += 1
      return [{ id: row.job.id, number: row.claims }, { ...row.job }]
    })
  }

  // Only while the job is processing, this very claim holds it, and its deadline has not passed.
  #held({ id, number }: Claim, now: number): Row | null {
    return this.rows.find((row) => row.job.id === id && row.claims === number && this.#isLeased(row, now)) ?? null
  }

  ack(claim: Claim): boolean {
    const row = this.#held(claim, this.look())
    if (row !== null) this.#remove([row])
    return row !== null
  }

  /** Between which two instants a retry without a delay of its own is ready again; `null` if there is none. */
  jitter(claim: Claim): [low: number, high: number] | null {
    const row = this.#held(claim, this.look())
    if (row === null || row.job.attempts >= row.job.maxAttempts) return null
    const cap = Math.min(row.job.backoffBase * 2 ** (row.job.attempts - 1), HOUR)
    return [this.now + Math.floor(cap / 2), this.now + cap]
  }

  retry(claim: Claim, error: string | null, runAt: number): boolean {
    const now = this.look()
    const row = this.#held(claim, now)
    if (row === null) return false
    if (row.job.attempts < row.job.maxAttempts) this.#putBack(row, runAt)
    else this.#kill(row, error ?? "max attempts exceeded", now)
    return true
  }

  fail(claim: Claim, error: string | null): boolean {
    const now = this.look()
    const row = this.#held(claim, now)
    if (row !== null) this.#kill(row, error ?? "failed", now)
    return row !== null
  }

  heartbeat(claim: Claim, extend: number): boolean {
    const now = this.look()
    const row = this.#held(claim, now)
    if (row !== null) row.job.claimExpiresAt = now + extend
    return row !== null
  }

  ackBatch(queue: string, ids: number[]): number {
    const now = this.look()
    return this.#remove(this.#of(queue).filter((row) => ids.includes(row.job.id) && this.#isLeased(row, now)))
  }

  cancel(queue: string, id: number): boolean {
    this.look()
    return this.#remove(this.#of(queue).filter(({ job }) => job.id === id && job.state !== "dead")) > 0
  }

  get(queue: string, id: number): Job | null {
    this.look()
    return this.#of(queue).find(({ job }) => job.id === id)?.job ?? null
  }

  list(queue: string, state: Job["state"] | null, limit: number, after: number): Job[] {
    this.look()
    const jobs = this.#of(queue).map(({ job }) => job)
    return jobs.filter((job) => job.id > after && (state === null || job.state === state)).slice(0, Math.max(limit, 0))
  }

  stats(queue: string): Record<"pending" | "ready" | "processing" | "dead", number> & { nextDeadline: number | null } {
    const now = this.look()
    const rows = this.#of(queue)
    const count = (state: Job["state"]): number => rows.filter(({ job }) => job.state === state).length
    const ready = rows.filter((row) => this.#isClaimable(row, now)).length
    const upcoming = rows.filter((row) => row.job.state !== "dead").map((row) => this.#freeAt(row))
    const claimable = upcoming.filter(
      (at) => at > now && rows.some((row) => this.#freeAt(row) === at && this.#isClaimable(row, at)),
    )
    const nextDeadline = ready > 0 ? now : claimable.length > 0 ? Math.min(...claimable) : null
    return { pending: count("pending"), ready, processing: count("processing"), dead: count("dead"), nextDeadline }
  }

  /** Whether a wait ends at once: a claim would have something to do. */
  isDue(queue: string): boolean {
    const now = this.look()
    return this.#of(queue).some((row) => this.#isDue(row, now))
  }

  #dead(queue: string, ids: number[] | null): Row[] {
    return this.#of(queue).filter(({ job }) => job.state === "dead" && (ids === null || ids.includes(job.id)))
  }

  redrive(queue: string, ids: number[] | null): number {
    const now = this.look()
    const dead = this.#dead(queue, ids)
    for (const row of dead) {
      this.#putBack(row, now)
      row.purgeAt = null
      Object.assign(row.job, { attempts: 0, lastError: null, diedAt: null })
      if (this.#isExpired(row, now)) row.job.expiresAt = null
    }
    return dead.length
  }

  purge(queue: string, ids: number[] | null): number {
    this.look()
    return this.#remove(this.#dead(queue, ids))
  }

  sweepExpired(queue: string): number {
    const now = this.look()
    const expired = this.#of(queue).filter((row) => this.#isExpired(row, now))
    for (const row of expired) this.#kill(row, "expired", now)
    return (
      expired.length + this.#remove(this.#dead(queue, null).filter((row) => row.purgeAt !== null && row.purgeAt <= now))
    )
  }

  // §4. A lock. An entry whose deadline has come is free.

  #lock(name: string): Model["locks"][number] | undefined {
    return this.locks.find((lock) => lock.name === name)
  }

  #isHeld(name: string, now: number): boolean {
    return (this.#lock(name)?.expiresAt ?? now) > now
  }

  #put(name: string, owner: string, expiresAt: number): void {
    this.locks = [...this.locks.filter((lock) => lock.name !== name), { name, owner, expiresAt }]
  }

  tryLock(name: string, owner: string, ttl: number): boolean {
    const now = this.look()
    if (this.#isHeld(name, now)) return this.#lock(name)!.owner === owner
    this.#put(name, owner, now + ttl)
    return true
  }

  renew(name: string, owner: string, ttl: number): boolean {
    const now = this.look()
    const isOwn = this.#isHeld(name, now) && this.#lock(name)!.owner === owner
    if (isOwn) this.#put(name, owner, now + ttl)
    return isOwn
  }

  release(name: string, owner: string): boolean {
    this.look()
    const isOwn = this.#lock(name)?.owner === owner
    if (isOwn) this.locks = this.locks.filter((lock) => lock.name !== name)
    return isOwn
  }

  // §5. A schedule.

  schedule(name: string, spec: string, queue: string, payload: unknown, options: ScheduleOptions): void {
    const now = this.look()
    const before = this.schedules.find((schedule) => schedule.name === name && schedule.spec === spec)
    const nextFireAt = before?.nextFireAt ?? now + interval(spec)
    this.unschedule(name)
    this.schedules.push({ name, spec, queue, payload, options, nextFireAt })
    this.schedules.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  unschedule(name: string): boolean {
    this.look()
    const before = this.schedules.length
    this.schedules = this.schedules.filter((schedule) => schedule.name !== name)
    return this.schedules.length < before
  }

  listSchedules(): Omit<Schedule, "payload">[] {
    this.look()
    return this.schedules.map(({ payload: _, ...schedule }) => schedule)
  }

  /** What a leader does, from now on for `span`: who it is, and which jobs it fires, in this order but without ids. */
  lead(runner: string, span: number): Job[] {
    const fired: Job[] = []
    const end = this.now + span
    for (;;) {
      const now = this.look()
      this.#put(SCHEDULER, runner, now + LEADER_TTL)
      fired.push(...this.schedules.flatMap((schedule) => this.#tick(schedule, now)))
      const boundaries = this.schedules.map(({ nextFireAt }) => nextFireAt)
      const next = Math.min(now + RENEW_EVERY, ...boundaries)
      if (next > end) break
      this.now = next
    }
    this.now = end
    return fired
  }

  // One job per missed boundary, at most 64; the next one is the first on the same grid after now, and never more than an
  // interval ahead.
  #tick(schedule: Schedule, now: number): Job[] {
    const every = interval(schedule.spec)
    schedule.nextFireAt = Math.min(schedule.nextFireAt, now + every)
    let missed = 0
    for (; schedule.nextFireAt <= now; schedule.nextFireAt += every) missed += 1
    const { priority, maxAttempts, expires } = schedule.options
    const options = {
      ...(priority !== null && { priority }),
      ...(maxAttempts !== null && { maxAttempts }),
      ...(expires !== null && { expires }),
    }
    return Array.from({ length: Math.min(missed, CATCH_UP_FIRES_MAX) }, () => {
      const lastId = this.lastId
      const { job } = this.#make(lastId + 1, schedule.queue, PLAIN, schedule.payload, options)
      this.lastId = lastId
      return job
    })
  }

  /** Gives the jobs that were fired the ids that the engine has drawn for them. */
  adopt(fired: Job[], ids: number[]): void {
    fired.forEach((job, at) => {
      const id = ids[at]!
      if (id <= this.lastId) throw new Error(`id ${id} came after ${this.lastId}`)
      this.lastId = id
      this.rows.push({ job: { ...job, id }, isAbsolute: false, claims: 0, purgeAt: null })
    })
  }

  // §7. A transaction: one at a time here.

  stage(id: number, queue: string, stamps: Stamps, payload: unknown, options: EnqueueOptions): void {
    this.staged.push(this.#make(id, queue, stamps, payload, options))
  }

  /** What a read inside it sees. */
  getInside(queue: string, id: number): Job | null {
    const own = this.staged.find(({ job }) => job.queue === queue && job.id === id)
    const job = this.get(queue, id)
    return own?.job ?? job
  }

  /** With nothing staged it asks nothing of the storage. */
  commit(): void {
    if (this.staged.length === 0) return
    this.look()
    this.rows.push(...this.staged)
    this.rows.sort((a, b) => a.job.id - b.job.id)
    this.staged = []
  }

  rollBack(): void {
    this.staged = []
  }
}

const UNITS: Record<string, number> = { s: 1_000, m: MINUTE, h: HOUR, d: 24 * HOUR }

/** Of `@every <n><unit>`. */
export function interval(spec: string): number {
  const [, n, unit] = /^@every (\d+)([smhd])$/.exec(spec)!
  return Number(n) * UNITS[unit!]!
}
