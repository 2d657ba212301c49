// The little of WebDriver that the tests need. One command at a time, because each is about the current window.

import { createServer } from "node:net"
import { expressionOf, resultOf } from "./evaluate.mjs"
import { start } from "./processes.mjs"

const READY_MS_MAX = 10_000
const COMMAND_MS_MAX = 40_000
const LOOK_MS = 10

// A script that waits would hold up every other tab, so it leaves its result in the page, and is asked for it.
const BEGIN = `
  const [key, expression] = arguments
  const results = (globalThis.__results ??= new Map())
  ;(0, eval)(expression).then((text) => results.set(key, text))`
const TAKE = `
  const text = globalThis.__results?.get(arguments[0]) ?? null
  globalThis.__results?.delete(arguments[0])
  return text`

/** Starts the driver `program`, and a session in it. */
export async function startSession(program, capabilities, env) {
  const port = await freePort()
  const child = start(program, [`--port=${port}`, "--host=127.0.0.1"], { env })
  const address = `http://127.0.0.1:${port}`
  await ready(address, child)
  const { sessionId } = await command("POST", `${address}/session`, { capabilities: { alwaysMatch: capabilities } })
  const session = `${address}/session/${sessionId}`
  return new Session(session, child.pid, await command("GET", `${session}/window`))
}

class Session {
  #turn = Promise.resolve()
  #last = 0

  constructor(address, pid, firstHandle) {
    this.address = address
    this.pid = pid
    this.firstHandle = firstHandle
  }

  /** Opens `url` in a window of its own: a tab behind another would be hidden, and its timers slowed. */
  async open(url) {
    // From the session's first window, since the current one may have been closed.
    const handle = await this.#in(this.firstHandle, async () => {
      const { handle } = await this.#post("window/new", { type: "window" })
      await this.#post("window", { handle })
      await this.#post("url", { url })
      return handle
    })
    return {
      evaluate: (what, ...args) => this.#evaluate(handle, expressionOf(what, args)),
      close: () => this.#in(handle, () => command("DELETE", `${this.address}/window`))
    }
  }

  end() {
    return this.#alone(() => command("DELETE", this.address))
  }

  async #evaluate(handle, expression) {
    const key = `${++this.#last}`
    await this.#in(handle, () => this.#post("execute/sync", { script: BEGIN, args: [key, expression] }))
    for (;;) {
      const text = await this.#in(handle, () => this.#post("execute/sync", { script: TAKE, args: [key] }))
      if (text !== null) return resultOf(text)
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
  }

  #in(handle, work) {
    return this.#alone(async () => {
      await this.#post("window", { handle })
      return work()
    })
  }

  #alone(work) {
    const result = this.#turn.then(work)
    this.#turn = result.catch(() => {})
    return result
  }

  #post(path, body) {
    return command("POST", `${this.address}/${path}`, body)
  }
}

async function command(method, url, body) {
  const signal = AbortSignal.timeout(COMMAND_MS_MAX)
  const response = await fetch(url, { method, signal, body: body && JSON.stringify(body) })
  const { value } = await response.json()
  if (!response.ok) throw new Error(`${method} ${new URL(url).pathname}: ${value.error}: ${value.message}`)
  return value
}

async function ready(address, child) {
  const until = Date.now() + READY_MS_MAX
  for (;;) {
    try {
      return await command("GET", `${address}/status`)
    } catch (error) {
      if (child.exitCode !== null || Date.now() > until) throw new Error("the driver does not answer", { cause: error })
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().on("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}
