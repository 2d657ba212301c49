// Plays a site with every value, and tells what was not as the specification has it.

import { AlkstoreError, type StorageAdapter } from "alkstore-wasm"
import { expect } from "vitest"
import { AlkstoreError as SlimError } from "../../../js/errors.js"
import { ABSENT, COPY, type Expected, ITSELF } from "./kinds.js"
import type { Site } from "./site.js"
import { VALUE_NAMES, type ValueName, VALUES } from "./values.js"
import { build, lifeIn, stateOf, type World } from "./world.js"

/** One line for each value that did not come to what was expected. */
export async function play(site: Site, newStorage?: () => StorageAdapter): Promise<string[]> {
  const faults: string[] = []
  let world: World | null = null
  let before = ""
  for (const name of VALUE_NAMES) {
    if (world === null) {
      world = await build(newStorage?.())
      before = await stateOf(world)
    }
    const fault = await cell(site, name, world, before)
    if (fault !== null) faults.push(`${site.where} of ${name}: ${fault}`)
    // What is refused leaves the world as it was for the next one.
    if (fault === null && "refused" in site.kind(name)) continue
    await world.store.close()
    world = null
  }
  await world?.store.close()
  return faults
}

async function cell(site: Site, name: ValueName, world: World, before: string): Promise<string | null> {
  const expected = site.kind(name)
  const value = VALUES[name].make()
  const outcome = await outcomeOf(site, world, value)
  if ("refused" in expected) {
    const after = await stateOf(world)
    return (
      refusalFault(site, name, expected, outcome) ??
      (after === before ? null : `it left ${after} of ${before}`) ??
      (await lifeIn(world))
    )
  }
  if ("error" in outcome) return `it was refused: ${text(outcome.error)}`
  const seen = await site.seen(outcome.result, world, value)
  const wanted = expected.taken === ABSENT ? site.absent : expected.taken === ITSELF ? value : expected.taken
  const isAsWanted =
    expected.taken === ITSELF
      ? Object.is(seen, value)
      : matches(seen, expected.taken === COPY ? structuredClone(value) : wanted)
  if (!isAsWanted) return `it came to ${text(seen)}, not ${text(wanted)}`
  if (world.clock.pending > 0) return "somebody still sleeps"
  return isClosed(world).then((closed) => (closed ? null : lifeIn(world)))
}

type Outcome = { result: unknown } | { error: unknown; wasThrown: boolean }

async function outcomeOf({ play }: Site, world: World, value: unknown): Promise<Outcome> {
  let result: unknown
  try {
    result = play(world, value)
  } catch (error) {
    return { error, wasThrown: true }
  }
  // Not awaited if it is no promise of ours: it may be anything.
  if (!(result instanceof Promise)) return { result }
  return result.then(
    (result: unknown) => ({ result }),
    (error: unknown) => ({ error, wasThrown: false }),
  )
}

function refusalFault(
  { argument, sync }: Site,
  name: ValueName,
  expected: Expected & { refused: string },
  outcome: Outcome,
): string | null {
  if (!("error" in outcome)) return `it was accepted, and came to ${text(outcome.result)}`
  const { error, wasThrown } = outcome
  if (wasThrown !== sync)
    return wasThrown ? `it threw instead of rejecting: ${text(error)}` : "it rejected instead of throwing"
  if (!(error instanceof AlkstoreError || error instanceof SlimError)) return `no AlkstoreError: ${text(error)}`
  if (error.code !== expected.refused) return `it was ${error.code}, not ${expected.refused}: ${text(error)}`
  const { shown, text: raw } = VALUES[name]
  const says = "says" in expected ? [[expected.says as string]] : [[argument], [shown, raw ?? shown]]
  const missing = says.find((ways) => !ways.some((part) => error.message.includes(part)))
  if (missing !== undefined) return `the message does not say ${missing[0]}: ${text(error)}`
  return error.message.length > MESSAGE_MAX ? `the message has ${error.message.length} characters` : null
}

const MESSAGE_MAX = 500

function matches(seen: unknown, wanted: unknown): boolean {
  try {
    expect(seen).toStrictEqual(wanted)
    return true
  } catch {
    return false
  }
}

const isClosed = ({ store }: World): Promise<boolean> =>
  store.durability().then(
    () => false,
    () => true,
  )

function text(value: unknown): string {
  try {
    return String(value).slice(0, 300)
  } catch {
    return typeof value
  }
}
