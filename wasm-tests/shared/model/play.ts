// Plays random commands on a storage and on the model. A failure shrinks, and prints how to repeat it.

import type { StorageAdapter } from "alkstore-wasm"
import fc from "fast-check"
import type { Stamps } from "./model.js"
import { commandsFor } from "./commands.js"
import { compare, start } from "./world.js"

export type Storages = [StorageAdapter, StorageAdapter]

export interface Play {
  /** Two adapters of one storage, of a new one each time. */
  storages: () => Storages
  /** Whether an operation is more than a call. */
  waits: boolean
  runs: number
  /** At most this many in a run. */
  commands: number
  /** The command that runs this test. */
  command: string
}

// The same every time, unless more is asked for: FUZZ_RUNS=10000 FUZZ_SEED=7.
const { FUZZ_RUNS, FUZZ_SEED } = import.meta.env as Record<string, string | undefined>

const stamps: fc.Arbitrary<Partial<Stamps>> = fc.record(
  {
    visibilityTimeout: fc.constantFrom(-1, 0, 1_000, 30_000),
    maxAttempts: fc.integer({ min: 0, max: 4 }),
    backoffBase: fc.constantFrom(0, 1, 2_000, 7_200_000),
    deadLetterRetention: fc.constantFrom(0, 5_000, 120_000),
  },
  { requiredKeys: [] },
)

export async function play({ storages, waits, runs, commands, command }: Play): Promise<void> {
  const seed = Number(FUZZ_SEED ?? 1)
  const numRuns = Number(FUZZ_RUNS ?? runs)
  const script = fc.commands(commandsFor({ waits }), { maxCommands: commands, size: "max" })
  const property = fc.asyncProperty(
    fc.array(stamps, { minLength: 2, maxLength: 2 }),
    script,
    async (options, script) => {
      const world = await start(storages(), options)
      try {
        await fc.asyncModelRun(() => ({ model: {}, real: world }), script)
        await compare(world, 0)
        await compare(world, 1)
        if (world.clock.pending > 0) throw new Error(`${world.clock.pending} sleep on`)
      } finally {
        for (const store of world.stores) await store.close()
      }
    },
  )
  try {
    await fc.assert(property, { seed, numRuns })
  } catch (error) {
    const repeat = `FUZZ_SEED=${seed} FUZZ_RUNS=${numRuns} ${command}`
    throw new Error(`${(error as Error).message}\n\nto repeat it: ${repeat}`, { cause: (error as Error).cause })
  }
}
