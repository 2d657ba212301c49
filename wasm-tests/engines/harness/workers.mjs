// Workers, as more contexts to evaluate in. What they are asked goes through a tab, in every engine alike.

import { expressionOf, resultOf } from "./evaluate.mjs"

/** Starts a worker of a `kind`: "dedicated", "shared" or "service". Resolves to `{ evaluate }`, like a tab's. */
export async function startWorker(kind, tab) {
  const evaluate = async (what, ...args) => resultOf(await tab.evaluate(ask, kind, expressionOf(what, args)))
  // It runs when it answers.
  await evaluate("null")
  return { evaluate }
}

// Evaluated in the tab.
async function ask(kind, expression) {
  const url = "/pages/context.worker.js"
  const started = {
    dedicated: () => (globalThis.dedicated ??= new Worker(url)),
    shared: () => (globalThis.shared ??= new SharedWorker(url)).port,
    async service() {
      await navigator.serviceWorker.register(url, { scope: "/" })
      return (await navigator.serviceWorker.ready).active
    }
  }
  const target = await started[kind]()
  const { port1, port2 } = new MessageChannel()
  const answer = new Promise((resolve) => {
    port1.onmessage = ({ data }) => resolve(data)
  })
  target.postMessage(expression, [port2])
  return answer
}
