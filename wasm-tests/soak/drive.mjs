// Lets a soak go on for so many days, or until its time is up, and says what came of it.

import { notFlat } from "./flat.mjs"

const WEEK = 7
const SAMPLES = 12
const MINUTE_MS = 60_000

/**
 * `subject` is `{ day(), sample(), end() }`. Resolves to the summary, with `samples` and `violations`: twelve samples
 * are taken, in a year one a month. When `minutes` are up it ends early, which is no violation. `log` is told how it
 * goes once a simulated week.
 */
export async function drive(subject, { days, minutes, log = () => {} }) {
  const began = performance.now()
  const elapsed = () => (performance.now() - began) / MINUTE_MS
  const distance = Math.max(1, days / SAMPLES)
  const samples = []
  for (let day = 1; day <= days && elapsed() < minutes; day += 1) {
    await subject.day()
    if (day >= (samples.length + 1) * distance) samples.push(await subject.sample())
    if (day % WEEK > 0) continue
    log(`day ${day} of ${days}, after ${elapsed().toFixed(1)} min; last measured: ${figures(samples.at(-1))}`)
  }
  const summary = await subject.end()
  const more = summary.findingsCount - summary.findings.length
  const findings = more > 0 ? [...summary.findings, `and ${more} more`] : summary.findings
  return { ...summary, of: days, samples, minutes: elapsed(), violations: [...findings, ...notFlat(samples)] }
}

/** The summary, for people. */
export function report({ days, of, minutes, balance, schedules, counts, samples, violations }) {
  const early = days < of ? `, and no more of ${of}: the time was up` : ""
  const columns = Object.keys(Object.values(balance)[0]).join(", ")
  const lines = [`${days} days in ${minutes.toFixed(1)} min${early}`, "", `queue: ${columns}`]
  for (const [queue, account] of Object.entries(balance)) lines.push(`  ${queue}: ${Object.values(account).join(", ")}`)
  lines.push("", `schedules: ${figures(schedules)}`, `done: ${figures(counts)}`, "", "measured:")
  for (const sample of samples) lines.push(`  ${figures(sample)}`)
  lines.push("", violations.length === 0 ? "no violation" : "violations:", ...violations.map((text) => `  ${text}`))
  return lines.join("\n")
}

function figures(record) {
  if (record === undefined) return "nothing yet"
  return Object.entries(record).map(([name, value]) => `${name} ${value}`).join(", ")
}
