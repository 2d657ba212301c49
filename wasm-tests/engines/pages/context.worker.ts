// A worker of any kind, for tests that evaluate in it by messages from a page: each is an expression, whose text goes
// back.

import "../page/globals.js"

interface Asked extends MessageEvent<string> {
  /** A service worker's. */
  waitUntil?(done: Promise<unknown>): void
}

function answer(event: Asked): void {
  const evaluated = (0, eval)(event.data) as Promise<string>
  const answered = evaluated.then((text) => event.ports[0]!.postMessage(text))
  event.waitUntil?.(answered)
}

addEventListener("message", (event) => answer(event as Asked))
// A shared worker's.
addEventListener("connect", (event) => {
  const [port] = (event as MessageEvent).ports
  port!.onmessage = answer
})
// A service worker's.
addEventListener("install", () => void (globalThis as unknown as { skipWaiting(): Promise<void> }).skipWaiting())
