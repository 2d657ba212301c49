// What stands in for Vitest in a page: as much of it as the tests in wasm-tests/browser and their helpers use, so that
// the same files run in every engine.

import { restoreAllMocks, spyOn } from "@vitest/spy"
import { expect, onTestFinished, test as register } from "./test.js"

type Body = (...row: unknown[]) => void | Promise<void>

const WAIT = { timeout: 1000, interval: 50 }

const path: string[] = []
const stubbed = new Map<string, unknown>()

export { expect, onTestFinished }

export const test = withEach((name, body) => register([...path, name].join(" > "), async () => body()))

export const describe = withEach((name, body) => {
  path.push(name)
  void body()
  path.pop()
})

export const vi = {
  restoreAllMocks,
  spyOn,

  async waitFor<T>(look: () => T | Promise<T>, options: Partial<typeof WAIT> = {}): Promise<T> {
    const { timeout, interval } = { ...WAIT, ...options }
    const until = performance.now() + timeout
    for (;;) {
      try {
        return await look()
      } catch (error) {
        if (performance.now() > until) throw error
      }
      await new Promise((resolve) => setTimeout(resolve, interval))
    }
  },

  stubGlobal(name: string, value: unknown): void {
    if (!stubbed.has(name)) stubbed.set(name, Reflect.get(globalThis, name))
    Reflect.set(globalThis, name, value)
  },

  unstubAllGlobals(): void {
    for (const [name, value] of stubbed) Reflect.set(globalThis, name, value)
    stubbed.clear()
  }
}

function withEach(define: (name: string, body: Body) => void) {
  const each = (rows: readonly unknown[]) => (name: string, body: Body) => {
    for (const row of rows) {
      const values: unknown[] = Array.isArray(row) ? row : [row]
      define(formatted(name, values), () => body(...values))
    }
  }
  return Object.assign(define, { each })
}

function formatted(name: string, values: readonly unknown[]): string {
  let at = 0
  return name.replace(/%[sdioj]/g, (sign) => {
    const value = values[at++]
    return sign === "%j" || sign === "%o" ? (JSON.stringify(value) ?? "undefined") : String(value)
  })
}
