// Every argument, every option and every callback of the API, with everything that does not belong there. Each comes to a
// typed error that names the argument and the value, or to a documented result, and the store goes on.

import * as main from "alkstore-wasm"
import * as indexeddb from "alkstore-wasm/indexeddb"
import * as testing from "alkstore-wasm/testing"
import { describe, expect, test } from "vitest"
import * as slim from "../../../js/entries/slim.js"
import { CALLBACKS } from "./callbacks.js"
import { FUNCTIONS, INTERFACES } from "./calls.js"
import { play } from "./play.js"
import { type Call, type Site, sitesOf } from "./site.js"
import { TRAP, trap } from "./values.js"
import { build, stateOf, type World } from "./world.js"

const CALLS: [where: string, call: Call][] = [
  ...Object.entries(INTERFACES).flatMap(([kind, calls]): [string, Call][] => {
    return Reflect.ownKeys(calls).map((name) => [
      `${kind}.${String(name)}`,
      (calls as Record<PropertyKey, Call>)[name]!,
    ])
  }),
  ...Object.entries(FUNCTIONS),
]
const BAGS = CALLS.flatMap(([where, call]) => bagsOf(where, call))
const SITES: Site[] = [...CALLS.flatMap(([where, call]) => sitesOf(where, call)), ...CALLBACKS]

describe("what does not belong there", () => {
  test.each(SITES.map((site) => [site.where, site] as const))("%s", async (_, site) => {
    expect(await play(site)).toEqual([])
  })
})

describe("the table is complete", () => {
  /** What the classes have for each other; it is in no type, and takes what was checked. */
  const OURS = ["call", "copyOut", "claimNext", "claimMany", "ackMany", "deliver"]

  test("every method there is at run time is in it, with as many arguments", async () => {
    const world = await build()
    let transaction: object = {}
    await world.store.transaction((tx) => void (transaction = tx))
    const { store: Store, mail: Queue, hooks: Outbox, job: ClaimedJob, lock: Lock, clock: ManualClock } = world
    for (const [kind, object] of Object.entries({
      Store,
      Queue,
      Outbox,
      ClaimedJob,
      Lock,
      ManualClock,
      Transaction: transaction,
    })) {
      expect(object.constructor.name).toBe(kind)
      const table = INTERFACES[kind as keyof typeof INTERFACES] as Record<PropertyKey, Call>
      const found = methodsOf(object).filter(
        ([name]) => !OURS.includes(String(name)) && !(kind !== "ClaimedJob" && name === "ack"),
      )
      expect(new Set(found.map(([name]) => name)), kind).toEqual(new Set(Reflect.ownKeys(table)))
      for (const [name, method] of found)
        expect(table[name]!.args, `${kind}.${String(name)}`).toHaveLength(method.length)
    }
    await world.store.close()
  })

  test("so is every function that is exported, by whichever entry", () => {
    const exported = [main, indexeddb, testing, slim].flatMap((entry) => Object.keys(entry))
    expect(new Set(exported)).toEqual(new Set([...Object.keys(FUNCTIONS), "AlkstoreError"]))
  })

  test("and every option: one more is refused, and the message lists those that there are", async () => {
    const world = await build()
    for (const { where, options, refusal } of BAGS) {
      const { message } = await refusal(world, { colour: "red" })
      const [, list = ""] = /"colour" \(got "red"\); there are (.*)$/.exec(message) ?? []
      expect(new Set(list.split(", ")), where).toEqual(new Set(options))
    }
    await world.store.close()
  })
})

test("an option whose getter throws is refused, and its error is the cause", async () => {
  const world = await build()
  const before = await stateOf(world)
  for (const { where, options, refusal } of BAGS) {
    for (const option of options) {
      const error = await refusal(world, Object.defineProperty({}, option, { get: trap, enumerable: true }))
      expect([error.code, error.message], where).toEqual([
        "InvalidArgument",
        expect.stringContaining("could not be read: Error: a trap"),
      ])
      expect(error.cause).toMatchObject({ message: TRAP })
    }
  }
  expect(await stateOf(world)).toBe(before)
  await world.store.close()
})

interface Bag {
  where: string
  options: string[]
  /** What a call with these options is refused with. */
  refusal: (world: World, options: object) => Promise<main.AlkstoreError>
}

function bagsOf(where: string, { call, args }: Call): Bag[] {
  return args.flatMap((argument, at): Bag[] => {
    const refusal: Bag["refusal"] = async (world, options) => {
      const given = args.map(({ good }, each) => (each === at ? options : good))
      const error: unknown = await (async () => call(world, given))().then(
        () => null,
        (error: unknown) => error,
      )
      expect(error, where).toBeInstanceOf(main.AlkstoreError)
      return error as main.AlkstoreError
    }
    return argument.options === undefined ? [] : [{ where, options: Object.keys(argument.options), refusal }]
  })
}

function methodsOf(object: object): [PropertyKey, (...args: unknown[]) => unknown][] {
  const methods = new Map<PropertyKey, (...args: unknown[]) => unknown>()
  for (
    let from = Object.getPrototypeOf(object) as object;
    from !== Object.prototype;
    from = Object.getPrototypeOf(from) as object
  ) {
    for (const name of Reflect.ownKeys(from)) {
      const { value } = Object.getOwnPropertyDescriptor(from, name)!
      if (typeof value === "function" && name !== "constructor" && !methods.has(name)) methods.set(name, value)
    }
  }
  return [...methods]
}
