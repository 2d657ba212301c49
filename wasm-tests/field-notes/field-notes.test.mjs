// The example from start to end, in real tabs with a real service worker, against its own server.

import assert from "node:assert/strict"
import { fileURLToPath } from "node:url"
import { after, before, describe, it } from "node:test"
import { board, buildPage, fieldNotes, launch, ready, untilBooks, untilCounts, untilNote, write } from "./app.mjs"

const PICTURE = fileURLToPath(new URL("../../examples/field-notes/screenshot.png", import.meta.url))
const MORNING = new Date("2026-06-05T09:30:00Z")

let browser
before(async () => {
  await buildPage()
  browser = await launch()
})
after(() => browser?.close())

/** What the server has, in order of arrival: text, requests, receipts. */
const rows = (server) => server.books().notes.map(({ text, requests, receipts }) => [text, requests, receipts])
const sorted = (server) => rows(server).sort()

describe("field notes", { concurrency: 3 }, () => {
  it("delivers a note that was written online, once", async (t) => {
    const { server, tab } = await fieldNotes(t, browser)
    const page = await tab()
    await write(page, "a heron")
    await write(page, "two kingfishers")
    await untilCounts(page, { delivered: 2 })
    await untilNote(page, "a heron", "delivered", "received once")
    assert.deepEqual(sorted(server), [["a heron", 1, 1], ["two kingfishers", 1, 1]])
  })

  it("keeps notes through a reload without a network, uses up no attempt, and delivers when it is back", async (t) => {
    const { server, context, tab } = await fieldNotes(t, browser)
    const [one, two] = [await tab(), await tab()]
    server.setMode("down")
    await context.setOffline(true)
    for (const [page, text] of [[one, "a 1"], [two, "b 1"], [one, "a 2"], [two, "b 2"]]) await write(page, text)
    await one.reload()
    await ready(one)
    for (const page of [one, two]) await untilCounts(page, { queued: 4 })

    const jobs = new Map((await board(one)).map(({ text, job }) => [text, job]))
    assert.ok(jobs.get("a 1") < jobs.get("a 2"), "a tab's notes are queued in the order of saving")
    assert.ok(jobs.get("b 1") < jobs.get("b 2"), "in every tab")
    assert.deepEqual(rows(server), [])

    server.setMode("up")
    await context.setOffline(false)
    for (const page of [one, two]) await untilCounts(page, { delivered: 4 })
    assert.deepEqual(sorted(server), [["a 1", 1, 1], ["a 2", 1, 1], ["b 1", 1, 1], ["b 2", 1, 1]])
  })

  it("delivers in the order of saving while one tab is the only one to deliver", async (t) => {
    const { server, context, tab } = await fieldNotes(t, browser, { serviceWorker: false })
    const page = await tab()
    await context.setOffline(true)
    const texts = ["first", "second", "third", "fourth", "fifth"]
    for (const text of texts) await write(page, text)
    await context.setOffline(false)
    await untilCounts(page, { delivered: 5 })
    assert.deepEqual(rows(server), texts.map((text) => [text, 1, 1]))
  })

  it("gets every note through to a flaky server, which keeps each once", async (t) => {
    const { server, tab } = await fieldNotes(t, browser)
    const [one, two] = [await tab(), await tab()]
    await one.check("input[value=flaky]", { force: true })
    await untilBooks(server, ({ mode }) => mode === "flaky")
    for (const text of ["a 1", "a 2"]) await write(one, text)
    for (const text of ["b 1", "b 2"]) await write(two, text)
    for (const page of [one, two]) await untilCounts(page, { delivered: 4 })
    const received = sorted(server)
    assert.deepEqual(received.map(([text]) => text), ["a 1", "a 2", "b 1", "b 2"])
    assert.deepEqual(received.map(([, requests]) => requests), [2, 2, 2, 2])
    // Half the failures were answers that got lost.
    assert.deepEqual(received.map(([, , receipts]) => receipts).sort(), [1, 1, 2, 2])
  })

  it("leaves neither note nor delivery of a transaction that is aborted", async (t) => {
    const { server, tab } = await fieldNotes(t, browser)
    const page = await tab()
    await page.fill("#text", "never was")
    await page.click("button[name=abort]")
    await page.waitForSelector("#said:has-text('neither the note nor its delivery')")
    await page.reload()
    await ready(page)
    await untilCounts(page, {})
    await write(page, "this was")
    await untilCounts(page, { delivered: 1 })
    assert.deepEqual(rows(server), [["this was", 1, 1]])
  })

  it("delivers again what a tab was delivering when it closed, once its claim has lapsed", async (t) => {
    const { server, context, tab } = await fieldNotes(t, browser, { clock: MORNING })
    const one = await tab()
    // The server has the note, and the tab never hears of it.
    server.setMode("silent")
    await write(one, "a badger")
    await untilBooks(server, ({ requests }) => requests === 1)
    const two = await tab()
    await untilNote(two, "a badger", "sending", "Tab 1, attempt 1 of 5")
    await one.close()

    server.setMode("up")
    await context.clock.fastForward("00:40")
    await untilNote(two, "a badger", "sending", "Tab 1, attempt 1 of 5")
    await context.clock.fastForward("00:20")
    await untilCounts(two, { delivered: 1 })
    assert.deepEqual(rows(server), [["a badger", 2, 2]])
    await untilNote(two, "a badger", "delivered", "received 2×, kept once")
  })

  it("keeps a note that is out of attempts until somebody redrives it", async (t) => {
    const { server, context, tab } = await fieldNotes(t, browser, { clock: MORNING })
    const page = await tab()
    server.setMode("down")
    await write(page, "a lynx")
    for (const attempt of [1, 2, 3, 4]) {
      await untilNote(page, "a lynx", "retrying", `attempt ${attempt} of 5 failed, next in`)
      await context.clock.fastForward("00:45")
    }
    await untilNote(page, "a lynx", "dead", "5 attempts: Failed to fetch")
    await untilCounts(page, { dead: 1 })

    server.setMode("up")
    await page.click(".note button")
    await untilCounts(page, { delivered: 1 })
    assert.deepEqual(rows(server), [["a lynx", 1, 1]])
  })

  it("delivers in the service worker what the last tab left", async (t) => {
    // Background sync is the whole browser's alone.
    const browser = await launch({ whole: true })
    const { server, context, tab } = await fieldNotes(t, browser)
    t.after(() => browser.close())
    const page = await tab()
    await context.setOffline(true)
    await write(page, "an otter")
    await untilCounts(page, { queued: 1 })
    await page.waitForFunction(async () => {
      const { sync } = await navigator.serviceWorker.ready
      return (await sync.getTags()).includes("deliver")
    })
    await page.close()
    await context.setOffline(false)
    await untilBooks(server, ({ notes }) => notes.length === 1)
    const [{ text, by }] = server.books().notes
    assert.deepEqual([text, by], ["an otter", "Service worker"])
  })

  it("looks like its picture", async (t) => {
    const viewport = { width: 1280, height: 900 }
    const { server, context, tab } = await fieldNotes(t, browser, { clock: MORNING, viewport, colorScheme: "light" })
    await context.addInitScript(sameEveryTime)
    const page = await tab()
    await context.clock.pauseAt(new Date(MORNING.getTime() + 60_000))
    const pass = (duration) => context.clock.fastForward(duration)

    await write(page, "First swift of the year, over the mill pond")
    await untilCounts(page, { delivered: 1 })
    await pass("02:00")
    server.setMode("flaky")
    await write(page, "Two kingfishers below the weir")
    await untilCounts(page, { delivered: 1, retrying: 1 })
    await pass("00:05")
    await untilCounts(page, { delivered: 2 })
    server.setMode("down")
    await write(page, "Lynx tracks on the north bank, fresh")
    for (const attempt of [1, 2, 3, 4]) {
      await untilNote(page, "Lynx tracks", "retrying", `attempt ${attempt} of 5`)
      await pass("00:40")
    }
    await untilCounts(page, { delivered: 2, dead: 1 })
    await pass("03:00")
    await write(page, "Otter with two young, swimming upstream")
    await untilNote(page, "Otter", "retrying", "attempt 1 of 5")
    await pass("00:05")
    await untilNote(page, "Otter", "retrying", "attempt 2 of 5")

    const held = "**/api/notes"
    await page.route(held, () => {})
    await write(page, "Badger sett has a new entrance")
    await untilNote(page, "Badger", "sending", "Tab 1")
    const other = await context.newPage()
    await other.route(held, () => {})
    await other.goto(server.url)
    await ready(other)
    await write(page, "Heron, motionless for an hour")
    await untilNote(page, "Heron", "sending", "Tab 2")
    await write(page, "Heard a nightingale at the ferry")
    await untilCounts(page, { queued: 1, sending: 2, retrying: 1, delivered: 2, dead: 1 })
    await page.waitForSelector("#contexts li:nth-child(2).busy")
    await page.locator("#text").blur()
    const image = await page.screenshot({ path: PICTURE, animations: "disabled" })
    assert.ok(image.length > 10_000)
  })
})

// In the page. The jitter of the retries becomes the same in every run, and a service worker is said to be there.
function sameEveryTime() {
  crypto.getRandomValues = (array) => array.fill(0x7fffffff)
  const registration = { active: { postMessage() {} }, sync: { register: async () => {} } }
  navigator.serviceWorker.getRegistration = async () => registration
}
