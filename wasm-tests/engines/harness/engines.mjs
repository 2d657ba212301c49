// The engines to test in: those that the variable ENGINES names, else those that are here.

import { browserNames, programsOf } from "../../../scripts/browsers.mjs"
import * as chromium from "./chromium.mjs"
import * as firefox from "./firefox.mjs"
import { removeFolder, temporaryFolder } from "./processes.mjs"
import * as webkit from "./webkit.mjs"

const DRIVERS = { chromium, firefox, webkit }

/** The engines: `{ name, launch, durableApart }`. */
export function engines() {
  const names = process.env.ENGINES?.split(",") ?? browserNames.filter((name) => programsOf(name) !== null)
  return names.map((name) => {
    const programs = programsOf(name)
    if (programs === null) throw new Error(`${name} is not installed`)
    const { durableApart = false } = DRIVERS[name]
    return { name, durableApart, launch: (options) => launch(name, programs, options) }
  })
}

/**
 * Starts a browser on the folder `profile`, or on one of its own, if need be `onDisk`, that is removed when it closes:
 * `{ open(url) → tab, close(), kill() }`, and a tab `{ evaluate(functionOrExpression, ...arguments), close() }`.
 * `durable` is for what has to be in files; with an engine that is `durableApart` there is one tab at a time then, and
 * it has no `evaluate`: its page reports. In Chromium, `freezable` is for tabs with `freeze` and `thaw`, `whole` is the
 * browser that people have, not the shell of it, and `bfcache` one that keeps pages in the back/forward cache.
 */
async function launch(name, programs, { profile, onDisk = false, durable = false, ...only } = {}) {
  const folder = profile ?? temporaryFolder({ onDisk })
  const browser = await DRIVERS[name].launch({ profile: folder, programs, durable, ...only })
  const finish = (end) => async () => {
    await end()
    if (profile === undefined) removeFolder(folder)
  }
  return { ...browser, close: finish(browser.close), kill: finish(browser.kill) }
}
