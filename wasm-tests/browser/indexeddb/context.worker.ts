// Another context: a worker with a store of its own on the database that it is told of.

import { open } from "alkstore-wasm"
import { indexedDb } from "alkstore-wasm/indexeddb"

addEventListener("message", async ({ data: { name, command } }: MessageEvent<{ name: string; command: string }>) => {
  const store = await open({ storage: indexedDb(name) })
  const outbox = store.outbox("mail")
  if (command === "enqueue") await outbox.enqueue({ from: "the worker" })
  if (command === "wait") {
    postMessage("waiting")
    await outbox.wait()
    await outbox.runOnce("worker", () => undefined)
  }
  if (command === "durability") return postMessage([await store.persist(), await store.durability()])
  await store.close()
  postMessage("done")
})
