// `npm run fuzz -- [target ...] [--seconds N] [--keep]`: the targets of tests/fuzz under cargo-fuzz, one after another.
// What is found on the way stays in target/fuzz; with `--keep` what of it reaches code that the corpus in tests/fuzz
// does not is added to that. Not part of `npm test`, which replays the corpus.

import { copyFileSync, mkdirSync, readFileSync, rmSync } from "node:fs"
import { basename, join } from "node:path"
import { parseArgs } from "node:util"
import { must, root, run, script, step } from "./lib/run.mjs"
import { cached } from "./lib/stamp.mjs"

const CARGO_FUZZ = "0.13.2"
const TOOLS = "target/tools"
const CRATE = "tools/fuzz"
const CORPORA = "tests/fuzz/corpus"
const WORK = "target/fuzz"

// No code of ours is unsafe, so an address sanitizer would find nothing: without one it is twice as fast.
const BUILD = ["--fuzz-dir", CRATE, "--sanitizer", "none"]

/** An input must end within that, whatever else the machine is at. */
const INPUT_SECONDS_MAX = 60

const TEXT = ["-max_len=64"]
const LINES = ["-only_ascii=1", "-len_control=0"]

/** The targets, and how long their inputs are and of what. */
const TARGETS = {
  specs: TEXT,
  durations: TEXT,
  names: TEXT,
  rows: ["-max_len=512", "-len_control=0"],
  scripts: ["-max_len=1024", ...LINES],
  nonsense: ["-max_len=1024", ...LINES]
}

await script(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { seconds: { type: "string", default: "60" }, keep: { type: "boolean", default: false } }
  })
  const unknown = positionals.filter((name) => !(name in TARGETS))
  if (unknown.length > 0) throw new Error(`no such target: ${unknown}; there are ${Object.keys(TARGETS).join(", ")}`)
  if (!(Number(values.seconds) > 0)) throw new Error(`--seconds must be a number above 0, got ${values.seconds}`)

  await setup()
  const targets = positionals.length > 0 ? positionals : Object.keys(TARGETS)
  await step("building the targets", () => cargoFuzz("build"))
  const found = []
  for (const target of targets) {
    if (!(await fuzz(target, values.seconds))) found.push(target)
    else if (values.keep) await keep(target)
  }
  if (found.length === 0) return
  console.log(`found something in ${found.join(", ")}: the input is in ${WORK}, and belongs into ${CORPORA} with its fix`)
  process.exitCode = 1
})

/** Installs cargo-fuzz into target/. */
function setup() {
  const install = ["install", "cargo-fuzz", "--version", `=${CARGO_FUZZ}`, "--locked", "--root", TOOLS]
  const [inputs, outputs] = [["rust-toolchain.toml"], [`${TOOLS}/bin/cargo-fuzz`]]
  return cached(`${TOOLS}/.cargo-fuzz-${CARGO_FUZZ}`, { inputs, outputs }, () =>
    step(`installing cargo-fuzz ${CARGO_FUZZ}`, () => must("cargo", install))
  )
}

/** Runs one target; whether nothing was found. */
async function fuzz(target, seconds) {
  const [corpus, work] = folders(target)
  mkdirSync(join(root, work), { recursive: true })
  const options = [`-timeout=${INPUT_SECONDS_MAX}`, `-max_total_time=${seconds}`, `-artifact_prefix=${work}-`]
  const { code, output } = await step(`fuzzing ${target}`, () =>
    run(...command("run", target, work, corpus, "--", ...TARGETS[target], ...options))
  )
  console.log(code === 0 ? `  ${figures(output)}` : output.trimEnd())
  return code === 0
}

/** Adds to the corpus what of the work reaches code that nothing before it does. */
async function keep(target) {
  const [corpus, work] = folders(target)
  const [scratch, log] = [`${work}-merged`, `${work}-merge.log`]
  for (const path of [scratch, log]) rmSync(join(root, path), { recursive: true, force: true })
  mkdirSync(join(root, scratch))
  await cargoFuzz("run", target, scratch, corpus, work, "--", "-merge=1", `-merge_control_file=${log}`, ...TARGETS[target])
  const added = novel(readFileSync(join(root, log), "utf8")).filter((file) => file.startsWith(`${work}/`))
  for (const file of added) copyFileSync(join(root, file), join(root, corpus, basename(file)))
  console.log(`  ${added.length} added to ${corpus}`)
}

/** The files of a merge's log, with a line `COV <file> <edge> ...` each for those that reach new edges. */
function novel(log) {
  const [total, , ...lines] = log.split("\n")
  const files = lines.splice(0, Number(total))
  return lines.map((line) => /^COV (\d+) ./.exec(line)?.[1]).flatMap((at) => (at === undefined ? [] : [files[at]]))
}

function folders(target) {
  return [join(CORPORA, target), join(WORK, target)]
}

function cargoFuzz(...args) {
  return must(...command(...args))
}

function command(name, ...args) {
  return [join(root, TOOLS, "bin/cargo-fuzz"), ["fuzz", name, ...BUILD, ...args]]
}

/** How often libFuzzer ran the target, and what that reached. */
function figures(output) {
  const [, coverage, features] = [...output.matchAll(/cov: (\d+) ft: (\d+)/g)].at(-1) ?? []
  const [, runs, seconds] = /Done (\d+) runs in (\d+) second/.exec(output) ?? []
  return `${runs} runs in ${seconds} s; ${coverage} edges, ${features} features`
}
