// What programs do beside taking jobs: enqueue with every option, in transactions, look, cancel, lock.

import type { EnqueueOptions, Lock, Store } from "alkstore-wasm"
import type { Random } from "../shared/seeded.js"
import { numberOf, payloadOf } from "./payloads.js"
import { attempt, OUTBOXES, queueOf, refused, type World } from "./world.js"

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** Further ahead than that nothing is put off: what is left is of the last days. */
const PUT_OFF_MS_MAX = 2 * DAY_MS
const LOCKS = ["sync", "upload", "index", "cleanup", "export"]
const HELD_MAX = 10

/** Who acts in a session, and the locks that they hold. */
export class Actors {
  readonly #world: World
  readonly #stores: readonly Store[]
  readonly #held: { readonly lock: Lock; readonly owner: string }[] = []
  /** When each lock is free again, as far as is known; a jump of the clock makes that nothing. */
  readonly #until = new Map<string, { readonly owner: string; readonly at: number; readonly jumps: number }>()

  /** One after another, so that what is known is in order. */
  #locking: Promise<void> = Promise.resolve()

  constructor(world: World, stores: readonly Store[]) {
    this.#world = world
    this.#stores = stores
  }

  /** One action, at random. */
  async act(): Promise<void> {
    const { random, counts } = this.#world
    counts.actions += 1
    const store = random.pick(this.#stores)
    const draw = random.unit()
    if (draw < 0.25) await this.#enqueue(store, "mail")
    else if (draw < 0.4) await this.#enqueue(store, "later")
    else if (draw < 0.6) await this.#enqueueInOutbox(store)
    else if (draw < 0.68) await this.#transaction(store)
    else if (draw < 0.72) await this.#rolledBack(store)
    else if (draw < 0.78) await this.#cancel(store)
    else if (draw < 0.9) await this.#look(store)
    else await (this.#locking = this.#locking.then(() => this.#lock(store)))
  }

  async #enqueue(store: Store, name: string): Promise<void> {
    const { random, clock, numbers, books } = this.#world
    const n = numbers.next()
    const options = someOptions(random, clock.now())
    const enqueue = (): Promise<number> => queueOf(store, name).enqueue(payloadOf(n), options)
    const done = await attempt(this.#world, `enqueue in ${name}`, enqueue)
    if (done !== null) books.enqueued(name, done.value, n)
  }

  async #enqueueInOutbox(store: Store): Promise<void> {
    const { random, numbers, books } = this.#world
    const name = random.pick(OUTBOXES)
    const n = numbers.next()
    const options = random.chance(0.8) ? {} : { delay: random.int(0, MINUTE_MS), priority: random.int(-1, 1) }
    const done = await attempt(this.#world, `enqueue in ${name}`, () => store.outbox(name).enqueue(payloadOf(n), options))
    if (done !== null) books.enqueued(name, done.value, n)
  }

  async #transaction(store: Store): Promise<void> {
    const { random, clock, numbers, books, findings } = this.#world
    const [mail, letter] = [numbers.next(), numbers.next()]
    const done = await attempt(this.#world, "a transaction", () =>
      store.transaction(async (tx) => {
        const id = await tx.enqueue("mail", payloadOf(mail), someOptions(random, clock.now()))
        const letterId = await tx.outboxEnqueue("letters", payloadOf(letter))
        const own = await tx.get("mail", id)
        const isRead = own !== null && numberOf(own.payload) === mail
        findings.check(isRead, () => `mail ${id}: not to be read where it is staged`)
        return [id, letterId] as const
      })
    )
    if (done === null) return
    books.enqueued("mail", done.value[0], mail)
    books.enqueued("letters", done.value[1], letter)
  }

  // None of its numbers comes into the books, so none may ever be handed out.
  async #rolledBack(store: Store): Promise<void> {
    const { numbers } = this.#world
    const thrown = new Error("the order is refused")
    const body = async (tx: Parameters<Parameters<Store["transaction"]>[0]>[0]): Promise<never> => {
      await tx.enqueue("mail", payloadOf(numbers.next()))
      await tx.outboxEnqueue("webhooks", payloadOf(numbers.next()))
      throw thrown
    }
    const caught: unknown = await store.transaction(body).catch((error: unknown) => error)
    // A body whose own call was refused throws that.
    if (caught !== thrown) refused(this.#world, "what a body threw", caught)
  }

  async #cancel(store: Store): Promise<void> {
    const { random, books } = this.#world
    const living = [...books.living("later").keys()]
    if (living.length === 0) return
    const id = random.pick(living)
    const done = await attempt(this.#world, "cancel", () => queueOf(store, "later").cancel(id))
    if (done?.value === true) books.left("later", id, "cancelled")
  }

  async #look(store: Store): Promise<void> {
    const { random, books, findings } = this.#world
    const name = random.pick(["mail", "later"])
    const queue = queueOf(store, name)
    const draw = random.unit()
    if (draw < 0.3) return void (await attempt(this.#world, "stats", () => queue.stats()))
    if (draw < 0.5) {
      const state = random.pick(["pending", "dead"] as const)
      return void (await attempt(this.#world, "list", () => queue.list({ limit: 5, state })))
    }
    const [id, n] = random.pick([...books.living(name), [1, 0] as const])
    const done = await attempt(this.#world, "get", () => queue.get(id))
    const isRight = !done?.value || numberOf(done.value.payload) === n || n === 0
    findings.check(isRight, () => `${name} ${id}: reads as another job`)
  }

  async #lock(store: Store): Promise<void> {
    const { random } = this.#world
    if (this.#held.length < HELD_MAX && random.chance(0.6)) return this.#tryLock(store)
    const { lock, owner } = this.#held.splice(random.int(0, this.#held.length - 1), 1)[0] ?? {}
    if (lock === undefined) return
    const draw = random.unit()
    if (draw < 0.3) return // Forgotten: it lapses.
    if (draw < 0.65) await this.#renew(lock, owner!)
    else {
      const done = await attempt(this.#world, "release", () => lock.release())
      if (done?.value === true) this.#until.delete(lock.name)
    }
  }

  async #renew(lock: Lock, owner: string): Promise<void> {
    const { clock } = this.#world
    const done = await attempt(this.#world, "renew", () => lock.renew(MINUTE_MS))
    if (done?.value === true) this.#until.set(lock.name, { owner, at: clock.now() + MINUTE_MS, jumps: clock.jumps })
  }

  async #tryLock(store: Store): Promise<void> {
    const { random, clock, findings } = this.#world
    const [name, owner] = [random.pick(LOCKS), random.pick(["tab-a", "tab-b", "tab-c"])]
    const ttl = random.int(1_000, 2 * MINUTE_MS)
    const done = await attempt(this.#world, "tryLock", () => store.tryLock(name, owner, ttl))
    if (!done?.value) return
    const known = this.#until.get(name)
    const isKnown = known === undefined || known.jumps === clock.jumps
    const isHeld = known !== undefined && isKnown && known.at > clock.now()
    findings.check(!isHeld || known.owner === owner, () => `${name} was granted to ${owner} while ${known?.owner} had it`)
    // Whoever has it already keeps the deadline.
    const isNew = isKnown ? !isHeld : known.owner !== owner
    if (isNew) this.#until.set(name, { owner, at: clock.now() + ttl, jumps: clock.jumps })
    this.#held.push({ lock: done.value, owner })
  }
}

function someOptions(random: Random, now: number): EnqueueOptions {
  const options: EnqueueOptions = {}
  if (random.chance(0.3)) {
    options.delay = random.pick<number | string>(["10s", "5m", "1.5h", random.int(0, PUT_OFF_MS_MAX)])
  }
  if (random.chance(0.2)) {
    const at = now + random.int(-DAY_MS, PUT_OFF_MS_MAX)
    options.runAt = random.chance(0.5) ? at : new Date(at)
  }
  if (random.chance(0.3)) options.priority = random.int(-5, 5)
  if (random.chance(0.2)) options.maxAttempts = random.int(1, 6)
  if (random.chance(0.2)) options.expires = random.pick<number | string>(["1m", "6h", random.int(1, DAY_MS)])
  return options
}
