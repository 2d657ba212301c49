// `npm test`: sets up and builds, runs every part, or those that are named, and ends with one line of totals. Exits
// non-zero if a test failed, or a suite did not run or ran nothing.

import { build, buildForTests } from "./build.mjs"
import { browser } from "./browsers.mjs"
import { inBackground, script, seconds } from "./lib/run.mjs"
import { setupToolchain } from "./setup.mjs"
import { browsersOf, needsOf, rows } from "./tests/parts.mjs"
import { sum } from "./tests/suite.mjs"

const named = process.argv.slice(2)
const parts = Object.assign({}, ...Object.values(rows).flat())
const skipped = []

// On a fresh clone nothing is compiled a second time.
if (process.env.CI) process.env.CARGO_INCREMENTAL ??= "0"

// What could not be built fails every part that needs it, and is told once.
const told = new Set()

await script(async () => {
  const unknown = named.filter((name) => !(name in parts))
  if (unknown.length > 0) throw new Error(`no such part: ${unknown}; there are ${Object.keys(parts).join(", ")}`)

  await setupToolchain()
  const chosen = named.length > 0 ? named : Object.keys(parts)
  // Their installation is mostly waiting, so it goes on beside the compilers.
  for (const name of new Set(chosen.flatMap((part) => browsersOf[part] ?? []))) void browser(name)
  const built = builds(new Set(chosen.map(neededBy)))
  const chosenOf = (row) => Object.keys(row).filter((name) => chosen.includes(name))
  const all = (rows) => Promise.all(rows.map((row) => inTurn(chosenOf(row), built)))
  const results = await Promise.all([inBackground(() => all(rows.background)), all(rows.foreground)])
  const { passed, failed } = sum(results.flat(2))
  for (const reason of skipped) console.log(`skipped: ${reason}`)
  console.log(`${passed} passed, ${failed} failed`)
  if (failed > 0) process.exitCode = 1
})

/** What parts may need, as a promise for each: it is built one after the other, and nothing that nobody needs. */
function builds(needed) {
  if (!needed.has("package") && !needed.has("everything")) return {}
  heading("build")
  const built = build()
  const everything = needed.has("everything") ? built.then(buildForTests) : null
  // They may fail before a part asks for them, which is told then.
  for (const each of [built, everything]) each?.catch(() => {})
  return { package: built, everything }
}

function neededBy(name) {
  return needsOf[name] ?? "everything"
}

async function inTurn(names, built) {
  const results = []
  for (const name of names) results.push(await part(name, built[neededBy(name)]))
  return results
}

async function part(name, ready) {
  let began = performance.now()
  try {
    await ready
    began = performance.now()
    heading(name)
    return await parts[name]({ skip })
  } catch (error) {
    if (!told.has(error)) console.log(error.output ?? "", error)
    told.add(error)
    return { passed: 0, failed: 1 }
  } finally {
    console.log(`${name} took ${seconds(began)}`)
  }
}

// What cannot run here is named at the end; in CI it is a failure, unless it is allowed.
function skip(what, why, { allowed = false } = {}) {
  skipped.push(`${what}: ${why}`)
  return { passed: 0, failed: process.env.CI && !allowed ? 1 : 0 }
}

function heading(title) {
  console.log(`\n== ${title}`)
}
