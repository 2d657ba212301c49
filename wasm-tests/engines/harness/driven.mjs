// What Playwright's and Puppeteer's browsers have in common.

import { expressionOf, resultOf, within } from "./evaluate.mjs"
import { killTree } from "./processes.mjs"

const CLOSE_MS_MAX = 5_000

/** How `browser`, called `title`, ends: by itself or by force. `tree` says which processes are its own. */
export function endings(title, browser, tree) {
  const quietly = (what) => within(CLOSE_MS_MAX, `${what} ${title}`, browser.close()).catch(() => {})
  return {
    async close() {
      await quietly("closing")
      await killTree(tree)
    },
    async kill() {
      await killTree(tree)
      await quietly("letting go of")
    }
  }
}

/** `page` as a tab, at `url`. */
export async function tabOf(page, url) {
  await page.goto(url)
  return {
    native: page,
    evaluate: async (what, ...args) => resultOf(await page.evaluate(expressionOf(what, args))),
    close: () => page.close()
  }
}
