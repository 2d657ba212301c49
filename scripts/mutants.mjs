// `npm run mutants`: changes the core in every small way that cargo-mutants knows, one at a time, and looks which
// changes no native test notices. Prints how many of a hundred are noticed, and fails if that is too few, or if those
// that are not differ from the list in docs/mutants.md.
//
// `npm run mutants -- --continue` goes on where an earlier run ended, with what it had not caught; `-- core/lock` tries
// only mutants whose name has that in it.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { Failure, must, root, run, script, seconds, step } from "./lib/run.mjs"

const VERSION = "27.1.0"
const CAUGHT_PERCENT_MIN = 95
const JOBS = 2
/** So much memory, in KiB, for each program: a mutant that fills it is caught before the machine swaps. */
const MEMORY_KIB_MAX = 12_000_000

const folder = "target/mutants"
const tool = `${folder}/tool/bin/cargo-mutants`
const list = "docs/mutants.md"

// What kills most comes first, and what is quick: a mutant costs what is compiled for it. Each gets what survived before.
const keyed = { ALKSTORE_TEST_STORAGE: "keyed" }
const rounds = [
  { title: "the contract", targets: ["--test=contract"] },
  { title: "units", targets: ["--lib"] },
  { title: "the contract on rows under keys", targets: ["--test=contract"], env: keyed },
  { title: "traces, model, masses", targets: ["--test=conformance", "--test=keyed", "--test=model"] },
  { title: "traces, model on rows under keys", targets: ["--test=conformance", "--test=model"], env: keyed }
]

await script(async () => {
  const { values, positionals } = parseArgs({ options: { continue: { type: "boolean" } }, allowPositionals: true })
  const began = performance.now()
  await install()
  const only = positionals.flatMap((name) => ["--re", name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")])
  const mutants = lines(await must(tool, ["mutants", "--list", ...only])).filter((line) => line.startsWith("src/core/"))
  if (mutants.length === 0) throw new Failure(`no mutant is called ${positionals}`)
  const known = verdicts()
  if (!values.continue) known.forget(mutants)
  for (const round of rounds) await play(round, mutants, only, known)
  report(mutants, known, only.length === 0)
  console.log(`took ${seconds(began)}`)
})

/** Builds cargo-mutants at exactly the version that the figures in docs/mutants.md are from. */
async function install() {
  const there = existsSync(join(root, tool)) ? await run(tool, ["mutants", "--version"]) : { output: "" }
  if (there.output.trim() === `cargo-mutants ${VERSION}`) return
  const args = ["install", "cargo-mutants", "--version", `=${VERSION}`, "--locked", "--root", `${folder}/tool`]
  await step(`building cargo-mutants ${VERSION}`, () => must("cargo", args))
}

/** What became of each mutant: kept on disk, so that a run that was broken off can go on. */
function verdicts() {
  const [file, latest] = [join(root, folder, "verdicts.json"), join(root, folder, "mutants.out")]
  const settled = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {}
  const of = (mutant) => settled[mutant] ?? "missed"
  const forget = (mutants) => {
    rmSync(latest, { recursive: true, force: true })
    for (const mutant of mutants) delete settled[mutant]
  }
  // Takes over what cargo-mutants has written. A mutant that never came to an end was caught.
  const collect = () => {
    for (const verdict of ["caught", "timeout", "unviable"]) {
      const name = join(latest, `${verdict}.txt`)
      if (!existsSync(name)) continue
      for (const mutant of lines(readFileSync(name, "utf8"))) settled[mutant] = verdict
    }
    mkdirSync(latest, { recursive: true })
    writeFileSync(file, JSON.stringify(settled, null, 1))
    writeFileSync(join(latest, "previously_caught.txt"), Object.keys(settled).join("\n"))
  }
  return { of, forget, collect }
}

/** Tries what is left on the tests of a round. */
async function play({ title, targets, env = {} }, mutants, only, known) {
  known.collect()
  const left = mutants.filter((mutant) => known.of(mutant) === "missed").length
  if (left === 0) return
  const args = ["--iterate", "--jobs", `${JOBS}`, "--output", folder, ...only, ...targets.map((target) => `-C=${target}`)]
  await step(`${left} mutants on ${title}`, async () => {
    // 2 and 3 are mutants that were missed, or did not end.
    const limited = `ulimit -v ${MEMORY_KIB_MAX} 2>/dev/null; exec nice -n 15 "$0" "$@"`
    const { code, output } = await run("sh", ["-c", limited, tool, "mutants", ...args], { env, live: true })
    if (![0, 2, 3].includes(code)) throw new Failure(`cargo-mutants failed with ${code}`, output)
  })
  known.collect()
}

function report(mutants, known, whole) {
  const viable = mutants.filter((mutant) => known.of(mutant) !== "unviable")
  const missed = viable.filter((mutant) => known.of(mutant) === "missed")
  const percent = 100 * (1 - missed.length / Math.max(viable.length, 1))
  const unviable = mutants.length - viable.length
  console.log(`${mutants.length} mutants, of which ${unviable} do not compile`)
  console.log(`${viable.length - missed.length} of ${viable.length} caught: ${percent.toFixed(1)} %`)
  const [listed, found] = [survivorsListed(), missed.map(nameOf)]
  const wrong = [...without(found, listed).map((name) => `a survivor that ${list} does not list: ${name}`)]
  if (whole) wrong.push(...without(listed, found).map((name) => `listed in ${list}, but caught or gone: ${name}`))
  if (whole && percent < CAUGHT_PERCENT_MIN) wrong.push(`fewer than ${CAUGHT_PERCENT_MIN} % were caught`)
  if (wrong.length > 0) throw new Failure(`the core's mutants:\n  ${wrong.join("\n  ")}`)
}

/** The rows of the table of survivors: a file and a mutant, each as code. */
function survivorsListed() {
  const rows = readFileSync(join(root, list), "utf8").matchAll(/^\| `(src\/core\/[^`]+)` \| `([^`]+)` \|/gm)
  return Array.from(rows, ([, file, mutant]) => `${file}: ${mutant.replaceAll("\\|", "|")}`)
}

/** A mutant without its line and column, which change with every edit. */
function nameOf(mutant) {
  return mutant.replace(/:\d+:\d+: /, ": ")
}

/** What is in `all`, as often as it is there more than in `known`. */
function without(all, known) {
  const rest = [...known]
  return all.filter((name) => {
    const at = rest.indexOf(name)
    if (at >= 0) rest.splice(at, 1)
    return at < 0
  })
}

function lines(text) {
  return text.split("\n").filter((line) => line !== "")
}
