// The page of the soak on IndexedDB. Its driver lets day after day pass, and measures the page in between.

import "../engines/page/watched.js"
import { transactionsUnderWay } from "./database-watch.js"
import { engineSizes } from "./engines.js"
import { databasePlace, rowsIn, type DatabaseOptions } from "./indexeddb.js"
import type { Load } from "./world.js"
import { Year } from "./year.js"

declare global {
  var watched: () => { readonly timers: readonly number[] }
}

let year: Year
let database: string

Object.assign(globalThis, {
  soak: {
    async begin(load: Load, seed: number, name: string, options: DatabaseOptions): Promise<void> {
      database = name
      year = await Year.begin(databasePlace(name, options), load, seed)
    },
    day: () => year.next(),
    end: () => year.end(),
    async sample() {
      const sample = await year.sample()
      const { jobs, payloads, others } = await rowsIn(database)
      const { timers } = watched()
      const left = { timers: timers.length, transactions: transactionsUnderWay() }
      return { ...sample, ...engineSizes(), ...left, rows: jobs + payloads + others }
    }
  }
})
