// Signals whose listeners are counted: the runtime's own, and one that is used again and again for a year.

type Listener = (event: unknown) => void

export class Signals {
  /** Listeners on all signals that were ever made here. */
  listeners = 0

  /** One of the runtime's own. */
  controller(): AbortController {
    const controller = new AbortController()
    const { signal } = controller
    const mine = new Set<unknown>()
    const { addEventListener, removeEventListener } = signal
    signal.addEventListener = (type: string, listener: any) => {
      this.#note(mine, listener, true)
      addEventListener.call(signal, type, listener)
    }
    signal.removeEventListener = (type: string, listener: any) => {
      this.#note(mine, listener, false)
      removeEventListener.call(signal, type, listener)
    }
    return controller
  }

  /** As little of one as may be given, which can be used again after it was aborted. */
  reusable(): Reusable {
    const mine = new Set<unknown>()
    const signal = {
      aborted: false,
      addEventListener: (_: string, listener: Listener) => this.#note(mine, listener, true),
      removeEventListener: (_: string, listener: Listener) => this.#note(mine, listener, false)
    }
    return {
      signal: signal as unknown as AbortSignal,
      abort() {
        signal.aborted = true
        for (const listener of [...mine]) (listener as Listener)({ type: "abort" })
      },
      rearm() {
        signal.aborted = false
      }
    }
  }

  #note(mine: Set<unknown>, listener: unknown, isAdded: boolean): void {
    const before = mine.size
    if (isAdded) mine.add(listener)
    else mine.delete(listener)
    this.listeners += mine.size - before
  }
}

export interface Reusable {
  readonly signal: AbortSignal
  abort(): void
  rearm(): void
}
