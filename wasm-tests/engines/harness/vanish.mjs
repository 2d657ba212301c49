// How contexts go away.

import { once } from "node:events"
import { within } from "./evaluate.mjs"

const CRASH_MS_MAX = 10_000

const WAYS = {
  closed: { vanish: (tab) => tab.close() },
  crashed: { vanish: crash },
  frozen: { freezable: true, vanish: (tab) => tab.freeze(), thaw: (tab) => tab.thaw() }
}

/**
 * How a tab can go away in an engine, by names: `vanish` takes it, `thaw` brings it back if that can be. What is
 * `freezable` needs a tab of a browser that was launched so. Only Chromium can be told to crash and to freeze one.
 */
export function waysIn({ name }) {
  return name === "chromium" ? WAYS : { closed: WAYS.closed }
}

/** Stops all service workers of the Chromium that `tab` belongs to. They start again when they are sent something. */
export async function stopServices(tab) {
  const session = await sessionOf(tab)
  await session.send("ServiceWorker.enable")
  await session.send("ServiceWorker.stopAllWorkers")
}

/**
 * Calls `body` with an `open` for tabs in the browser of all tests, or, if `way` needs it, in a freezable one of its
 * own. `context` is what the test got.
 */
export async function withTabs(way, context, body) {
  if (!way.freezable) return body(context.open)
  const browser = await context.engine.launch({ freezable: true })
  try {
    await body((...page) => context.openIn(browser, ...page))
  } finally {
    await browser.kill()
  }
}

async function crash(tab) {
  const crashed = once(tab.native, "crash")
  // It is never answered.
  void (await sessionOf(tab)).send("Page.crash").catch(() => {})
  await within(CRASH_MS_MAX, "crashing the tab", crashed)
}

function sessionOf(tab) {
  return tab.native.context().newCDPSession(tab.native)
}
