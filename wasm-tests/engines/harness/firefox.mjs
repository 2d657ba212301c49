// Firefox, through Puppeteer and WebDriver BiDi.

import { rmSync } from "node:fs"
import { join } from "node:path"
import { endings, tabOf } from "./driven.mjs"

export async function launch({ profile, programs }) {
  const { default: puppeteer } = await import("puppeteer-core")
  const options = { browser: "firefox", executablePath: programs.FIREFOX, headless: true, userDataDir: profile }
  const signals = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false }
  const browser = await puppeteer.launch({ ...options, ...signals, protocolTimeout: 60_000 })
  const { pid } = browser.process()
  // Whatever ends Firefox, Puppeteer puts these back, at a time of its own: into the next browser on the same profile.
  for (const backup of ["user.js", "prefs.js"]) rmSync(join(profile, `${backup}.puppeteer`), { force: true })
  return {
    /** Puppeteer's own browser, for what only Firefox can do. */
    native: browser,
    open: async (url) => tabOf(await browser.newPage(), url),
    ...endings("Firefox", browser, { pid, folder: profile })
  }
}
