// Wakes: a message to the other contexts beside a commit. A hint, which nobody needs: without BroadcastChannel everybody
// looks again at the next deadline.
//
// A message costs as much as a request to the database, and mostly nobody is there to hear it. So as long as no other
// context is known to listen, a topic is told once in ASK_EVERY_MS, with the question who listens, and is kept back in
// between. Who listens answers. Who begins to listen says so, and only then looks at the storage for the first time.
// Whoever hears of a listener tells at once what it has kept back, and from then on everything. So a listener misses
// nothing, whatever is under way when it begins:
// - a commit that was asked for before its first look is in line before that look;
// - if a later one was kept back, its context had not yet heard of the listener: it does, and tells;
// - it does not if it had no channel then, but what it told first, with the question, came after: the listener answers.
// Nor does it if it was out of reach, as a page in the back/forward cache is, or the listener was. A page that comes back
// begins anew, as a listener too, and has everybody here look.
//
// Browsers keep no page there that has a channel open, or throw it out at the first message. So it is closed as the page
// goes away. The page runs for a moment longer: whoever begins to listen then says so at the return, for it could not
// hear anything. But what is committed is told at once, on a channel for that alone, since somebody elsewhere may wait
// for it now; and told whole, because nobody's answer would be heard.

/** How often one that knows of no listener tells of a topic, and asks. */
const ASK_EVERY_MS = 1_000

/** Whoever has said so long ago that it listens may be gone: it is asked again. */
const LISTENER_MS = 10_000

/** So many topics are kept apart; with more, everything is told. */
const TOPICS_MAX = 64

/** Said by who begins to listen, and to whoever asks. */
const LISTENING = "listening"

// Of the words that src/wasm/keyed.rs has for topics: how they begin, and one for all of them.
const READY = /^r/
const QUEUE = "q"
export const EVERYTHING = "*"

/** A page leaves, perhaps for the back/forward cache, and comes, perhaps from there. */
const PAGE_EVENTS = ["pagehide", "pageshow"] as const

/** Topics, and the question who listens. */
interface Question {
  ask: string[]
}

export class WakeChannel {
  readonly #name: string
  readonly #heard: (topic: string) => void
  #channel: BroadcastChannel | null = null
  #listens = false
  /** On its way into the back/forward cache, or there. */
  #isAway = false
  /** When another context last said that it listens. */
  #listenedAt = Number.NEGATIVE_INFINITY
  /** While none does: when each topic was last told, and whether it was kept back since. */
  readonly #told = new Map<string, { at: number; isKeptBack: boolean }>()

  constructor(database: string, heard: (topic: string) => void) {
    this.#name = `alkstore:${database}`
    this.#heard = heard
  }

  /** Somebody here is going to wait for wakes, and has not looked yet. */
  listen(): void {
    if (!this.#isAway) {
      this.#open()
      if (this.#channel === null || this.#listens) return
      this.#post(LISTENING)
    }
    this.#listens = true
  }

  tell(topics: string[]): void {
    this.#open()
    if (this.#channel === null) return
    if (this.#isAway) {
      this.#post(topics)
      return this.#hangUp()
    }
    const now = performance.now()
    if (Math.abs(now - this.#listenedAt) < LISTENER_MS) return this.#post(topics)
    const ask = topics.filter((topic) => this.#isDue(topic, now))
    if (ask.length > 0) this.#post({ ask })
    if (this.#told.size >= TOPICS_MAX) this.#tellAll()
  }

  close(): void {
    this.#startAnew()
    this.#hangUp()
    this.#listens = this.#isAway = false
    for (const type of PAGE_EVENTS) globalThis.removeEventListener?.(type, this.#onPage)
  }

  #open(): void {
    if (this.#channel !== null || typeof BroadcastChannel !== "function") return
    try {
      this.#channel = new BroadcastChannel(this.#name)
    } catch {
      return // Forbidden, in a sandboxed frame for example.
    }
    this.#channel.onmessage = ({ data }: MessageEvent) => this.#hear(data)
    // Node's would keep the process alive.
    ;(this.#channel as { unref?: () => void }).unref?.()
    for (const type of PAGE_EVENTS) globalThis.addEventListener?.(type, this.#onPage)
  }

  #hangUp(): void {
    this.#channel?.close()
    this.#channel = null
  }

  readonly #onPage = ({ type, persisted }: PageTransitionEvent): void => {
    if (!persisted) return
    this.#startAnew()
    this.#isAway = type === PAGE_EVENTS[0]
    if (this.#isAway) return this.#hangUp()
    // What others said meanwhile was lost.
    this.#open()
    if (this.#listens) this.#post(LISTENING)
    this.#heard(EVERYTHING)
  }

  /** As if nobody were known. */
  #startAnew(): void {
    this.#tellKept()
    this.#listenedAt = Number.NEGATIVE_INFINITY
  }

  #post(message: string[] | Question | typeof LISTENING): void {
    try {
      this.#channel?.postMessage(message)
    } catch {
      // The document has been taken down.
    }
  }

  /** Whether a topic is told now, and not kept back. */
  #isDue(topic: string, now: number): boolean {
    const told = this.#told.get(topic)
    if (told !== undefined && Math.abs(now - told.at) < ASK_EVERY_MS) {
      told.isKeptBack = true
      return false
    }
    this.#told.set(topic, { at: now, isKeptBack: false })
    return true
  }

  #tellAll(): void {
    this.#listenedAt = performance.now()
    this.#tellKept()
  }

  // A job that was ready may have been claimed since: whoever waits for one is to look.
  #tellKept(): void {
    const kept = [...this.#told].filter(([, { isKeptBack }]) => isKeptBack).map(([topic]) => topic.replace(READY, QUEUE))
    this.#told.clear()
    if (kept.length > 0) this.#post(kept)
  }

  // Anybody of the origin may post here.
  #hear(data: unknown): void {
    if (data === LISTENING) return this.#tellAll()
    const asked = (data as Partial<Question> | null)?.ask
    if (asked !== undefined && this.#listens) this.#post(LISTENING)
    const topics: unknown = asked ?? data
    if (Array.isArray(topics)) for (const topic of topics) if (typeof topic === "string") this.#heard(topic)
  }
}
