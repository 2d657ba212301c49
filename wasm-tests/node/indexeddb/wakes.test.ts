// Wakes between adapters, over BroadcastChannel or without.

import { spawnSync } from "node:child_process"
import { forceCloseDatabase } from "fake-indexeddb"
import { expect, onTestFinished, test, vi } from "vitest"
import { type AlkstoreError, open } from "alkstore-wasm"
import { indexedDb, upgrade } from "alkstore-wasm/indexeddb"
import { ManualClock } from "alkstore-wasm/testing"
import { WakeChannel } from "../../../js/indexeddb/channel.js"
import { connect, freshName } from "../../shared/databases.js"
import { follow } from "../../shared/support.js"
import { start } from "./support.js"

function channel(name: string): { heard: string[]; channel: WakeChannel } {
  const heard: string[] = []
  const made = new WakeChannel(name, (topic) => heard.push(topic))
  onTestFinished(() => made.close())
  return { heard, channel: made }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** What is said on a database's channel. */
function said(name: string): unknown[] {
  const messages: unknown[] = []
  const witness = new BroadcastChannel(`alkstore:${name}`)
  witness.onmessage = ({ data }) => void messages.push(data)
  onTestFinished(() => witness.close())
  return messages
}

/** Time stands still: nothing is told again because a second has passed. */
function stopTime(): { at: number } {
  const time = { at: 5_000 }
  const now = vi.spyOn(performance, "now").mockImplementation(() => time.at)
  onTestFinished(() => now.mockRestore())
  return time
}

/** The page's own events, to be fired: whether it goes to the back/forward cache, or comes from there. */
function pageEvents(): (type: "pagehide" | "pageshow", persisted: boolean) => void {
  const page = new EventTarget()
  vi.stubGlobal("addEventListener", page.addEventListener.bind(page))
  vi.stubGlobal("removeEventListener", page.removeEventListener.bind(page))
  onTestFinished(() => void vi.unstubAllGlobals())
  return (type, persisted) => void page.dispatchEvent(Object.assign(new Event(type), { persisted }))
}

/** The channels that are opened from now on, and not closed. */
function openChannels(): Set<unknown> {
  const open = new Set<unknown>()
  const Real = BroadcastChannel
  vi.stubGlobal("BroadcastChannel", class extends Real {
    constructor(name: string) {
      super(name)
      open.add(this)
    }
    override close(): void {
      open.delete(this)
      super.close()
    }
  })
  onTestFinished(() => void vi.unstubAllGlobals())
  return open
}

test("a wake reaches every other adapter of the database, in this context too, and not its sender", async () => {
  const name = freshName()
  const [a, b, c, other] = [channel(name), channel(name), channel(name), channel(freshName())]
  for (const { channel: each } of [a, b, c, other]) each.listen()
  a.channel.tell(["mail", "chores"])
  await vi.waitFor(() => expect([b.heard, c.heard]).toEqual([["mail", "chores"], ["mail", "chores"]]))
  b.channel.tell(["mail"])
  await vi.waitFor(() => expect(a.heard).toEqual(["mail"]))
  expect([b.heard.length, other.heard]).toEqual([2, []])
})

test("while nobody listens a topic is told once in a second, with the question who does", async () => {
  const [name, time] = [freshName(), stopTime()]
  const messages = said(name)
  const { channel: speaker } = channel(name)
  for (let n = 0; n < 50; n++) speaker.tell(["mail"])
  speaker.tell(["mail", "chores"])
  time.at += 999
  speaker.tell(["mail"])
  time.at += 1
  speaker.tell(["mail"])
  time.at -= 100_000
  speaker.tell(["mail"])
  const asked = [["mail"], ["chores"], ["mail"], ["mail"]].map((ask) => ({ ask }))
  await vi.waitFor(() => expect(messages).toEqual(asked))
})

test("who listened before answers the first question, and hears all that was kept back meanwhile", async () => {
  const name = freshName()
  stopTime()
  const [speaker, listener] = [channel(name).channel, channel(name)]
  listener.channel.listen()
  speaker.tell(["mail"])
  speaker.tell(["mail", "chores"])
  speaker.tell(["chores"])
  await vi.waitFor(() => expect(listener.heard).toEqual(["mail", "chores", "mail", "chores"]))
  speaker.tell(["mail"])
  speaker.tell(["mail"])
  await vi.waitFor(() => expect(listener.heard.slice(4), "from then on all").toEqual(["mail", "mail"]))
})

test("who begins to listen later says so, and hears at once what was kept back, and no more", async () => {
  const name = freshName()
  stopTime()
  const [speaker, listener] = [channel(name).channel, channel(name)]
  for (const topic of ["mail", "mail", "chores"]) speaker.tell([topic])
  listener.channel.listen()
  await vi.waitFor(() => expect(listener.heard).toEqual(["mail"]))
  speaker.tell(["chores"])
  await vi.waitFor(() => expect(listener.heard).toEqual(["mail", "chores"]))
})

test("what was kept back says that there may be something, and not that a job is ready: it is of some time ago", async () => {
  const name = freshName()
  stopTime()
  const [speaker, listener] = [channel(name).channel, channel(name)]
  speaker.tell(["rmail"])
  speaker.tell(["rmail", "s"])
  speaker.tell(["s"])
  listener.channel.listen()
  await vi.waitFor(() => expect(listener.heard).toEqual(["qmail", "s"]))
})

test("a job that was ready, and was taken long ago, ends nobody's wait", async () => {
  const name = freshName()
  const messages = said(name)
  const [here, there] = await Promise.all([1, 2].map(() => open({ storage: indexedDb(name) })))
  onTestFinished(async () => void (await Promise.all([here?.close(), there?.close()])))
  const mail = here!.queue("mail")
  for (const n of [1, 2]) await mail.enqueue(n)
  await mail.ackBatch((await mail.claimBatch("a", 2)).map(({ id }) => id))
  const answered = vi.fn()
  const stop = new AbortController()
  const waiting = there!.queue("mail").wait(stop.signal).then(answered)
  await vi.waitFor(() => expect(messages).toContainEqual(["qmail"]))
  // Its answer comes after what was kept back.
  await there!.queue("mail").stats()
  expect(answered).not.toHaveBeenCalled()
  stop.abort()
  await waiting
  expect(answered).toHaveBeenCalledExactlyOnceWith(false)
})

test("a listener of whom nothing was heard for ten seconds is asked again, and forgotten if it does not answer", async () => {
  const [name, time] = [freshName(), stopTime()]
  const messages = said(name)
  const [speaker, listener] = [channel(name).channel, channel(name)]
  listener.channel.listen()
  speaker.tell(["mail"])
  await vi.waitFor(() => expect(messages).toEqual(["listening", { ask: ["mail"] }, "listening"]))
  time.at += 9_999
  for (const _ of [1, 2]) speaker.tell(["mail"])
  time.at += 1
  for (const _ of [1, 2]) speaker.tell(["mail"])
  const asked = [["mail"], ["mail"], { ask: ["mail"] }, "listening", ["mail"]]
  await vi.waitFor(() => expect(messages.slice(3)).toEqual(asked))
  listener.channel.close()
  time.at += 10_000
  for (let n = 0; n < 10; n++) speaker.tell(["mail"])
  await vi.waitFor(() => expect(messages.slice(8)).toEqual([{ ask: ["mail"] }]))
})

test("a page that comes back from the back/forward cache begins anew, and has all who wait look", async () => {
  const name = freshName()
  stopTime()
  const page = pageEvents()
  const messages = said(name)
  const [speaker, listener] = [channel(name), channel(name)]
  listener.channel.listen()
  speaker.channel.tell(["mail"])
  await vi.waitFor(() => expect(messages).toEqual(["listening", { ask: ["mail"] }, "listening"]))
  const show = (persisted: boolean): void => page("pageshow", persisted)
  show(false)
  expect([speaker.heard, listener.heard]).toEqual([[], ["mail"]])
  show(true)
  expect([speaker.heard, listener.heard]).toEqual([["*"], ["mail", "*"]])
  speaker.channel.tell(["mail"])
  await vi.waitFor(() => expect(messages.slice(3)).toEqual(["listening", { ask: ["mail"] }, "listening"]))
  for (const { channel: each } of [speaker, listener]) each.close()
  show(true)
  expect([speaker.heard, listener.heard]).toEqual([["*"], ["mail", "*", "mail"]])
})

test("a page in the back/forward cache has no channel open, and listens again when it comes back", async () => {
  const name = freshName()
  stopTime()
  const [page, channels] = [pageEvents(), openChannels()]
  const [away, there] = [channel(name), channel(name)]
  away.channel.listen()
  there.channel.tell(["mail"])
  await vi.waitFor(() => expect(away.heard).toEqual(["mail"]))
  there.channel.close()
  expect(channels.size).toBe(1)
  page("pagehide", false)
  expect(channels.size, "a page that is left for good needs nothing").toBe(1)
  page("pagehide", true)
  expect(channels.size).toBe(0)
  there.channel.tell(["lost"])
  await nextTurn()
  page("pageshow", true)
  expect(away.heard, "it looks for what it has missed").toEqual(["mail", "*"])
  for (const _ of [1, 2]) there.channel.tell(["chores"])
  await vi.waitFor(() => expect(away.heard).toEqual(["mail", "*", "chores", "chores"]))
})

test("a page that goes away tells what it has kept back, and at once what it commits until it is frozen", async () => {
  const name = freshName()
  stopTime()
  const [page, messages] = [pageEvents(), said(name)]
  const channels = openChannels()
  const { channel: speaker } = channel(name)
  for (const topic of ["mail", "mail", "chores"]) speaker.tell([topic])
  page("pagehide", true)
  for (const _ of [1, 2]) speaker.tell(["rmail"])
  expect(channels.size).toBe(0)
  page("pageshow", true)
  speaker.tell(["mail"])
  expect(channels.size).toBe(1)
  const all = [{ ask: ["mail"] }, { ask: ["chores"] }, ["mail"], ["rmail"], ["rmail"], { ask: ["mail"] }]
  await vi.waitFor(() => expect(messages).toEqual(all))
})

test("who begins to listen as the page goes away says so when it comes back", async () => {
  const name = freshName()
  stopTime()
  const [page, messages, channels] = [pageEvents(), said(name), openChannels()]
  const { channel: late } = channel(name)
  late.tell(["mail"])
  page("pagehide", true)
  late.listen()
  expect(channels.size).toBe(0)
  page("pageshow", true)
  await vi.waitFor(() => expect(messages).toEqual([{ ask: ["mail"] }, "listening"]))
})

test("a channel that ends while its page is away stays closed, and begins anew", async () => {
  const name = freshName()
  stopTime()
  const [page, channels] = [pageEvents(), openChannels()]
  const { channel: ended, heard } = channel(name)
  ended.listen()
  page("pagehide", true)
  ended.close()
  page("pageshow", true)
  expect([channels.size, heard]).toEqual([0, []])
  ended.listen()
  expect(channels.size).toBe(1)
})

test("who only speaks does not pass for a listener", async () => {
  const name = freshName()
  stopTime()
  const messages = said(name)
  const [a, b] = [channel(name).channel, channel(name).channel]
  for (const speaker of [a, b, a, b]) speaker.tell(["mail"])
  await vi.waitFor(() => expect(messages).toEqual([{ ask: ["mail"] }, { ask: ["mail"] }]))
})

test("what was kept back is told at the channel's end; one that is opened again asks again", async () => {
  const name = freshName()
  stopTime()
  const messages = said(name)
  const { channel: speaker } = channel(name)
  for (const topic of ["mail", "mail", "chores"]) speaker.tell([topic])
  speaker.close()
  speaker.tell(["mail"])
  const all = [{ ask: ["mail"] }, { ask: ["chores"] }, ["mail"], { ask: ["mail"] }]
  await vi.waitFor(() => expect(messages).toEqual(all))
})

test("topics that are too many to be remembered are all told", async () => {
  const name = freshName()
  stopTime()
  const messages = said(name)
  const { channel: speaker } = channel(name)
  const topics = Array.from({ length: 64 }, (_, n) => `mail ${n}`)
  for (const topic of [...topics.slice(0, 1), ...topics]) speaker.tell([topic])
  speaker.tell(["mail 1"])
  const all = [...topics.map((topic) => ({ ask: [topic] })), ["mail 0"], ["mail 1"]]
  await vi.waitFor(() => expect(messages).toEqual(all))
})

test("what others post there is no wake", async () => {
  const name = freshName()
  const { heard, channel: listening } = channel(name)
  listening.listen()
  const foreign = new BroadcastChannel(`alkstore:${name}`)
  onTestFinished(() => foreign.close())
  const messages = ["mail", { topic: "mail" }, { ask: "mail" }, { ask: null }, { ask: [2] }, [1, null, {}], null, ["good"]]
  for (const message of messages) foreign.postMessage(message)
  await vi.waitFor(() => expect(heard).toEqual(["good"]))
})

test("without BroadcastChannel, or where it is forbidden, nothing happens", () => {
  for (const stub of [undefined, function forbidden() { throw new DOMException("no", "SecurityError") }]) {
    vi.stubGlobal("BroadcastChannel", stub)
    const { channel: silent, heard } = channel("any")
    expect(() => silent.listen()).not.toThrow()
    expect(() => silent.tell(["mail"])).not.toThrow()
    expect(heard).toEqual([])
    vi.unstubAllGlobals()
  }
})

test("an adapter opens its channel when somebody waits or speaks, and closes it at its end", async () => {
  const opened = vi.fn()
  const closed = vi.spyOn(BroadcastChannel.prototype, "close")
  const Real = BroadcastChannel
  vi.stubGlobal("BroadcastChannel", class extends Real {
    constructor(name: string) {
      super(name)
      opened(name)
    }
  })
  const { name, driver } = await start()
  expect(opened).not.toHaveBeenCalled()
  driver.listen()
  driver.listen()
  driver.wake(["mail"])
  await Promise.resolve()
  expect(opened).toHaveBeenCalledExactlyOnceWith(`alkstore:${name}`)
  driver.close()
  expect(closed).toHaveBeenCalledOnce()
  driver.wake(["mail"])
  await Promise.resolve()
  expect(closed, "one that speaks after its end hangs up at once").toHaveBeenCalledTimes(2)
  vi.unstubAllGlobals()
  closed.mockRestore()
})

test("whoever waits on a store that is closed hears so, and listens to nothing", async () => {
  const name = freshName()
  const messages = said(name)
  const store = await open({ storage: indexedDb(name) })
  const mail = store.queue("mail")
  await store.close()
  await expect(mail.wait()).rejects.toMatchObject({ code: "Closed" })
  await expect(store.runSchedules()).rejects.toMatchObject({ code: "Closed" })
  const other = channel(name).channel
  other.tell(["mail"])
  await vi.waitFor(() => expect(messages).toEqual([{ ask: ["mail"] }]))
})

test("who waits on the app's own connection hears at once that the browser has closed it", async () => {
  const db = await connect(freshName(), 1, upgrade)
  const store = await open({ storage: indexedDb({ database: db }), clock: new ManualClock() })
  const waiting = store.queue("mail").wait().catch(({ code, message }: AlkstoreError) => [code, message])
  await store.queue("mail").stats()
  forceCloseDatabase(db as never)
  expect(await waiting).toEqual(["Storage", expect.stringMatching(/^the connection to "test-.*" is closed/)])
  await store.close()
})

test("what a closed store still has under way wakes who waits in the one that is opened next", async () => {
  vi.stubGlobal("BroadcastChannel", undefined)
  onTestFinished(() => void vi.unstubAllGlobals())
  const storage = indexedDb(freshName())
  const first = await open({ storage })
  await first.queue("log").enqueue("warm")
  const ahead = first.queue("log").enqueue("under way")
  await nextTurn()
  const id = first.outbox("mail").enqueue("in line behind it")
  await first.close()
  const second = await open({ storage })
  const waiting = follow(second.outbox("mail").wait())
  await Promise.all([ahead, id])
  for (let turn = 0; turn < 100; turn++) await nextTurn()
  expect(waiting).toEqual({ state: "resolved", value: true })
  await second.close()
})

test("an adapter that is opened and closed again and again closes every connection and channel", async () => {
  const storage = indexedDb(freshName())
  const [opens, closes] = [vi.spyOn(indexedDB, "open"), vi.spyOn(IDBDatabase.prototype, "close")]
  const channels = vi.spyOn(BroadcastChannel.prototype, "close")
  onTestFinished(() => void vi.restoreAllMocks())
  for (let n = 0; n < 100; n++) {
    const store = await open({ storage })
    const waiting = store.queue("mail").wait()
    await store.close()
    expect(await waiting).toBe(false)
    await nextTurn()
  }
  expect([opens.mock.calls.length, closes.mock.calls.length, channels.mock.calls.length]).toEqual([100, 100, 100])
})

test("the others are told beside the commit, in whose line they wait", async () => {
  const told = vi.spyOn(BroadcastChannel.prototype, "postMessage")
  const { commit } = IDBTransaction.prototype
  const completed = vi.fn()
  const committed = vi.spyOn(IDBTransaction.prototype, "commit").mockImplementation(function (this: IDBTransaction) {
    this.addEventListener("complete", completed)
    commit.call(this)
  })
  onTestFinished(() => void (told.mockRestore(), committed.mockRestore()))
  const store = await open({ storage: indexedDb(freshName()) })
  onTestFinished(() => store.close())
  await store.queue("mail").enqueue(1)
  expect(told).toHaveBeenCalledExactlyOnceWith({ ask: ["rmail"] })
  const [asked] = committed.mock.invocationCallOrder.slice(-1)
  expect(told.mock.invocationCallOrder[0]).toBeGreaterThan(asked as number)
  expect(told.mock.invocationCallOrder[0]).toBeLessThan(completed.mock.invocationCallOrder[0] as number)
})

test("a channel that is open keeps no process alive", () => {
  const program = `new BroadcastChannel("x").unref?.(); setTimeout(() => console.log("done"), 1)`
  const { stdout, status } = spawnSync(process.execPath, ["-e", program], { timeout: 10_000, encoding: "utf8" })
  expect([stdout, status]).toEqual(["done\n", 0])
})
