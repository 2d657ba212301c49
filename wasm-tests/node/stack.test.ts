// A program that has recursed to the end of its stack, and calls the store from there. What it calls fails; should that
// end the engine, in the middle of a call, it has ended for good and for everybody.

import { open } from "alkstore-wasm"
import type { ClaimedJob, Queue } from "alkstore-wasm"
import { expect, test } from "vitest"
import { follow, must, rejection } from "../shared/support.js"

/** How many frames from the end of the stack a call is made, each from one frame less. */
const FRAMES = 1_500

/** Calls from every depth near the end of the stack; what was returned. */
function callsFromTheEnd(call: () => unknown): unknown[] {
  const returned: unknown[] = Array(FRAMES).fill(undefined)
  let left = FRAMES
  const dive = (): void => {
    try {
      dive()
    } catch {
      // The end.
    }
    if (left === 0) return
    left -= 1
    try {
      returned[left] = call()
    } catch {
      // Too near to it.
    }
  }
  dive()
  return returned
}

test.each<[what: string, call: (queue: Queue, job: ClaimedJob) => unknown]>([
  ["enqueue", (queue) => queue.enqueue("another")],
  ["claimOne", (queue) => queue.claimOne("w")],
  ["list", (queue) => queue.list()],
  ["stats", (queue) => queue.stats()],
  ["retry", (_, job) => job.retry("a reason")],
  ["heartbeat", (_, job) => job.heartbeat("1h")],
])("%s", async (_, call) => {
  const store = await open()
  const queue = store.queue("mail")
  for (let n = 0; n < 3; n++) await queue.enqueue("a job")
  const job = must(await queue.claimOne("w"))
  const waiting = follow(store.queue("another").wait())
  const returned = callsFromTheEnd(() => call(queue, job))
  const settled = await Promise.allSettled(returned)
  const isSaid = settled.some(
    (each) => each.status === "rejected" && (each.reason as { code?: string }).code === "Panicked",
  )
  const state = await queue.stats().then(
    () => "alive",
    (error: { code: string }) => error.code,
  )
  if (isSaid) expect(state).toBe("Panicked")
  if (state === "alive") {
    expect(waiting.state).toBe("waiting")
    await store.queue("another").enqueue("a job")
    await store.close()
    return
  }
  expect(state).toBe("Panicked")
  expect(waiting.error).toMatchObject({ code: "Panicked" })
  expect((await rejection(() => store.schedules())).code).toBe("Panicked")
  const another = await open()
  expect(await another.queue("mail").stats()).toMatchObject({ pending: 0 })
  await another.close()
})
