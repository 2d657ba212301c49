// Wakes between adapters, over BroadcastChannel or without.

import { spawnSync } from "node:child_process"
import { expect, onTestFinished, test, vi } from "vitest"
import { open } from "alkstore-wasm"
import { indexedDb } from "alkstore-wasm/indexeddb"
import { WakeChannel } from "../../../js/indexeddb/channel.js"
import { freshName } from "../../shared/databases.js"
import { start } from "./support.js"

function channel(name: string): { heard: string[]; channel: WakeChannel } {
  const heard: string[] = []
  const made = new WakeChannel(name, (topic) => heard.push(topic))
  onTestFinished(() => made.close())
  return { heard, channel: made }
}

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
