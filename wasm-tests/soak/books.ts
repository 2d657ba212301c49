// The books: every job that a store has acknowledged, in its queue's account until it has been seen to leave. What is
// not in them must not be there, and what is in them must.

import type { Findings } from "./findings.js"

export type Leaving = "acked" | "cancelled" | "purged" | "expired"

/** What has come into a queue, how it left, and the numbers of the jobs that are left, by their ids. */
class Account {
  enqueued = 0
  readonly left: Record<Leaving, number> = { acked: 0, cancelled: 0, purged: 0, expired: 0 }
  readonly living = new Map<number, number>()
  /** Claimed before the enqueue's own promise had been heard. */
  readonly early = new Map<number, number>()
  /** May have been acked: the clock jumped, or a batch was acked in part. Looked at when all is quiet. */
  readonly doubtful = new Set<number>()
}

export class Books {
  readonly #findings: Findings
  readonly #accounts = new Map<string, Account>()
  /** How many of the doubtful were found acked. */
  resolved = 0

  constructor(findings: Findings) {
    this.#findings = findings
  }

  /** The enqueue of number `n` was acknowledged with `id`. */
  enqueued(queue: string, id: number, n: number): void {
    const account = this.#of(queue)
    account.enqueued += 1
    if (account.early.has(id)) {
      this.#findings.check(account.early.get(id) === n, () => `${queue} ${id}: claimed with another job's payload`)
      account.early.delete(id)
      return
    }
    this.#findings.check(!account.living.has(id), () => `${queue} ${id}: an id was given twice`)
    account.living.set(id, n)
  }

  /** The job was handed out, with the payload of number `n`. */
  claimed(queue: string, id: number, n: number | null): void {
    const account = this.#of(queue)
    if (n === null) return this.#findings.add(`${queue} ${id}: the payload is not what was enqueued`)
    const known = account.living.get(id)
    if (known === undefined) {
      account.early.set(id, n)
      account.living.set(id, n)
    } else {
      this.#findings.check(known === n, () => `${queue} ${id}: the payload is that of ${n}, not of ${known}`)
    }
  }

  /** The job has left, once and for all. */
  left(queue: string, id: number, how: Leaving): void {
    const account = this.#of(queue)
    const isKnown = account.living.delete(id)
    this.#findings.check(isKnown, () => `${queue} ${id}: ${how}, but it was not there, or had left before`)
    if (isKnown) account.left[how] += 1
  }

  doubt(queue: string, id: number): void {
    this.#of(queue).doubtful.add(id)
  }

  /** When all is quiet, `there` are the ids in the storage: settles what was doubtful, and compares. */
  compare(queue: string, there: ReadonlySet<number>): void {
    const { early, living, doubtful } = this.#of(queue)
    for (const id of doubtful) {
      if (!living.has(id) || there.has(id)) continue
      this.resolved += 1
      this.left(queue, id, "acked")
    }
    doubtful.clear()
    const lost = [...living.keys()].filter((id) => !there.has(id))
    const unknown = [...there].filter((id) => !living.has(id))
    this.#findings.check(lost.length === 0, () => `${queue}: lost ${lost}`)
    this.#findings.check(unknown.length === 0, () => `${queue}: came from nowhere, or back: ${unknown}`)
    this.#findings.check(early.size === 0, () => `${queue}: handed out, and never acknowledged: ${[...early.keys()]}`)
  }

  has(queue: string, id: number): boolean {
    return this.#of(queue).living.has(id)
  }

  /** The jobs that are left, by their ids: their numbers. */
  living(queue: string): ReadonlyMap<number, number> {
    return this.#of(queue).living
  }

  /** How many jobs are left in all, and how many of those that `which` says. */
  count(which: (n: number) => boolean = () => true): number {
    let count = 0
    for (const { living } of this.#accounts.values()) for (const n of living.values()) if (which(n)) count += 1
    return count
  }

  /** Each queue's account, which must add up. */
  balance(): Record<string, Record<string, number>> {
    const sheet: Record<string, Record<string, number>> = {}
    for (const [queue, { enqueued, left, living }] of this.#accounts) {
      const gone = left.acked + left.cancelled + left.purged + left.expired
      sheet[queue] = { enqueued, ...left, left: living.size }
      const addsUp = enqueued === gone + living.size
      this.#findings.check(addsUp, () => `${queue} does not add up: ${JSON.stringify(sheet[queue])}`)
    }
    return sheet
  }

  #of(queue: string): Account {
    let account = this.#accounts.get(queue)
    if (account === undefined) this.#accounts.set(queue, (account = new Account()))
    return account
  }
}
