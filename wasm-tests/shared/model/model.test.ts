// The engine on memory does what the contract says: what a list that is looked through from end to end would.

import { memory } from "alkstore-wasm"
import { test } from "vitest"
import { play, type Storages } from "./play.js"

test("random operations on memory give the model's answers, and leave its state", { timeout: 600_000 }, async () => {
  const storages = (): Storages => {
    const storage = memory()
    return [storage, storage]
  }
  await play({ storages, waits: false, runs: 100, commands: 80, command: "npx vitest run wasm-tests/shared/model" })
})
