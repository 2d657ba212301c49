// The soak in Node, on memory.

import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { engineSizes } from "./engines.js"
import { memory } from "alkstore-wasm"
import { NOWHERE } from "./clock.js"
import type { Load } from "./world.js"
import { Year, type Summary } from "./year.js"

export interface Subject {
  day(): Promise<void>
  sample(): Promise<Record<string, number>>
  end(): Promise<Summary>
}

export async function begin(load: Load, seed: number): Promise<Subject> {
  const storage = memory()
  const calm = { struck: 0, arm: () => undefined, calm: () => Promise.resolve() }
  const nothing = (): Promise<void> => Promise.resolve()
  const place = { elsewhere: NOWHERE, faults: calm, adapter: () => storage, extra: nothing, audit: nothing }
  const year = await Year.begin(place, load, seed)
  return {
    day: () => year.next(),
    end: () => year.end(),
    async sample() {
      const sample = await year.sample()
      await collectGarbage()
      const { heapUsed, external } = process.memoryUsage()
      const timers = process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length
      return { ...sample, ...engineSizes(), heapBytes: heapUsed + external, timers }
    }
  }
}

setFlagsFromString("--expose-gc")
const gc = runInNewContext("gc") as () => void

// Handles of the engine that are garbage free what they held in turns of their own.
async function collectGarbage(): Promise<void> {
  for (let pass = 0; pass < 3; pass += 1) {
    gc()
    await new Promise((resolve) => void setImmediate(resolve))
  }
}
