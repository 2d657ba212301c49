// What gets in by the back door: what callbacks of the caller's return and throw, and the objects that are called.

import { open } from "alkstore-wasm"
import type { Clock, Store } from "alkstore-wasm"
import { must, START } from "../support.js"
import * as kinds from "./kinds.js"
import type { Site } from "./site.js"
import { LETTER } from "./world.js"

type Given = Partial<Site> & Pick<Site, "where" | "kind" | "play">

const site = (given: Given): Site => ({
  sync: false,
  argument: given.where,
  seen: (result: unknown) => result,
  ...given,
})

const throws = (value: unknown) => (): never => {
  throw value
}

// It is the one attempt of its letter, which is gone then, or else dead.
const delivery = (how: string, kind: kinds.Kind, deliver: (value: unknown) => () => unknown): Site =>
  site({
    where: `a delivery ${how}`,
    kind,
    play: ({ hooks }, value) => hooks.runOnce("w", deliver(value)),
    seen: async (_, { hooks }) => (await hooks.get(LETTER))?.lastError ?? "acknowledged",
  })

const body = (how: string, kind: kinds.Kind, run: (value: unknown) => () => unknown): Site =>
  site({
    where: `a transaction's body ${how}`,
    kind,
    // What cannot be awaited is as if it had been thrown.
    play: ({ store }, value) => store.transaction(run(value)).catch((error: Error) => error.message),
  })

// What comes out is what was thrown, and of the transaction nothing is stored.
const failing = (how: string, fail: (value: unknown) => unknown): Site =>
  site({
    where: `a transaction's body ${how}`,
    kind: kinds.passed,
    play: async ({ store, mail }, value) => {
      const before = (await mail.stats()).pending
      const outcome = store.transaction(async (tx) => {
        await tx.enqueue("mail", "never")
        return fail(value)
      })
      const isUnchanged = await outcome.then(
        () => false,
        (reason: unknown) => Object.is(reason, value),
      )
      if (before !== (await mail.stats()).pending) return "something was stored"
      return isUnchanged ? "unchanged" : "something else"
    },
  })

/** A clock that time passes on while somebody sleeps, and not otherwise. */
function passing(members: { now?: () => unknown; slept?: () => unknown }): Clock {
  let now = START
  return {
    now: (members.now ?? (() => now)) as () => number,
    sleep: (ms) => {
      now += ms
      return members.slept?.() as Promise<void>
    },
  }
}

async function withClock(clock: unknown, use: (store: Store) => Promise<unknown>): Promise<unknown> {
  const store = await open({ clock: clock as Clock })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

const reading = (how: string, kind: kinds.Kind, now: (value: unknown) => () => unknown): Site =>
  site({
    where: `clock.now() ${how}`,
    argument: "clock.now()",
    kind,
    play: (_, value) =>
      withClock(passing({ now: now(value) }), async (store) => {
        const queue = store.queue("mail")
        return must(await queue.get(await queue.enqueue(1))).createdAt
      }),
  })

// However a sleep ends, it has ended.
const sleeping = (how: string, slept: (value: unknown) => () => unknown): Site =>
  site({
    where: `clock.sleep() ${how}`,
    kind: kinds.ignored,
    play: (_, value) =>
      withClock(passing({ slept: slept(value) }), async (store) => {
        const queue = store.queue("mail")
        await queue.enqueue(1, { delay: 1 })
        return (await queue.wait()) ? "ignored" : "stopped"
      }),
  })

/** A clock, less one of its members. */
const clockMember = (name: keyof Clock, seen: Site["seen"]): Site =>
  site({
    where: `open({ clock: { ${name} } })`,
    argument: "clock",
    kind: shownAs("[object Object]", kinds.method),
    play: (_, value) => open({ clock: { ...passing({}), [name]: value } }),
    seen,
  })

const signalMember = (name: string, kind: kinds.Kind, seen: unknown): Site =>
  site({
    where: `wait({ ${name} })`,
    argument: "signal",
    kind: shownAs("[object Object]", kind),
    play: ({ mail }, value) =>
      mail.wait({ aborted: false, addEventListener() {}, removeEventListener() {}, [name]: value } as never),
    seen: () => seen,
  })

const listening = (how: string, kind: kinds.Kind, name: string, listen: (value: unknown) => () => unknown): Site =>
  site({
    where: `signal.${name}() ${how}`,
    argument: "signal",
    kind,
    play: ({ mail }, value) =>
      mail.wait({ aborted: false, addEventListener() {}, removeEventListener() {}, [name]: listen(value) } as never),
    seen: (found) => (found ? "ignored" : "stopped"),
  })

/** The message shows the object that was given, not what is wrong in it. */
function shownAs(says: string, kind: kinds.Kind): kinds.Kind {
  return (value) => {
    const expected = kind(value)
    return "refused" in expected ? { ...expected, says } : expected
  }
}

const returns = (value: unknown) => () => value
const rejects = (value: unknown) => () => Promise.reject(value)

const misread = async (store: Store): Promise<unknown> =>
  store
    .queue("mail")
    .enqueue(1)
    .then(
      () => "taken for a number",
      () => "called",
    )
    .finally(() => store.close())

export const CALLBACKS: readonly Site[] = [
  delivery("that returns", kinds.delivered, returns),
  delivery("that throws", kinds.thrown, throws),
  delivery("that rejects", kinds.thrown, rejects),
  body("that returns", kinds.returned, returns),
  failing("that throws", (value) => throws(value)()),
  failing("that rejects", (value) => rejects(value)()),
  reading("that returns", kinds.clockReading, returns),
  reading("that throws", kinds.native, throws),
  sleeping("that returns", returns),
  sleeping("that throws", throws),
  sleeping("that rejects", rejects),
  clockMember("now", misread),
  clockMember("sleep", (store: Store) => store.close().then(() => "called")),
  signalMember("aborted", kinds.flag, true),
  signalMember("addEventListener", kinds.method, "called"),
  signalMember("removeEventListener", kinds.method, "called"),
  listening("that returns", kinds.ignored, "addEventListener", returns),
  listening("that throws", kinds.native, "addEventListener", throws),
  listening("that returns", kinds.ignored, "removeEventListener", returns),
  listening("that throws", kinds.ignored, "removeEventListener", throws),
]
