// The engine on IndexedDB does what the contract says, in two stores with connections of their own.

import { indexedDb } from "alkstore-wasm/indexeddb"
import { test } from "vitest"
import { freshName } from "../../shared/databases.js"
import { play, type Storages } from "../../shared/model/play.js"

const RELAXED = { durability: "relaxed" } as const

test("random operations on IndexedDB give the model's answers, and leave its state", { timeout: 600_000 }, async () => {
  const storages = (): Storages => {
    const name = freshName()
    return [indexedDb(name, RELAXED), indexedDb(name, RELAXED)]
  }
  await play({
    storages,
    waits: true,
    runs: 20,
    commands: 50,
    command: "npx vitest run --config vitest.browser.config.mjs wasm-tests/browser/indexeddb/model",
  })
})
