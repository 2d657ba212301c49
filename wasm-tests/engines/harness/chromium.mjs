// Chromium, through Playwright. A persistent context: any other keeps its databases in memory.

import { readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { CHROMIUM_ARGS } from "../../../scripts/browsers.mjs"
import { expressionOf, resultOf, within } from "./evaluate.mjs"
import { launchFreezable } from "./freezable.mjs"
import { killTree } from "./processes.mjs"

const CLOSE_MS_MAX = 5_000

export async function launch({ profile, programs, freezable }) {
  if (freezable) return launchFreezable({ profile, programs, args: CHROMIUM_ARGS })
  const { chromium } = await import("playwright")
  // A browser that was killed leaves these behind.
  const left = readdirSync(profile).filter((name) => name.startsWith("Singleton"))
  for (const name of left) rmSync(join(profile, name), { force: true })
  const options = { executablePath: programs.CHROMIUM, headless: true, args: CHROMIUM_ARGS }
  const signals = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false }
  const context = await chromium.launchPersistentContext(profile, { ...options, ...signals })
  return {
    /** Playwright's own context, for what only Chromium can do. */
    native: context,
    open: async (url) => tabOf(await context.newPage(), url),
    async close() {
      await within(CLOSE_MS_MAX, "closing Chromium", context.close()).catch(() => {})
      await killTree({ folder: profile })
    },
    async kill() {
      await killTree({ folder: profile })
      await within(CLOSE_MS_MAX, "letting Chromium go", context.close()).catch(() => {})
    }
  }
}

async function tabOf(page, url) {
  await page.goto(url)
  return {
    native: page,
    evaluate: async (what, ...args) => resultOf(await page.evaluate(expressionOf(what, args))),
    close: () => page.close()
  }
}
