// Another script of the same origin, as SECURITY.md tells it: what it hears and what it may say.

import "fake-indexeddb/auto"
import { expect, onTestFinished, test, vi } from "vitest"
import { indexedDb } from "alkstore-wasm/indexeddb"
import { freshName } from "../../shared/databases.js"
import { follow, start } from "../../shared/support.js"

const SECRET = "the card's number"
const STORM = 200

test("who listens hears the names of queues, and nothing of what is in them", async () => {
  const name = freshName()
  const heard: unknown[] = []
  const eavesdropper = new BroadcastChannel(`alkstore:${name}`)
  eavesdropper.onmessage = ({ data }) => void heard.push(data)
  onTestFinished(() => eavesdropper.close())

  const { store } = await start({ storage: indexedDb(name) })
  const queue = store.queue("mail")
  await queue.enqueue({ to: SECRET }, { maxAttempts: 1 })
  const job = await queue.claimOne(SECRET)
  await job?.fail(SECRET)
  await queue.redrive()
  await store.outbox("webhooks").enqueue(SECRET)
  await store.tryLock(SECRET, SECRET, "1m")
  await store.schedule("cleanup", "@every 1h", "chores", SECRET)

  await vi.waitFor(() => expect(heard).toContainEqual({ ask: ["s"] }))
  const words = ["rmail", "qmail", "r__alkstore_outbox:webhooks", "s"]
  expect(heard).toEqual(words.map((word) => ({ ask: [word] })))
})

test("who shouts wakes whoever waits, who looks, finds nothing, and waits on", async () => {
  const name = freshName()
  const { store } = await start({ storage: indexedDb(name) })
  const queue = store.queue("mail")
  const fate = follow(queue.wait())
  const [shouter, witness] = [new BroadcastChannel(`alkstore:${name}`), new BroadcastChannel(`alkstore:${name}`)]
  let heard = 0
  witness.onmessage = () => void (heard += 1)
  onTestFinished(() => [shouter, witness].forEach((channel) => channel.close()))
  for (let n = 0; n < STORM; n += 1) shouter.postMessage(["qmail", "s", "", "x".repeat(n), "\ud800"])
  await vi.waitFor(() => expect(heard).toBe(STORM))
  expect(await queue.stats()).toMatchObject({ pending: 0, processing: 0 })
  expect(fate.state).toBe("waiting")
  await queue.enqueue(2)
  await vi.waitFor(() => expect(fate.state).toBe("resolved"))
})
