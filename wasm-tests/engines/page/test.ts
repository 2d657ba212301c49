// Tests in a page: `test` registers one, `runTests` runs all in turn and reports each to the server. The assertions are
// Vitest's own, so helpers of the tests in Node run here too (see vitest.ts).

import { chai, JestAsymmetricMatchers, JestChaiExpect, JestExtend } from "@vitest/expect"
import type { ExpectStatic } from "vitest"
import { report, settings } from "./report.js"

const TEST_MS_MAX = 30_000

type Body = () => void | Promise<void>
type Cleanup = () => unknown

const tests = new Map<string, Body>()
let cleanups: Cleanup[] = []

chai.use(JestExtend)
chai.use(JestChaiExpect)
chai.use(JestAsymmetricMatchers)

export const expect = chai.expect as unknown as ExpectStatic

/** Registers a test under a name of its own. */
export function test(name: string, body: Body): void {
  if (tests.has(name)) throw new Error(`there are two tests named ${name}`)
  tests.set(name, body)
}

/** Calls `cleanup` when the running test has ended; the last one registered is called first. */
export function onTestFinished(cleanup: Cleanup): void {
  cleanups.push(cleanup)
}

/**
 * Runs all tests: the names are reported at first, then how each went. What an engine cannot do at all is left out, by
 * the setting `without`, a regular expression, which must match something.
 */
export async function runTests(): Promise<void> {
  const without = settings.get("without")
  const unable = [...tests.keys()].filter((name) => without !== null && new RegExp(without).test(name))
  if (without !== null && unable.length === 0) throw new Error(`no test has a name like ${without}`)
  for (const name of unable) tests.delete(name)
  await report({ tests: [...tests.keys()] })
  for (const [name, body] of tests) await report({ test: name, error: await failureOf(body) })
}

async function failureOf(body: Body): Promise<string | null> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it took longer than ${TEST_MS_MAX} ms`)), TEST_MS_MAX)
  })
  try {
    await Promise.race([body(), late])
    for (const cleanup of cleanups.reverse()) await cleanup()
    return null
  } catch (error) {
    return textOf(error)
  } finally {
    clearTimeout(timer)
    cleanups = []
  }
}

// Not every engine has the message in the stack.
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const stack = error.stack ?? ""
  return stack.includes(error.message) ? stack : `${error.name}: ${error.message}\n${stack}`
}
