// An in-memory job queue in plain JavaScript: binary heaps, a Map of rows, payloads copied in and out, by structuredClone
// where nothing else is given.
//
// It keeps the queue part of the package's contract, for two uses: the baseline that the engine is measured
// against (node.mjs), and a second opinion: wasm-tests/node/heap.test.ts. Durations are milliseconds, as numbers.
// Not covered: names and arguments are not checked, and a clock set back by more than a minute is not repaired.

const MAX_SAFE = Number.MAX_SAFE_INTEGER
const BACKOFF_MAX_MS = 3_600_000
const LIST_LIMIT = 100
/** A heap is rebuilt once this many of its entries, and half of all, are stale. */
const STALE_MAX = 256
const EXHAUSTED = "max attempts exceeded"

const whole = (x) => (x > MAX_SAFE ? MAX_SAFE : x < -MAX_SAFE ? -MAX_SAFE : Math.trunc(x))
const sum = (a, b) => whole(a + whole(b))
const textOr = (error, absent) =>
  error === null || error === undefined ? absent : error instanceof Error ? error.message : String(error)

export class HeapStore {
  #lastId = 0

  /** `now` reads the clock, once per operation; `random` draws the jitter; `copyIn` and `copyOut` copy payloads. */
  constructor({ now = Date.now, random = Math.random, copyIn = structuredClone, copyOut = structuredClone } = {}) {
    this.now = now
    this.random = random
    this.copyIn = copyIn
    this.copyOut = copyOut
  }

  nextId() {
    return ++this.#lastId
  }

  queue(name, options = {}) {
    return new HeapQueue(this, name, options)
  }
}

class HeapQueue {
  #store
  #jobs = new Map()            // every row, in the order of ids
  #dead = new Map()
  #expiring = new Set()        // living rows with an expiresAt
  #ready = new Heap()          // by priority, runAt, id
  #timers = new Heap()         // by due time: delayed rows, leases, rows without attempts left
  #expired = new Heap()        // what a claim met expired, latest expiry first: a step back revives it

  constructor(store, name, { visibilityTimeout, maxAttempts, backoffBase, deadLetterRetention }) {
    this.#store = store
    this.name = name
    this.visibilityTimeout = whole(visibilityTimeout ?? 300_000)
    this.maxAttempts = maxAttempts ?? 3
    this.backoffBase = whole(backoffBase ?? 5_000)
    this.deadLetterRetention = deadLetterRetention == null ? null : whole(deadLetterRetention)
  }

  async enqueue(payload, options = {}) {
    const now = this.#store.now()
    const { delay, runAt, priority, maxAttempts, expires } = options
    const job = {
      id: this.#store.nextId(),
      queue: this.name,
      state: "pending",
      payload: this.#store.copyIn(payload),
      priority: priority ?? 0,
      runAt: delay != null ? sum(now, delay) : runAt != null ? whole(+runAt) : now,
      attempts: 0,
      maxAttempts: maxAttempts ?? this.maxAttempts,
      workerId: null,
      claimedAt: null,
      claimExpiresAt: null,
      createdAt: now,
      expiresAt: expires != null ? sum(now, expires) : null,
      visibilityTimeout: this.visibilityTimeout,
      backoffBase: this.backoffBase,
      deadLetterRetention: this.deadLetterRetention,
      lastError: null,
      diedAt: null,
      claim: 0,
      heap: null,
      entry: null,
    }
    this.#jobs.set(job.id, job)
    if (job.expiresAt !== null) this.#expiring.add(job)
    if (job.runAt <= now && job.attempts < job.maxAttempts) this.#makeReady(job)
    else this.#wait(job)
    return job.id
  }

  async claimOne(workerId) {
    const now = this.#store.now()
    this.#promote(now)
    const job = this.#takeReady(now)
    return job === null ? null : this.#handOut(job, workerId, now)
  }

  async claimBatch(workerId, n) {
    const claimed = []
    if (n < 1) return claimed
    const now = this.#store.now()
    this.#promote(now)
    while (claimed.length < Math.trunc(n)) {
      const job = this.#takeReady(now)
      if (job === null) break
      claimed.push(this.#handOut(job, workerId, now))
    }
    return claimed
  }

  async ackBatch(ids) {
    const now = this.#store.now()
    let acked = 0
    for (const id of ids) {
      const job = this.#jobs.get(id)
      if (job === undefined || job.state !== "processing" || job.claimExpiresAt < now) continue
      this.#remove(job)
      acked++
    }
    return acked
  }

  async ack(id, claim) {
    const job = this.#held(id, claim, this.#store.now())
    if (job === null) return false
    this.#remove(job)
    return true
  }

  async retry(id, claim, error, delay) {
    const now = this.#store.now()
    const job = this.#held(id, claim, now)
    if (job === null) return false
    if (job.attempts >= job.maxAttempts) {
      this.#bury(job, now, textOr(error, EXHAUSTED))
      return true
    }
    this.#leave(job)
    job.state = "pending"
    job.runAt = sum(now, delay ?? this.#jitter(job))
    job.workerId = job.claimedAt = job.claimExpiresAt = null
    this.#wait(job)
    return true
  }

  async fail(id, claim, error) {
    const now = this.#store.now()
    const job = this.#held(id, claim, now)
    if (job === null) return false
    this.#bury(job, now, textOr(error, "failed"))
    return true
  }

  async heartbeat(id, claim, extend) {
    const now = this.#store.now()
    const job = this.#held(id, claim, now)
    if (job === null) return false
    this.#leave(job)
    job.claimExpiresAt = sum(now, extend)
    this.#wait(job)
    return true
  }

  async cancel(id) {
    const job = this.#jobs.get(id)
    if (job === undefined || job.state === "dead") return false
    this.#remove(job)
    return true
  }

  async get(id) {
    const job = this.#jobs.get(id)
    return job === undefined ? null : fields({}, job, this.#store.copyOut(job.payload))
  }

  async list({ state, limit = LIST_LIMIT, after = 0 } = {}) {
    const page = []
    for (const job of this.#jobs.values()) {
      if (page.length >= limit) break
      if (job.id > after && (state == null || job.state === state)) page.push(fields({}, job, this.#store.copyOut(job.payload)))
    }
    return page
  }

  async stats() {
    const now = this.#store.now()
    const counts = { pending: 0, ready: 0, processing: 0, dead: 0, nextDeadline: null }
    for (const job of this.#jobs.values()) {
      counts[job.state]++
      if (job.state === "dead" || job.attempts >= job.maxAttempts) continue
      const due = Math.max(dueAt(job), now)
      if (isExpired(job, due)) continue
      if (due === now) counts.ready++
      if (counts.nextDeadline === null || due < counts.nextDeadline) counts.nextDeadline = due
    }
    return counts
  }

  async sweepExpired() {
    const now = this.#store.now()
    let swept = 0
    for (const job of this.#expiring) {
      if (!isExpired(job, now)) continue
      this.#bury(job, now, "expired")
      swept++
    }
    for (const job of this.#dead.values()) {
      if (job.deadLetterRetention === null || job.diedAt > sum(now, -job.deadLetterRetention)) continue
      this.#delete(job)
      swept++
    }
    return swept
  }

  async redrive(ids) {
    const now = this.#store.now()
    return this.#eachDead(ids, (job) => {
      this.#dead.delete(job.id)
      job.state = "pending"
      job.runAt = now
      job.attempts = 0
      job.claimedAt = job.lastError = job.diedAt = null
      if (isExpired(job, now)) job.expiresAt = null
      if (job.expiresAt !== null) this.#expiring.add(job)
      this.#wait(job)
    })
  }

  async purge(ids) {
    return this.#eachDead(ids, (job) => this.#delete(job))
  }

  #eachDead(ids, change) {
    const chosen = ids == null ? [...this.#dead.keys()] : new Set(ids)
    let changed = 0
    for (const id of chosen) {
      const job = this.#dead.get(id)
      if (job === undefined) continue
      change(job)
      changed++
    }
    return changed
  }

  /** Moves what is due to where the next claim looks, and what is due without attempts left to dead. */
  #promote(now) {
    for (let top = this.#expired.peek(); top !== null && -top.first > now; top = this.#expired.peek()) {
      this.#wait(this.#expired.pop())
    }
    for (let top = this.#timers.peek(); top !== null && top.first <= now; top = this.#timers.peek()) {
      const job = this.#timers.pop()
      if (isExpired(job, now)) this.#park(job)
      else if (job.attempts >= job.maxAttempts) this.#bury(job, now, EXHAUSTED)
      else this.#makeReady(job)
    }
  }

  #takeReady(now) {
    for (let top = this.#ready.peek(); top !== null; top = this.#ready.peek()) {
      const job = this.#ready.pop()
      if (isExpired(job, now)) this.#park(job)
      else if (dueAt(job) > now) this.#wait(job)   // the clock stepped back
      else return job
    }
    return null
  }

  #handOut(job, workerId, now) {
    job.state = "processing"
    job.workerId = workerId
    job.claimedAt = now
    job.claimExpiresAt = sum(now, job.visibilityTimeout)
    job.attempts++
    job.claim++
    this.#wait(job)
    return new ClaimedJob(this, job, this.#store.copyOut(job.payload))
  }

  #held(id, claim, now) {
    const job = this.#jobs.get(id)
    const holds = job !== undefined && job.state === "processing" && job.claim === claim && job.claimExpiresAt >= now
    return holds ? job : null
  }

  #jitter(job) {
    const cap = Math.min(job.backoffBase * 2 ** (job.attempts - 1), BACKOFF_MAX_MS)
    return (cap + cap * this.#store.random()) / 2
  }

  #makeReady(job) {
    enter(job, this.#ready, -job.priority, job.runAt)
  }

  #wait(job) {
    enter(job, this.#timers, dueAt(job), job.id)
  }

  #park(job) {
    enter(job, this.#expired, -job.expiresAt, job.id)
  }

  #leave(job) {
    job.entry.job = null
    job.heap.dropOne()
  }

  #bury(job, now, lastError) {
    if (job.entry.job !== null) this.#leave(job)
    this.#expiring.delete(job)
    this.#dead.set(job.id, job)
    job.state = "dead"
    job.lastError = lastError
    job.diedAt = now
    job.workerId = job.claimExpiresAt = null
  }

  #remove(job) {
    this.#leave(job)
    if (job.expiresAt !== null) this.#expiring.delete(job)
    this.#jobs.delete(job.id)
  }

  #delete(job) {
    this.#dead.delete(job.id)
    this.#jobs.delete(job.id)
  }
}

class ClaimedJob {
  #queue
  #claim

  constructor(queue, job, payload) {
    this.#queue = queue
    this.#claim = job.claim
    fields(this, job, payload)
  }

  ack() {
    return this.#queue.ack(this.id, this.#claim)
  }

  retry(error, delay) {
    return this.#queue.retry(this.id, this.#claim, error, delay)
  }

  fail(error) {
    return this.#queue.fail(this.id, this.#claim, error)
  }

  heartbeat(extend) {
    return this.#queue.heartbeat(this.id, this.#claim, extend)
  }
}

function fields(target, job, payload) {
  target.id = job.id
  target.queue = job.queue
  target.state = job.state
  target.payload = payload
  target.priority = job.priority
  target.runAt = job.runAt
  target.attempts = job.attempts
  target.maxAttempts = job.maxAttempts
  target.workerId = job.workerId
  target.claimedAt = job.claimedAt
  target.claimExpiresAt = job.claimExpiresAt
  target.createdAt = job.createdAt
  target.expiresAt = job.expiresAt
  target.visibilityTimeout = job.visibilityTimeout
  target.backoffBase = job.backoffBase
  target.deadLetterRetention = job.deadLetterRetention
  target.lastError = job.lastError
  target.diedAt = job.diedAt
  return target
}

const isExpired = (job, now) => job.expiresAt !== null && job.expiresAt <= now
/** The first instant at which a living row is claimable, as far as its state goes. */
const dueAt = (job) => (job.state === "pending" ? job.runAt : job.claimExpiresAt + 1)

/** A living row has one live entry, in one heap. */
function enter(job, heap, first, second) {
  job.heap = heap
  job.entry = { first, second, id: job.id, job }
  heap.push(job.entry)
}

/** A binary min-heap by (first, second, id). An entry whose `job` is null is stale and is dropped when it surfaces. */
class Heap {
  #entries = []
  #stale = 0

  push(entry) {
    this.#entries.push(entry)
    this.#siftUp(this.#entries.length - 1)
  }

  peek() {
    while (this.#entries.length > 0) {
      if (this.#entries[0].job !== null) return this.#entries[0]
      this.#stale--
      this.#removeTop()
    }
    return null
  }

  /** The row of the top entry, which must be live: call `peek` first. */
  pop() {
    const top = this.#entries[0]
    this.#removeTop()
    const job = top.job
    top.job = null
    return job
  }

  /** Counts an entry made stale; rebuilds when stale entries prevail. */
  dropOne() {
    this.#stale++
    if (this.#stale < STALE_MAX || this.#stale * 2 < this.#entries.length) return
    this.#entries = this.#entries.filter((entry) => entry.job !== null)
    this.#stale = 0
    for (let i = (this.#entries.length >> 1) - 1; i >= 0; i--) this.#siftDown(i)
  }

  #removeTop() {
    const last = this.#entries.pop()
    if (this.#entries.length === 0) return
    this.#entries[0] = last
    this.#siftDown(0)
  }

  #siftUp(at) {
    const entries = this.#entries
    const entry = entries[at]
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(entry, entries[parent])) break
      entries[at] = entries[parent]
      at = parent
    }
    entries[at] = entry
  }

  #siftDown(at) {
    const entries = this.#entries
    const entry = entries[at]
    const half = entries.length >> 1
    while (at < half) {
      let child = 2 * at + 1
      if (child + 1 < entries.length && isBefore(entries[child + 1], entries[child])) child++
      if (!isBefore(entries[child], entry)) break
      entries[at] = entries[child]
      at = child
    }
    entries[at] = entry
  }
}

function isBefore(a, b) {
  if (a.first !== b.first) return a.first < b.first
  if (a.second !== b.second) return a.second < b.second
  return a.id < b.id
}
