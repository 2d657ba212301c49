// A session: contexts come, work for some minutes while somebody leads the schedules, and go.

import { memory } from "alkstore-wasm"
import type { Store } from "alkstore-wasm"
import { Actors } from "./actions.js"
import type { Reusable } from "./signals.js"
import { batchWorker, Hanging, outboxWorker, queueWorker } from "./workers.js"
import { codeOf, OUTBOXES, queueOf, refused, type World } from "./world.js"

const STEP_MS = 10_000
/** Without faults, until a lease that was left behind has lapsed and been taken. */
const CALM_MS = 14_000
const HOUR_MS = 3_600_000
/** A step back that the engine notices is longer than a minute. */
const JUMP_MS_MIN = 120_000
const SCRATCH_JOBS = 20
const STEPS_PER_FAULT = 3

/** Lets a session take place. `reused` is a signal that is used in every one of them. */
export async function session(world: World, reused: Reusable): Promise<void> {
  const shift = new Shift(world, reused)
  await shift.begin()
  const { stepsPerSession } = world.load
  const events = shift.events(stepsPerSession)
  for (let step = 0; step < stepsPerSession; step += 1) {
    for (const event of events) if (event.step === step) await event.happens()
    await shift.step()
  }
  await shift.end()
}

class Shift {
  readonly #world: World
  readonly #reused: Reusable
  readonly #hanging: Hanging
  readonly #running = new Set<Promise<void>>()
  /** The first one's is the first leader's. */
  readonly #stops: AbortController[] = []
  #stores: Store[] = []
  #steps = 0
  #actors!: Actors

  constructor(world: World, reused: Reusable) {
    this.#world = world
    this.#reused = reused
    this.#hanging = new Hanging(world)
  }

  async begin(): Promise<void> {
    const world = this.#world
    const { clock, timetable } = world
    this.#reused.rearm()
    // Two contexts of one program share an adapter; a third has one of its own.
    const shared = world.place.adapter()
    this.#stores = [await world.open(shared), await world.open(shared), await world.open()]
    const [first, second, third] = this.#stores as [Store, Store, Store]
    this.#actors = new Actors(world, [first, third, world.ground])
    this.#run(first, { standby: world.random.chance(0.5) })
    await clock.settle()
    timetable.turn(clock.now())
    await this.#refusedRun(third)
    this.#run(second, { standby: true })
    this.#work(second)
    await this.#scratch()
  }

  /** What happens at which step. */
  events(steps: number): { readonly step: number; readonly happens: () => Promise<void> }[] {
    const jump = this.#world.random.pick([() => this.#sleep(), () => this.#wrongClock(), async () => undefined])
    return [
      { step: Math.floor(steps / 4), happens: () => this.#leaderLeaves() },
      { step: Math.floor(steps / 2), happens: () => this.#closeInTheMiddle() },
      { step: Math.floor((steps * 3) / 4), happens: jump }
    ]
  }

  async step(): Promise<void> {
    const world = this.#world
    const { clock, random, timetable } = world
    this.#steps += 1
    if (this.#steps % STEPS_PER_FAULT === 0) world.place.faults.arm(random)
    const actions = Array.from({ length: world.load.actionsPerStep }, () => this.#actors.act())
    this.#follow(queueOf(world.ground, "mail").wait(this.#reused.signal).then(() => undefined))
    await Promise.all(actions)
    await clock.pass(STEP_MS)
    timetable.led(clock.now())
    this.#hanging.letGo()
  }

  async end(): Promise<void> {
    const world = this.#world
    const { clock, timetable } = world
    await world.place.faults.calm()
    await clock.pass(CALM_MS)
    timetable.led(clock.now())
    await this.#hanging.end()
    await clock.settle()
    this.#reused.abort()
    for (const stop of this.#stops) stop.abort()
    await Promise.all(this.#running)
    for (const store of this.#stores) await store.close()
  }

  #run(store: Store, { standby }: { standby: boolean }): void {
    this.#follow(runner(this.#world, store, this.#newSignal(), standby))
  }

  // Loops of both kinds: those that a signal of their own ends, and those of the signal that is used again and again.
  #work(store: Store): void {
    const world = this.#world
    const signal = this.#newSignal()
    for (const name of OUTBOXES) this.#follow(outboxWorker(world, store.outbox(name), "w1", signal, this.#hanging))
    this.#follow(outboxWorker(world, store.outbox("webhooks"), "w2", signal, this.#hanging))
    this.#follow(queueWorker(world, queueOf(store, "mail"), "w1", this.#reused.signal, this.#hanging))
    this.#follow(batchWorker(world, queueOf(store, "later"), "w1", this.#reused.signal))
  }

  #newSignal(): AbortSignal {
    const stop = this.#world.signals.controller()
    this.#stops.push(stop)
    return stop.signal
  }

  #follow(task: Promise<void>): void {
    const followed = task
      .catch((error: unknown) => refused(this.#world, "a loop", error))
      .finally(() => this.#running.delete(followed))
    this.#running.add(followed)
  }

  async #refusedRun(store: Store): Promise<void> {
    const { signals, findings, counts } = this.#world
    counts.runs += 1
    const error: unknown = await store.runSchedules(signals.controller().signal).catch((error: unknown) => error)
    findings.check(codeOf(error) === "LeadershipLost", () => `a second leader got ${error}`)
  }

  // It stops, the standby takes over, and it comes back as one itself.
  async #leaderLeaves(): Promise<void> {
    this.#stops[0]!.abort()
    await this.#world.clock.pass(STEP_MS)
    this.#run(this.#stores[0]!, { standby: true })
  }

  // With deliveries under way: their jobs are claimed until they lapse.
  async #closeInTheMiddle(): Promise<void> {
    await this.#stores[1]!.close()
    const store = await this.#world.open()
    this.#stores[1] = store
    this.#run(store, { standby: true })
    this.#work(store)
  }

  // The device slept: hours are gone, and no timer has moved.
  async #sleep(): Promise<void> {
    const { clock, random } = this.#world
    await this.#jump(clock.now() + random.int(JUMP_MS_MIN, 10 * HOUR_MS))
  }

  // It shows a time to come, and is corrected.
  async #wrongClock(): Promise<void> {
    const world = this.#world
    const { clock, random, timetable } = world
    const ahead = random.int(JUMP_MS_MIN, 10 * HOUR_MS)
    await this.#jump(clock.now() + ahead)
    await this.step()
    await this.step()
    await world.place.faults.calm()
    await clock.pass(CALM_MS)
    timetable.led(clock.now())
    clock.set(clock.now() - ahead)
    world.counts.jumps += 1
    await this.#wakeLeader()
    timetable.movedBack(ahead, clock.now(), await world.ground.schedules())
  }

  async #jump(to: number): Promise<void> {
    const world = this.#world
    const { clock, timetable } = world
    await world.place.faults.calm()
    await clock.pass(CALM_MS)
    timetable.led(clock.now())
    clock.set(to)
    world.counts.jumps += 1
    await this.#wakeLeader()
    timetable.turn(clock.now())
  }

  // Whoever leads looks at once when a schedule is registered; again with the same spec changes nothing.
  async #wakeLeader(): Promise<void> {
    const { clock } = this.#world
    for (const store of this.#stores) await registerHeartbeat(store)
    await clock.settle()
  }

  // A storage that nobody needs any more, with jobs in it.
  async #scratch(): Promise<void> {
    const { random } = this.#world
    const store = await this.#world.open(memory())
    const queue = store.queue("scratch")
    for (let n = 0; n < SCRATCH_JOBS; n += 1) await queue.enqueue({ n }, { delay: random.int(0, HOUR_MS) })
    await queue.claimBatch("w", SCRATCH_JOBS)
    await store.close()
  }
}

/** The schedule that is registered to wake a leader. */
export const HEARTBEAT = { name: "heartbeat", spec: "@every 1h" }

export async function registerHeartbeat(store: Store): Promise<void> {
  await store.schedule(HEARTBEAT.name, HEARTBEAT.spec, "reports", { schedule: HEARTBEAT.name })
}

// Leads, or waits to, until it is stopped. What a fault has ended begins again.
async function runner(world: World, store: Store, signal: AbortSignal, standby: boolean): Promise<void> {
  for (;;) {
    world.counts.runs += 1
    try {
      return await store.runSchedules(signal, { standby })
    } catch (error) {
      if (codeOf(error) === "Closed") return
      if (codeOf(error) === "LeadershipLost" && !standby) standby = true
      else refused(world, "a run", error)
    }
  }
}
