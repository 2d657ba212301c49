// The two tabs of benches/latency.mjs. Each side of it resolves to the instants of one round, those in the other tab on
// that one's clock.

/** The name of the channel over which the package tells of its commits. */
const WAKES = "alkstore:latency"
const RAW = "latency, raw"
const STORE = "jobs"
const STRICT = { durability: "strict" }

const now = () => performance.now()

/** The tab that enqueues. */
export async function sender(outbox) {
  const raw = await database()
  const channel = new BroadcastChannel(RAW)
  const answer = () => new Promise((resolve) => {
    channel.onmessage = ({ data }) => resolve({ ...data, answered: now() })
  })
  // The other tab settles what it was given, and waits again.
  const settled = () => new Promise((resolve) => setTimeout(resolve, 30))
  const round = async (work) => {
    const answered = answer()
    const times = await work()
    const result = { ...times, ...(await answered) }
    await settled()
    return result
  }
  return {
    job: () => round(async () => {
      const called = now()
      await outbox.enqueue({ order: 7, to: "somebody@example.org" })
      return { called, committed: now() }
    }),
    handOver: () => round(async () => {
      const called = now()
      const transaction = raw.transaction(STORE, "readwrite", STRICT)
      const written = transaction.objectStore(STORE).put({ order: 7, to: "somebody@example.org" }, 1)
      // It is under way, so that the other tab's waits for it.
      written.onsuccess = () => {
        channel.postMessage("a job")
        transaction.commit()
      }
      await completed(transaction)
      return { called, committed: now() }
    }),
    message: () => round(async () => {
      const sent = now()
      channel.postMessage("echo")
      return { sent }
    })
  }
}

/** The tab that delivers. */
export async function worker(outbox) {
  const raw = await database()
  const channel = new BroadcastChannel(RAW)
  channel.onmessage = async ({ data }) => {
    const heard = now()
    if (data === "echo") channel.postMessage({ echoed: heard })
    else channel.postMessage({ heard, looked: heard, delivered: await claim(raw) })
  }
  let heard = 0
  new BroadcastChannel(WAKES).onmessage = () => {
    heard = now()
  }
  const work = async () => {
    while (await outbox.wait()) {
      const looked = now()
      await outbox.runOnce("worker", () => channel.postMessage({ heard, looked, delivered: now() }))
    }
  }
  void work()
}

// The first job, under a lease; resolves to when that was durable.
async function claim(raw) {
  const transaction = raw.transaction(STORE, "readwrite", STRICT)
  const store = transaction.objectStore(STORE)
  store.get(1).onsuccess = ({ target }) => {
    store.put({ ...target.result, leased: Date.now() }, 1)
    transaction.commit()
  }
  await completed(transaction)
  return now()
}

function completed(transaction) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = resolve
    transaction.onabort = () => reject(transaction.error)
  })
}

function database() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(RAW, 1)
    request.onupgradeneeded = () => request.result.createObjectStore(STORE)
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
