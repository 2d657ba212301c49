// Chromium, through Puppeteer, for tests that freeze tabs: Playwright has its tabs seen at all times, and one that is
// seen cannot be frozen.

import { endings, tabOf } from "./driven.mjs"

/** Like the `launch` of an engine's driver; its tabs have `freeze` and `thaw` besides. */
export async function launchFreezable(profile, options) {
  const { default: puppeteer } = await import("puppeteer-core")
  const signals = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false }
  const browser = await puppeteer.launch({ ...options, ...signals, browser: "chrome", userDataDir: profile, defaultViewport: null })
  // By force in both cases, so that a frozen tab cannot hold it up.
  const { kill } = endings("Chromium", browser, { pid: browser.process().pid, folder: profile })
  return { native: browser, open: async (url) => freezableTab(await browser.newPage(), url), close: kill, kill }
}

async function freezableTab(page, url) {
  const tab = await tabOf(page, url)
  const cdp = await page.createCDPSession()
  const enter = (state) => cdp.send("Page.setWebLifecycleState", { state })
  return { ...tab, freeze: () => enter("frozen"), thaw: () => enter("active") }
}
