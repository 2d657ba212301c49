// Chromium, through Puppeteer, for tests that freeze tabs: Playwright has its tabs seen at all times, and one that is
// seen cannot be frozen.

import { expressionOf, resultOf, within } from "./evaluate.mjs"
import { killTree } from "./processes.mjs"

const CLOSE_MS_MAX = 5_000

/** Like the `launch` of an engine's driver; its tabs have `freeze` and `thaw` besides. */
export async function launchFreezable({ profile, programs, args }) {
  const { default: puppeteer } = await import("puppeteer-core")
  const options = { browser: "chrome", executablePath: programs.CHROMIUM, headless: true, userDataDir: profile, args }
  const signals = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false }
  const browser = await puppeteer.launch({ ...options, ...signals, defaultViewport: null })
  const kill = async () => {
    await killTree({ pid: browser.process().pid, folder: profile })
    await within(CLOSE_MS_MAX, "letting Chromium go", browser.close()).catch(() => {})
  }
  return { native: browser, open: async (url) => tabOf(await browser.newPage(), url), close: kill, kill }
}

async function tabOf(page, url) {
  await page.goto(url)
  const session = await page.createCDPSession()
  const enter = (state) => session.send("Page.setWebLifecycleState", { state })
  return {
    native: page,
    evaluate: async (what, ...args) => resultOf(await page.evaluate(expressionOf(what, args))),
    close: () => page.close(),
    freeze: () => enter("frozen"),
    thaw: () => enter("active")
  }
}
