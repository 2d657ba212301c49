// What IndexedDB costs at the least, by hand. The ordered one has what a queue with priorities needs that several tabs may
// claim from: a row for each job, and one index, in claim order, of those that nobody holds. The bare one has no index: it
// is first in first out for a single consumer, who remembers where it was.

const LEASE_MS = 300_000
const FILL_BATCH = 1_000

class Raw {
  #database
  #next = 1

  constructor(database) {
    this.#database = database
  }

  async fill(jobs, payload) {
    for (let first = 0; first < jobs; first += FILL_BATCH) {
      const payloads = Array.from({ length: Math.min(FILL_BATCH, jobs - first) }, (_, n) => payload(first + n))
      await this.#transact((store) => payloads.forEach((each) => this.#put(store, each)), "relaxed")
    }
  }

  enqueue(payload) {
    return this.#transact((store) => this.#put(store, payload))
  }

  enqueueAll(payloads) {
    return this.#transact((store) => payloads.forEach((payload) => this.#put(store, payload)))
  }

  /** The next jobs, under a lease: one row is written for each. */
  async claim(n) {
    let claimed
    await this.#transact((store, commit) => {
      this.first(store, n).onsuccess = ({ target }) => {
        claimed = target.result.map(({ id, payload }) => ({ id, payload, until: Date.now() + LEASE_MS }))
        claimed.forEach((job) => store.put(job, job.id))
        this.after(claimed)
        commit()
      }
    })
    return claimed
  }

  ack(jobs) {
    return this.#transact((store) => jobs.forEach(({ id }) => store.delete(id)))
  }

  /** The next jobs, read and deleted in one transaction: whoever dies over one loses it. */
  take(n) {
    return this.#transact((store, commit) => {
      this.first(store, n).onsuccess = ({ target }) => {
        target.result.forEach(({ id }) => store.delete(id))
        this.after(target.result)
        commit()
      }
    })
  }

  #put(store, payload) {
    const id = this.#next++
    store.put({ id, payload, ...this.place(id) }, id)
  }

  // Work that takes a second argument commits by itself.
  #transact(work, durability = "strict") {
    return new Promise((resolve, reject) => {
      const transaction = this.#database.transaction("jobs", "readwrite", { durability })
      transaction.oncomplete = () => resolve()
      transaction.onerror = transaction.onabort = () => reject(transaction.error)
      const commit = () => transaction.commit()
      work(transaction.objectStore("jobs"), commit)
      if (work.length < 2) commit()
    })
  }
}

export class Ordered extends Raw {
  static async open(name) {
    return new Ordered(await open(name, (store) => store.createIndex("ready", "ready")))
  }

  first(store, n) {
    return store.index("ready").getAll(null, n)
  }

  after() {}

  place(id) {
    return { ready: [0, Date.now(), id] }
  }
}

export class Bare extends Raw {
  #last = 0

  static async open(name) {
    return new Bare(await open(name, () => {}))
  }

  first(store, n) {
    return store.getAll(IDBKeyRange.lowerBound(this.#last, true), n)
  }

  after(taken) {
    this.#last = taken.at(-1).id
  }

  place() {
    return {}
  }
}

function open(name, more) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1)
    request.onupgradeneeded = () => more(request.result.createObjectStore("jobs"))
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
