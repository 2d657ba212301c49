// Turns of the event loop. What never leaves the microtask queue lets no timer, no signal of one and no I/O run.

// The runtime's own, also where this is loaded under fake timers: a turn must stay one. Nobody fakes channels, but in Node
// a new one for each turn takes nine times as long as its setImmediate, and one that lasts has all its messages handled in
// a single turn. Jest's jsdom has neither, and yet the process that it runs in.
const { setImmediate: found, setTimeout: timeout } = globalThis
const immediate = isNodes(found) ? found : nodesOwn()

// Of the module, which Sinon and node:test fake too.
function nodesOwn(): typeof setImmediate | undefined {
  try {
    const own = globalThis.process?.getBuiltinModule?.("node:timers")?.setImmediate
    return isNodes(own) ? own : undefined
  } catch {
    return undefined // Next.js has a process in its edge routes of which nothing may be called.
  }
}

// By what `promisify` looks for, which those of node:test lack.
function isNodes(given: unknown): given is typeof setImmediate {
  return isReal(given) && Symbol.for("nodejs.util.promisify.custom") in (given as object)
}

// Those of Vitest, Jest and Sinon have their clock with them.
function isReal(timer: unknown): boolean {
  return typeof timer === "function" && !("clock" in timer || "_isMockFunction" in timer)
}

/** Lets the event loop have a turn. */
export function macrotask(): Promise<void> {
  if (immediate !== undefined) return new Promise((resolve) => void immediate(resolve))
  const channel = messageChannel()
  if (channel === null) {
    const later = isReal(timeout) ? timeout : setTimeout
    return new Promise((resolve) => void later(resolve, 0))
  }
  return new Promise((resolve) => {
    const { port1, port2 } = channel
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(null)
  })
}

// There may be none, or one that may not be made.
function messageChannel(): MessageChannel | null {
  try {
    return new MessageChannel()
  } catch {
    return null
  }
}

let given = 0

/** How many turns were given so far. */
export function turnsGiven(): number {
  return given
}

/**
 * Gives the event loop a turn in the middle of much work. None under fake timers: who moves those waits for all that they
 * start, for a turn or two.
 */
export async function giveTurn(): Promise<void> {
  if (!isReal(globalThis.setTimeout)) return
  given += 1
  // Where a platform has none to give, as workerd outside of a request, the work goes on.
  await macrotask().catch(() => undefined)
}
