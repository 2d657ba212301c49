// The engine on rows under keys does what the contract says, over an IndexedDB in memory.

import "fake-indexeddb/auto"
import { indexedDb } from "alkstore-wasm/indexeddb"
import { test } from "vitest"
import { freshName } from "../../shared/databases.js"
import { play, type Storages } from "../../shared/model/play.js"

test("random operations on IndexedDB give the model's answers, and leave its state", { timeout: 600_000 }, async () => {
  const storages = (): Storages => {
    const name = freshName()
    return [indexedDb(name), indexedDb(name)]
  }
  await play({
    storages,
    waits: true,
    runs: 20,
    commands: 50,
    command: "npx vitest run wasm-tests/node/indexeddb/model",
  })
})
