// Tests in every engine. The tests of a file share one server, those of a process one browser of each engine.

import assert from "node:assert/strict"
import { after, before, describe, test as nodeTest } from "node:test"
import { endDisplay } from "./display.mjs"
import { engines } from "./engines.mjs"
import { serve } from "./server.mjs"

const TEST_MS_MAX = 300_000

/**
 * Calls `define` for each engine, with
 * - `engine`: `{ name, launch }`;
 * - `cases(name, settings)`: each test of cases/<name>.ts is one test here, or of a module with tests for Vitest that
 *   is named by its path, as "browser/indexeddb/payloads.test". The page gets `settings`, of which `without` is a
 *   regular expression for the names of tests that this engine cannot run;
 * - `test(name, options?, body)`: a test on this side. `body` gets `{ t, engine, server, browser, open, openDurable,
 *   openIn }`: `open(module, settings)` resolves, when the module is loaded, to a tab with `reports`, which is closed
 *   when the test ends; `openDurable` does so in a browser with its databases in files (see engines.mjs), and
 *   `openIn(browser, module, settings)` in one that the test has launched; `browser()` resolves to the browser.
 */
export function inEachEngine(define) {
  for (const engine of engines()) {
    describe(engine.name, () => {
      const { browser, release } = use(engine, false)
      const durable = engine.durableApart ? use(engine, true) : { browser, release: () => {} }
      let server
      before(async () => {
        server = await serve()
      })
      after(async () => {
        await durable.release()
        await release()
        await server?.close()
      })
      const test = (name, ...rest) => {
        const body = rest.pop()
        nodeTest(name, { timeout: TEST_MS_MAX, ...rest[0] }, async (t) => {
          const tabs = []
          const openIn = async (launched, module, settings) => {
            const { url, reports } = server.page(module, settings)
            const tab = await (await launched).open(url)
            tabs.push(tab)
            await tab.evaluate?.("loading")
            return { ...tab, reports }
          }
          const open = (module, settings) => openIn(browser(), module, settings)
          const openDurable = (module, settings) => openIn(durable.browser(), module, settings)
          try {
            await body({ t, engine, server, browser, open, openDurable, openIn })
          } finally {
            for (const tab of tabs) await tab.close().catch(() => {})
          }
        })
      }
      const cases = (name, settings = {}) => {
        test(titleOf(name, settings), (context) => runCases(context, name, settings))
      }
      define({ engine, cases, test })
    })
  }
}

/** Keeps browsers alive until `files`, a promise, has settled: more tests may come that use them. */
export function expectMore(files) {
  allDefined = files
}

let allDefined = Promise.resolve()
const shared = new Map()

// One browser for all tests of this process, from the first that needs it to the last that could.
function use({ name, launch }, durable) {
  const key = `${name} ${durable}`
  if (!shared.has(key)) shared.set(key, { users: 0, launched: null })
  const one = shared.get(key)
  one.users += 1
  return {
    browser: () => (one.launched ??= launch({ durable })),
    async release() {
      await allDefined
      one.users -= 1
      if (one.users > 0) return
      // Its profile goes with it, so nothing is lost if it does not end in an orderly way.
      await (await one.launched)?.kill()
      one.launched = null
      if ([...shared.values()].every(({ users }) => users === 0)) await endDisplay()
    }
  }
}

async function runCases({ t, openDurable }, name, settings) {
  const { reports } = await openDurable(name.includes("/") ? name : `cases/${name}`, settings)
  const { tests } = await reports.next()
  assert.ok(tests.length > 0, `${name} has no tests`)
  let silence = null
  for (const expected of tests) {
    await t.test(expected, async () => {
      if (silence !== null) throw silence
      const errors = await errorsOf(expected, reports).catch((error) => [(silence = error).message])
      if (errors.length > 0) throw Object.assign(new Error(errors.join("\n")), { stack: errors.join("\n") })
    })
  }
}

// What went wrong in one test, and beside it.
async function errorsOf(expected, reports) {
  const errors = []
  for (;;) {
    const { test, error, failed } = await reports.take()
    if (failed) errors.push(failed)
    if (test === undefined) continue
    assert.equal(test, expected)
    return error === null ? errors : [error, ...errors]
  }
}

function titleOf(name, settings) {
  const told = Object.entries(settings).map(([key, value]) => `${key}: ${value}`)
  return told.length > 0 ? `${name} (${told.join(", ")})` : name
}
