// Chromium, through Playwright. A persistent context: any other keeps its databases in memory.

import { readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { chromiumLaunch } from "../../../scripts/browsers.mjs"
import { endings, tabOf } from "./driven.mjs"
import { launchFreezable } from "./freezable.mjs"

export async function launch({ profile, freezable, whole, bfcache }) {
  // The shell has no such cache.
  const options = { ...chromiumLaunch({ whole: whole || bfcache }), headless: true }
  if (freezable) return launchFreezable(profile, options)
  const { chromium } = await import("playwright")
  // A browser that was killed leaves these behind.
  const left = readdirSync(profile).filter((name) => name.startsWith("Singleton"))
  for (const name of left) rmSync(join(profile, name), { force: true })
  const signals = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false }
  const ignoreDefaultArgs = bfcache ? ["--disable-back-forward-cache"] : []
  const context = await chromium.launchPersistentContext(profile, { ...options, ...signals, ignoreDefaultArgs })
  return {
    /** Playwright's own context, for what only Chromium can do. */
    native: context,
    open: async (url) => tabOf(await context.newPage(), url),
    ...endings("Chromium", context, { folder: profile })
  }
}
