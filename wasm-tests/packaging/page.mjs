// A realm like a page's or a worker's, for scripts: the platform's own functions, and none of Node's.

import { setTimeout as wait } from "node:timers/promises"
import { createContext, Script } from "node:vm"

const PLATFORM = ["TextDecoder", "TextEncoder", "URL", "atob", "clearTimeout", "crypto", "queueMicrotask"]
const MORE = ["MessageChannel", "AbortController", "AbortSignal", "performance", "setTimeout", "structuredClone"]
const WAIT_MS_MAX = 10_000

/** Runs the classic script `text` in a new realm and resolves to the first line that it logs. */
export async function runInPage(text, { without = [] } = {}) {
  const logged = Promise.withResolvers?.() ?? withResolvers()
  const globals = { console: { log: logged.resolve, warn: logged.reject, error: logged.reject } }
  for (const name of [...PLATFORM, ...MORE]) if (!without.includes(name)) globals[name] = globalThis[name]
  const context = createContext(globals)
  context.self = context.globalThis = context
  const fail = (error) => logged.reject(error)
  process.on("unhandledRejection", fail)
  const late = new AbortController()
  try {
    new Script(text).runInContext(context)
    const timeout = wait(WAIT_MS_MAX, null, { signal: late.signal }).then(() => {
      throw new Error(`logged nothing within ${WAIT_MS_MAX} ms`)
    })
    return await Promise.race([logged.promise, timeout])
  } finally {
    late.abort()
    process.off("unhandledRejection", fail)
  }
}

function withResolvers() {
  let resolve, reject
  const promise = new Promise((...both) => ([resolve, reject] = both))
  return { promise, resolve, reject }
}
