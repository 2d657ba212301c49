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

test("a wake reaches every other adapter of the database, in this context too, and not its sender", async () => {
  const name = freshName()
  const [a, b, c, other] = [channel(name), channel(name), channel(name), channel(freshName())]
  for (const { channel: each } of [a, b, c, other]) each.open()
  a.channel.post(["mail", "chores"])
  await vi.waitFor(() => expect([b.heard, c.heard]).toEqual([["mail", "chores"], ["mail", "chores"]]))
  b.channel.post(["mail"])
  await vi.waitFor(() => expect(a.heard).toEqual(["mail"]))
  expect([b.heard.length, other.heard]).toEqual([2, []])
})

test("what others post there is no wake", async () => {
  const name = freshName()
  const { heard, channel: listening } = channel(name)
  listening.open()
  const foreign = new BroadcastChannel(`alkstore:${name}`)
  onTestFinished(() => foreign.close())
  for (const message of ["mail", { topic: "mail" }, [1, null, {}], null, ["good"]]) foreign.postMessage(message)
  await vi.waitFor(() => expect(heard).toEqual(["good"]))
})

test("without BroadcastChannel, or where it is forbidden, nothing happens", () => {
  for (const stub of [undefined, function forbidden() { throw new DOMException("no", "SecurityError") }]) {
    vi.stubGlobal("BroadcastChannel", stub)
    const { channel: silent, heard } = channel("any")
    expect(() => silent.open()).not.toThrow()
    expect(() => silent.post(["mail"])).not.toThrow()
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
  expect(told).toHaveBeenCalledExactlyOnceWith(["rmail"])
  const [asked] = committed.mock.invocationCallOrder.slice(-1)
  expect(told.mock.invocationCallOrder[0]).toBeGreaterThan(asked as number)
  expect(told.mock.invocationCallOrder[0]).toBeLessThan(completed.mock.invocationCallOrder[0] as number)
})

test("a channel that is open keeps no process alive", () => {
  const program = `new BroadcastChannel("x").unref?.(); setTimeout(() => console.log("done"), 1)`
  const { stdout, status } = spawnSync(process.execPath, ["-e", program], { timeout: 10_000, encoding: "utf8" })
  expect([stdout, status]).toEqual(["done\n", 0])
})
