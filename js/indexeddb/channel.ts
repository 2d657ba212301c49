// Wakes: a message to the other contexts after a commit. A hint, which nobody needs: without BroadcastChannel everybody
// looks again at the next deadline.

export class WakeChannel {
  readonly #name: string
  readonly #heard: (topic: string) => void
  #channel: BroadcastChannel | null = null

  constructor(database: string, heard: (topic: string) => void) {
    this.#name = `alkstore:${database}`
    this.#heard = heard
  }

  open(): void {
    if (this.#channel !== null || typeof BroadcastChannel !== "function") return
    try {
      this.#channel = new BroadcastChannel(this.#name)
    } catch {
      return // Forbidden, in a sandboxed frame for example.
    }
    this.#channel.onmessage = ({ data }: MessageEvent) => this.#hear(data)
    // Node's would keep the process alive.
    ;(this.#channel as { unref?: () => void }).unref?.()
  }

  post(topics: string[]): void {
    this.open()
    try {
      this.#channel?.postMessage(topics)
    } catch {
      // The document has been taken down.
    }
  }

  close(): void {
    this.#channel?.close()
    this.#channel = null
  }

  // Anybody of the origin may post here.
  #hear(data: unknown): void {
    if (!Array.isArray(data)) return
    for (const topic of data) if (typeof topic === "string") this.#heard(topic)
  }
}
