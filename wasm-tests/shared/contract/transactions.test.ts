import { describe, expect, test } from "vitest"
import type { Transaction } from "alkstore-wasm"
import { START, claim, follow, gate, ids, must, payloads, rejection, start, startQueue, untyped } from "../support.js"

describe("a commit", () => {
  test("applies all of it: queues and outboxes", async () => {
    const { store } = await start()
    const given = await store.transaction(async (tx) => [
      await tx.enqueue("mail", "a"),
      await tx.outboxEnqueue("orders", "b"),
      await tx.enqueue("other", "c", { delay: 5, priority: 2 }),
    ])
    expect(await store.queue("mail").list()).toMatchObject([{ id: given[0], payload: "a" }])
    expect(await store.outbox("orders").list()).toMatchObject([
      { id: given[1], payload: "b", queue: "__alkstore_outbox:orders" },
    ])
    expect(await store.queue("other").list()).toMatchObject([
      { id: given[2], payload: "c", runAt: START + 5, priority: 2 },
    ])
  })

  test("happens after the body, not before: other readers see nothing until then", async () => {
    const { store, queue, clock, reopen } = await startQueue()
    const other = (await reopen()).queue("mail")
    const hold = gate()
    const commit = follow(store.transaction(async (tx) => {
      await tx.enqueue("mail", "a")
      await tx.outboxEnqueue("mail", "b")
      await hold.opened
    }))
    await clock.settle()
    for (const source of [queue, other, store.outbox("mail")]) {
      expect(await source.list()).toEqual([])
      expect(await source.stats()).toMatchObject({ pending: 0, ready: 0, nextDeadline: null })
    }
    expect(await queue.claimOne("w1")).toBe(null)
    hold.open()
    await clock.settle()
    expect(commit.state).toBe("resolved")
    expect(await other.list()).toHaveLength(1)
    expect(await store.outbox("mail").list()).toHaveLength(1)
  })

  test("gives what the body returned, itself", async () => {
    const { store } = await start()
    const result = { fn: () => 1 }
    expect(await store.transaction(() => result)).toBe(result)
    expect(await store.transaction(async () => result)).toBe(result)
    expect(await store.transaction(() => {})).toBe(undefined)
  })

  test("of nothing is a commit too", async () => {
    const { store } = await start()
    expect(await store.transaction(async (tx) => (await tx.get("mail", 1)) === null)).toBe(true)
  })
})

describe("a rollback", () => {
  const boom = new Error("boom")
  const VALUES: [what: string, value: unknown][] = [
    ["an Error", boom], ["a string", "boom"], ["undefined", undefined], ["null", null],
    ["a symbol", Symbol.for("boom")],
    ["an object without a prototype", Object.create(null)],
  ]

  test.each(VALUES)("follows %s, thrown or rejected, which comes out unchanged", async (_, value) => {
    const { store, queue } = await startQueue()
    for (const leave of [() => { throw value }, () => Promise.reject(value)]) {
      const caught = await store
        .transaction(async (tx) => {
          await tx.enqueue("mail", 1)
          await tx.outboxEnqueue("mail", 2)
          await leave()
        })
        .then(() => ["committed"], (error: unknown) => ["threw", error])
      expect(caught[0]).toBe("threw")
      expect(caught[1]).toBe(value)
    }
    expect(await queue.list()).toEqual([])
    expect(await store.outbox("mail").list()).toEqual([])
  })

  test("follows a throw of a body that is not async", async () => {
    const { store, queue } = await startQueue()
    const call = (): Promise<unknown> => store.transaction((tx) => {
      void tx.enqueue("mail", 1)
      throw boom
    })
    await expect(call()).rejects.toBe(boom)
    expect(await queue.list()).toEqual([])
  })

  test("follows an error of a call that the body does not catch", async () => {
    const { store, queue } = await startQueue()
    const error = await rejection(() => store.transaction(async (tx) => {
      await tx.enqueue("mail", 1)
      await tx.enqueue("mail", 2, { delay: NaN })
    }))
    expect(error.code).toBe("InvalidArgument")
    expect(await queue.list()).toEqual([])
  })

  test("does not give its ids again", async () => {
    const { store, queue } = await startQueue()
    const seen: number[] = []
    for (let i = 0; i < 3; i++) {
      await store
        .transaction(async (tx) => {
          seen.push(await tx.enqueue("mail", null), await tx.outboxEnqueue("mail", null))
          throw boom
        })
        .catch(() => {})
      seen.push(await queue.enqueue(null))
    }
    expect(new Set(seen).size).toBe(9)
    expect(seen).toEqual([...seen].sort((a, b) => a - b))
  })

  test("leaves alone what the body did outside of it", async () => {
    const { store, queue } = await startQueue()
    await store
      .transaction(async (tx) => {
        await tx.enqueue("mail", "staged")
        await queue.enqueue("direct")
        throw boom
      })
      .catch(() => {})
    expect(payloads(await queue.list())).toEqual(["direct"])
  })
})

describe("reads inside", () => {
  test("see the transaction's own writes", async () => {
    const { store } = await start()
    await store.transaction(async (tx) => {
      const id = await tx.enqueue("mail", { to: "a" }, { priority: 3 })
      expect(await tx.get("mail", id)).toMatchObject({
        id,
        queue: "mail",
        payload: { to: "a" },
        priority: 3,
        state: "pending",
        createdAt: START,
      })
      expect(await tx.get("other", id)).toBe(null)
      expect(await tx.get("mail", id + 1000)).toBe(null)
    })
  })

  test("see what is stored, and get a copy", async () => {
    const { store, queue } = await startQueue<{ to: string[] }>()
    const id = await queue.enqueue({ to: ["a"] })
    await store.transaction(async (tx) => {
      const job = must(await tx.get<{ to: string[] }>("mail", id))
      job.payload.to.push("b")
      const own = await tx.enqueue("mail", { to: ["c"] })
      must(await tx.get<{ to: string[] }>("mail", own)).payload.to.push("d")
    })
    expect(payloads(await queue.list())).toEqual([{ to: ["a"] }, { to: ["c"] }])
  })

  test("do not see another open transaction's writes", async () => {
    const { store, clock } = await start()
    const hold = gate()
    let staged = 0
    const first = follow(store.transaction(async (tx) => {
      staged = await tx.enqueue("mail", null)
      await hold.opened
    }))
    await clock.settle()
    expect(await store.transaction((tx) => tx.get("mail", staged))).toBe(null)
    hold.open()
    await clock.settle()
    expect(first.state).toBe("resolved")
    expect(await store.transaction((tx) => tx.get("mail", staged))).not.toBe(null)
  })
})

test("each enqueue reads the clock when it is called", async () => {
  const { store, queue, clock } = await startQueue()
  await store.transaction(async (tx) => {
    await tx.enqueue("mail", null, { delay: 10 })
    clock.set(START + 500)
    await tx.enqueue("mail", null, { delay: 10, expires: 20 })
    clock.set(START + 900)
  })
  expect(await queue.list()).toMatchObject([
    { createdAt: START, runAt: START + 10, expiresAt: null },
    { createdAt: START + 500, runAt: START + 510, expiresAt: START + 520 },
  ])
})

describe("a call made before the body ends belongs to the transaction, awaited or not", () => {
  test("from a body that is async", async () => {
    const { store, queue } = await startQueue()
    await store.transaction(async (tx) => {
      void tx.enqueue("mail", 1)
      await null
      void tx.enqueue("mail", 2)
    })
    expect(payloads(await queue.list())).toEqual([1, 2])
  })

  test("from one that is not", async () => {
    const { store, queue } = await startQueue()
    let enqueued: Promise<number> | undefined
    await store.transaction((tx) => {
      enqueued = tx.enqueue("mail", 1)
      void tx.outboxEnqueue("mail", 2)
    })
    expect(ids(await queue.list())).toEqual([await enqueued])
    expect(await store.outbox("mail").list()).toHaveLength(1)
  })

  test("in the order made", async () => {
    const { store, queue } = await startQueue()
    const given = await store.transaction((tx) => Promise.all([1, 2, 3].map((payload) => tx.enqueue("mail", payload))))
    expect(given).toEqual([...given].sort((a, b) => a - b))
    expect(payloads(await queue.list())).toEqual([1, 2, 3])
  })
})

test("a call made after the body has ended is Closed, and stores nothing", async () => {
  const { store, queue } = await startQueue()
  const leaked: Transaction[] = []
  await store.transaction((tx) => void leaked.push(tx))
  await store.transaction((tx) => {
    leaked.push(tx)
    throw new Error("boom")
  }).catch(() => {})
  expect(leaked).toHaveLength(2)
  for (const tx of leaked) {
    expect(await rejection(() => tx.enqueue("mail", 1))).toMatchObject({ code: "Closed" })
    expect(await rejection(() => tx.outboxEnqueue("mail", 1))).toMatchObject({ code: "Closed" })
    expect(await rejection(() => tx.get("mail", 1))).toMatchObject({ code: "Closed" })
  }
  expect(await queue.list()).toEqual([])
})

test("an open transaction blocks nobody", async () => {
  const { store, queue, clock, reopen } = await startQueue()
  const other = await reopen()
  const hold = gate()
  const open = follow(store.transaction(async (tx) => {
    await tx.enqueue("mail", "staged")
    await hold.opened
  }))
  await clock.settle()
  await queue.enqueue("direct")
  expect(await (await claim(queue)).ack()).toBe(true)
  expect(await store.tryLock("report", "tab", 1000)).not.toBe(null)
  await store.schedule("report", "@every 1s", "mail", null)
  await other.queue("mail").enqueue("from elsewhere")
  await store.transaction((tx) => tx.enqueue("mail", "another transaction"))
  expect(await store.outbox("mail").runOnce("w1", () => {})).toBe(false)
  hold.open()
  await clock.settle()
  expect(open.state).toBe("resolved")
  expect(payloads(await queue.list()).sort()).toEqual(["another transaction", "from elsewhere", "staged"])
})

test("a transaction inside a transaction is one of its own", async () => {
  const { store, queue } = await startQueue()
  await store
    .transaction(async (outer) => {
      await outer.enqueue("mail", "outer")
      await store.transaction((inner) => inner.enqueue("mail", "inner"))
      throw new Error("boom")
    })
    .catch(() => {})
  expect(payloads(await queue.list())).toEqual(["inner"])
})

test("the body is called once", async () => {
  const { store } = await start()
  let calls = 0
  await store.transaction(() => void calls++)
  await store.transaction(() => {
    calls++
    throw new Error("boom")
  }).catch(() => {})
  expect(calls).toBe(2)
})

test("a committed job is like any other: claimed, retried, buried", async () => {
  const { store, queue } = await startQueue()
  const id = await store.transaction((tx) => tx.enqueue("mail", "letter"))
  const job = await claim(queue)
  expect(job).toMatchObject({ id, payload: "letter", claimExpiresAt: START + 300_000 })
  expect(await job.retry(null, 0)).toBe(true)
  expect(await (await claim(queue)).fail("no")).toBe(true)
  expect(await queue.get(id)).toMatchObject({ state: "dead", lastError: "no" })
})

test("many transactions at once keep apart", async () => {
  const { store, queue } = await startQueue<number>()
  const outcomes = await Promise.allSettled(
    Array.from({ length: 50 }, (_, i) =>
      store.transaction(async (tx) => {
        await tx.enqueue("mail", i)
        await null
        await tx.enqueue("mail", i)
        if (i % 2) throw new Error("odd")
      }),
    ),
  )
  expect(outcomes.filter((outcome) => outcome.status === "fulfilled")).toHaveLength(25)
  const left = payloads(await queue.list()) as number[]
  expect(left).toHaveLength(50)
  expect(left.every((payload) => payload % 2 === 0)).toBe(true)
})

test("a transaction's own options are checked as everywhere", async () => {
  const { store } = await start()
  expect(
    await rejection(() => store.transaction((tx) => tx.enqueue("mail", null, untyped({ colour: 1 })))),
  ).toMatchObject({ code: "InvalidArgument" })
  expect(
    await rejection(() => store.transaction((tx) => tx.outboxEnqueue("mail", null, { priority: 0.5 }))),
  ).toMatchObject({ code: "InvalidArgument" })
})
