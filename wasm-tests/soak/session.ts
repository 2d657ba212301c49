// A session: contexts come, work for some minutes while somebody leads the schedules, and go.

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

/** Lets a session take place. `signal` is used in every one of them. */
export async function session(world: World, reused: Reusable): Promise<void> {
  const shift = new Shift(world, reused)
  await shift.begin()
  const { stepsPerSession } = world.load
  const events = shift.events(stepsPerSession)
  for (let step = 0; step < stepsPerSession; step += 1) {
    await events.get(step)?.()
    await shift.step()
  }
  await shift.end()
}

class Shift {
  readonly #world: World
  readonly #reused: Reusable
  readonly #hanging: Hanging
  readonly #running = new Set<Promise<void>>()
  readonly #runners: AbortController[] = []
  #stores: Store[] = []
  #actors!: Actors

  constructor(world: World, reused: Reusable) {
    this.#world = world
    this.#reused = reused
    this.#hanging = new Hanging(world)
  }

  async begin(): Promise<void> {
    const { world, clock, timetable } = this.#parts()
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
  events(steps: number): Map<number, () => Promise<void>> {
    const { random } = this.#parts()
    const at = (part: number): number => Math.floor(steps * part)
    const jump = random.pick([() => this.#sleep(), () => this.#wrongClock(), async () => undefined])
    return new Map([
      [at(0.25), () => this.#leaderLeaves()],
      [at(0.5), () => this.#closeInTheMiddle()],
      [at(0.75), jump]
    ])
  }

  async step(): Promise<void> {
    const { world, clock, random, timetable } = this.#parts()
    if (random.chance(0.2)) world.place.faults.arm(random)
    const actions = Array.from({ length: world.load.actionsPerStep }, () => this.#actors.act())
    this.#follow(queueOf(world.ground, "mail").wait(this.#reused.signal).then(() => undefined))
    await Promise.all(actions)
    await this.#pass(STEP_MS)
    timetable.led(clock.now())
    this.#hanging.letGo()
  }

  async end(): Promise<void> {
    const { world, clock, timetable } = this.#parts()
    await world.place.faults.calm()
    await this.#pass(CALM_MS)
    timetable.led(clock.now())
    await this.#hanging.end()
    await clock.settle()
    this.#reused.abort()
    for (const runner of this.#runners) runner.abort()
    await Promise.all(this.#running)
    for (const store of this.#stores) await store.close()
  }

  // What a worker does while time passes has no leader's turn overtaken.
  async #pass(ms: number): Promise<void> {
    await this.#world.clock.pass(ms)
  }

  #run(store: Store, { standby }: { standby: boolean }): AbortController {
    const { world, signals } = this.#parts()
    const stop = signals.controller()
    this.#runners.push(stop)
    this.#follow(runner(world, store, stop.signal, standby))
    return stop
  }

  #work(store: Store): void {
    const { world, signals } = this.#parts()
    const stop = signals.controller()
    this.#runners.push(stop)
    for (const name of OUTBOXES) this.#follow(outboxWorker(world, store.outbox(name), "w1", stop.signal, this.#hanging))
    this.#follow(outboxWorker(world, store.outbox("webhooks"), "w2", stop.signal, this.#hanging))
    this.#follow(queueWorker(world, queueOf(store, "mail"), "w1", this.#reused.signal, this.#hanging))
    this.#follow(batchWorker(world, queueOf(store, "later"), "w1", this.#reused.signal))
  }

  #follow(task: Promise<void>): void {
    const followed = task
      .catch((error: unknown) => refused(this.#world, "a loop", error))
      .finally(() => this.#running.delete(followed))
    this.#running.add(followed)
  }

  async #refusedRun(store: Store): Promise<void> {
    const { world, signals, findings } = this.#parts()
    world.counts.runs += 1
    const error: unknown = await store.runSchedules(signals.controller().signal).catch((error: unknown) => error)
    findings.check(codeOf(error) === "LeadershipLost", () => `a second leader got ${error}`)
  }

  // It stops, the standby takes over, and it comes back as one itself.
  async #leaderLeaves(): Promise<void> {
    this.#runners[0]!.abort()
    await this.#pass(STEP_MS)
    this.#run(this.#stores[0]!, { standby: true })
  }

  // With deliveries under way: their jobs are claimed until they lapse.
  async #closeInTheMiddle(): Promise<void> {
    const { world } = this.#parts()
    await this.#stores[1]!.close()
    const store = await world.open()
    this.#stores[1] = store
    this.#run(store, { standby: true })
    this.#work(store)
  }

  // The device slept: hours are gone, and no timer has moved.
  async #sleep(): Promise<void> {
    const { clock, random } = this.#parts()
    await this.#jump(clock.now() + random.int(JUMP_MS_MIN, 10 * HOUR_MS))
  }

  // It shows a time to come, and is corrected.
  async #wrongClock(): Promise<void> {
    const { world, clock, random, timetable } = this.#parts()
    const ahead = random.int(JUMP_MS_MIN, 10 * HOUR_MS)
    await this.#jump(clock.now() + ahead)
    await this.step()
    await this.step()
    await world.place.faults.calm()
    await this.#pass(CALM_MS)
    timetable.led(clock.now())
    clock.set(clock.now() - ahead)
    world.counts.jumps += 1
    await this.#wakeLeader()
    timetable.movedBack(ahead, clock.now(), await world.ground.schedules())
  }

  async #jump(to: number): Promise<void> {
    const { world, clock, timetable } = this.#parts()
    await world.place.faults.calm()
    await this.#pass(CALM_MS)
    timetable.led(clock.now())
    clock.set(to)
    world.counts.jumps += 1
    await this.#wakeLeader()
    timetable.turn(clock.now())
  }

  // Whoever leads looks at once when a schedule is registered; again with the same spec changes nothing.
  async #wakeLeader(): Promise<void> {
    const { clock } = this.#parts()
    for (const store of this.#stores) await registerHeartbeat(store)
    await clock.settle()
  }

  // A storage that nobody needs any more, with jobs in it.
  async #scratch(): Promise<void> {
    const { world, random } = this.#parts()
    const { memory } = await import("alkstore-wasm")
    const store = await world.open(memory())
    const queue = store.queue("scratch")
    for (let n = 0; n < SCRATCH_JOBS; n += 1) await queue.enqueue({ n }, { delay: random.int(0, HOUR_MS) })
    await queue.claimBatch("w", SCRATCH_JOBS)
    await store.close()
  }

  #parts(): World & { world: World } {
    return { ...this.#world, world: this.#world }
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
