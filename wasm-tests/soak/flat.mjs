// Flat: what was measured at the end is at most a margin over what was measured once a quarter of the time had passed.

const MB = 1_000_000
const KB_64 = 65_536

/** How much more each measure may be, by its name: a share of what it was, and so much on top. */
const MARGINS = {
  listeners: { share: 0, more: 0 },
  sleepers: { share: 0, more: 0 },
  timers: { share: 0, more: 0 },
  transactions: { share: 0, more: 0 },
  engineBytes: { share: 0, more: 8 * KB_64 },
  engineTableSlots: { share: 0, more: 1_024 },
  heapBytes: { share: 0.05, more: 2 * MB },
  pageListeners: { share: 0, more: 8 },
  jobs: { share: 0.5, more: 100 },
  rows: { share: 0.5, more: 100 },
  diskBytes: { share: 1, more: 8 * MB }
}

/** What is nothing whenever nobody is at work. */
const NOTHING = ["listeners", "sleepers", "timers", "transactions"]

/** Sentences about what is not flat in `samples`, which were taken at equal distances. */
export function notFlat(samples) {
  if (samples.length === 0) return []
  const reference = samples[Math.ceil(samples.length / 4) - 1]
  const last = samples.at(-1)
  const grown = Object.entries(MARGINS)
    .filter(([name, { share, more }]) => last[name] > reference[name] * (1 + share) + more)
    .map(([name]) => `${name} grew from ${reference[name]} on day ${reference.day} to ${last[name]} on day ${last.day}`)
  const left = samples.flatMap((sample) =>
    NOTHING.filter((name) => sample[name] > 0).map((name) => `${name}: ${sample[name]} on day ${sample.day}`)
  )
  return [...grown, ...left]
}
