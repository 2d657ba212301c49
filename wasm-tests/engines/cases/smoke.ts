// The least that a storage does in an engine.

import { open } from "alkstore-wasm"
import { expect, test } from "../page/test.js"
import { newStorage } from "../page/storage.js"

test("a job is enqueued, claimed and acked, and is gone", async () => {
  const store = await open({ storage: newStorage() })
  const queue = store.queue<{ to: string }>("mail")
  const id = await queue.enqueue({ to: "a" })
  const job = await queue.claimOne("w1")
  expect(job).toMatchObject({ id, payload: { to: "a" }, state: "processing", workerId: "w1" })
  expect(await queue.claimOne("w2")).toBe(null)
  expect(await job?.ack()).toBe(true)
  expect(await job?.ack()).toBe(false)
  expect(await queue.list()).toEqual([])
  await store.close()
})

test("two stores on one storage hand a job out once", async () => {
  const storage = newStorage()
  const [first, second] = [await open({ storage }), await open({ storage })]
  for (let n = 0; n < 10; n++) await first.queue<number>("mail").enqueue(n)
  const claimed = await Promise.all(
    Array.from({ length: 12 }, (_, n) => (n % 2 ? first : second).queue<number>("mail").claimOne(`w${n}`))
  )
  const payloads = claimed.flatMap((job) => (job === null ? [] : [job.payload]))
  expect(payloads.sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  await first.close()
  await second.close()
})
