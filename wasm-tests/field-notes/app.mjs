// examples/field-notes as a user has it: built, served by its own server, open in Chromium.

import assert from "node:assert/strict"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { chromium } from "playwright"
import { build } from "vite"
import { chromiumLaunch } from "../../scripts/browsers.mjs"
import { startServer } from "../../examples/field-notes/server.mjs"

const root = fileURLToPath(new URL("../../", import.meta.url))
const folder = join(root, "target/field-notes")

/** No condition takes longer, on a busy machine either: two retries are over after 15 s. */
const WAIT_MS_MAX = 30_000
const LOOK_EVERY_MS = 10

/** Builds the page. */
export async function buildPage() {
  const configFile = join(root, "examples/field-notes/vite.config.mjs")
  await build({ configFile, logLevel: "warn", build: { outDir: folder, emptyOutDir: true } })
}

/** Starts the browser, `whole` or the shell of it; `close()` ends it. */
export function launch(options) {
  return chromium.launch(chromiumLaunch(options))
}

/**
 * A server and a browser profile of its own for the test `t`: `{ server, context, tab() }`. With `clock`, an instant,
 * all tabs share a clock that starts there and that `context.clock` moves on; without a service worker then, because
 * that one has the real clock.
 */
export async function fieldNotes(t, browser, { clock, serviceWorker = clock === undefined, ...options } = {}) {
  const server = await startServer({ folder })
  const serviceWorkers = serviceWorker ? "allow" : "block"
  const context = await browser.newContext({ serviceWorkers, locale: "en-GB", timezoneId: "UTC", ...options })
  context.setDefaultTimeout(WAIT_MS_MAX)
  t.after(async () => {
    await context.close()
    await server.close()
  })
  if (clock !== undefined) await context.clock.install({ time: clock })
  return { server, context, tab: () => openTab(context, server.url, serviceWorker) }
}

async function openTab(context, url, serviceWorker) {
  const page = await context.newPage()
  await page.goto(url)
  await ready(page)
  // Served by it from now on, also without a network.
  if (serviceWorker) await page.waitForFunction(() => navigator.serviceWorker.controller?.state === "activated")
  return page
}

/** Waits until the page shows its notes. */
export async function ready(page) {
  await page.waitForFunction(() => /^Tab/.test(document.querySelector("#tab").textContent))
}

/** Saves a note and waits until it is on the board. */
export async function write(page, text) {
  await page.bringToFront()
  await page.fill("#text", text)
  await page.click("button[name=save]")
  await page.waitForSelector(`.note:has-text("${text}")`)
}

/** The notes on the board, oldest first, each `{ text, state, detail, job }`. */
export async function board(page) {
  const notes = await page.$$eval(".note", (items) =>
    items.map((item) => ({
      text: item.querySelector(".text").textContent,
      state: item.dataset.state,
      detail: item.querySelector(".detail").textContent,
      job: Number(item.dataset.job)
    }))
  )
  return notes.reverse()
}

/** Waits until the board counts exactly `counts`; a state that is not named counts 0. */
export async function untilCounts(page, counts) {
  const wanted = { queued: 0, sending: 0, retrying: 0, delivered: 0, dead: 0, ...counts }
  const same = (wanted) =>
    Object.entries(wanted).every(([state, n]) => document.querySelector(`#count-${state}`).textContent === String(n))
  await page.waitForFunction(same, wanted).catch((error) => failed(page, wanted, error))
}

/** Waits until the note `text` is in `state` and its line says `detail`. */
export async function untilNote(page, text, state, detail = "") {
  const note = page.locator(`.note[data-state="${state}"]`).filter({ hasText: text }).filter({ hasText: detail })
  await note.waitFor().catch((error) => failed(page, { text, state, detail }, error))
}

async function failed(page, wanted, { message }) {
  const shown = JSON.stringify(await board(page), null, 2)
  assert.fail(`waited for ${JSON.stringify(wanted)}, the board is ${shown}: ${message}`)
}

/** Waits until the server's books satisfy `condition`. */
export async function untilBooks(server, condition) {
  for (const end = performance.now() + WAIT_MS_MAX; !condition(server.books()); ) {
    if (performance.now() > end) assert.fail(`the server's books are ${JSON.stringify(server.books(), null, 2)}`)
    await setTimeout(LOOK_EVERY_MS)
  }
}
