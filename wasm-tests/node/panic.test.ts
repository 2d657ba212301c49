// A defect of the engine's, provoked in a build made for that: what is pending says so, what comes later says why, and
// opening again starts anew.

import { describe, expect, test } from "vitest"
import { AlkstoreError, engine, memory, open } from "../../target/panic-build/index.mjs"

/** Panics inside a call; what the caller gets. */
async function panic(message: string): Promise<unknown> {
  const { glue } = await engine()
  try {
    glue.testPanic(message)
  } catch (error) {
    return error
  }
  throw new Error("it did not panic")
}

async function failure(promise: Promise<unknown>): Promise<{ code?: string; message?: string }> {
  return promise.then(
    () => ({}),
    (error: AlkstoreError) => ({ code: error.code, message: error.message })
  )
}

describe("a panic", () => {
  test("rejects what is pending, with its message", async () => {
    const store = await open()
    const pending = [store.queue("mail").wait(), store.runSchedules(), store.outbox("hooks").wait()].map(failure)
    expect(await panic("first defect")).toBeInstanceOf(AlkstoreError)
    for (const outcome of await Promise.all(pending)) {
      expect(outcome.code).toBe("Panicked")
      expect(outcome.message).toContain("first defect")
    }
  })

  test("makes every later call on the store fail at once, with the first message", async () => {
    const store = await open()
    const queue = store.queue("mail")
    const job = await queue.enqueue("x").then(() => queue.claimOne("w"))
    await panic("the first")
    const calls = [queue.enqueue("y"), queue.claimOne("w"), queue.stats(), job?.ack(), store.schedules(), store.close()]
    for (const call of calls) {
      const outcome = await failure(Promise.resolve(call))
      expect(outcome.code).toBe("Panicked")
      expect(outcome.message).toContain("the first")
    }
    expect(() => store.queue("other")).toThrow(expect.objectContaining({ code: "Panicked" }))
  })

  test("in a future that is polled later rejects what is pending too, and is no uncaught error", async () => {
    const store = await open()
    const waiting = failure(store.queue("mail").wait())
    const { glue } = await engine()
    glue.testPanicLater("in a future")
    const outcome = await waiting
    expect(outcome.code).toBe("Panicked")
    expect(outcome.message).toContain("in a future")
  })

  test("leaves a fresh start: a new store works, and knows nothing of the old one", async () => {
    const old = await open()
    await old.queue("mail").enqueue("lost")
    await panic("defect")
    const store = await open()
    const queue = store.queue("mail")
    expect(await queue.stats()).toMatchObject({ pending: 0, ready: 0 })
    await queue.enqueue("kept")
    expect((await queue.claimOne("w"))?.payload).toBe("kept")
    expect((await failure(old.schedules())).code).toBe("Panicked")
    await store.close()
  })

  test("does not let a memory storage that was lost pass for an empty one", async () => {
    const storage = memory()
    await (await open({ storage })).queue("mail").enqueue("lost")
    await panic("defect")
    const outcome = await failure(open({ storage }))
    expect(outcome.code).toBe("Panicked")
    expect(outcome.message).toContain("open a new memory()")
  })
})
