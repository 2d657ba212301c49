// `npm run fuzz -- [target ...] [--seconds N] [--keep]`: the targets of tests/fuzz under cargo-fuzz, one after another.
// What is found on the way is kept in target/fuzz; with `--keep` what of it reaches code that the corpus in tests/fuzz
// does not is added to that. Not part of `npm test`, which replays the corpus.

import { mkdirSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { must, root, run, script, step } from "./lib/run.mjs"
import { cached } from "./lib/stamp.mjs"

const CARGO_FUZZ = "0.13.2"
const TOOLS = "target/tools"
const CRATE = "tools/fuzz"
const CORPORA = "tests/fuzz/corpus"
const WORK = "target/fuzz"

// No code of ours is unsafe, so there is nothing for an address sanitizer to find: without one it is twice as fast, and
// runs on the stable toolchain.
const BUILD = ["--fuzz-dir", CRATE, "--sanitizer", "none"]

/** An input must end within that, whatever else the machine is at. */
const INPUT_SECONDS_MAX = 60

/** The longest input, in bytes: of text that is read once, and of scripts. */
const LENGTH_MAX = { specs: 64, durations: 64, names: 64, rows: 512, scripts: 1024, nonsense: 1024 }

await script(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { seconds: { type: "string", default: "60" }, keep: { type: "boolean", default: false } }
  })
  const unknown = positionals.filter((name) => !(name in LENGTH_MAX))
  if (unknown.length > 0) throw new Error(`no such target: ${unknown}; there are ${Object.keys(LENGTH_MAX).join(", ")}`)
  if (!(Number(values.seconds) > 0)) throw new Error(`--seconds must be a number above 0, got ${values.seconds}`)

  await setup()
  const targets = positionals.length > 0 ? positionals : Object.keys(LENGTH_MAX)
  const found = []
  for (const target of targets) if (!(await fuzz(target, values))) found.push(target)
  if (found.length === 0) return
  console.log(`found something in ${found.join(", ")}: the input is in ${WORK}; it belongs into ${CORPORA} with its fix`)
  process.exitCode = 1
})

/** Installs cargo-fuzz into target/. */
function setup() {
  const install = ["install", "cargo-fuzz", "--version", `=${CARGO_FUZZ}`, "--locked", "--root", TOOLS]
  const [inputs, outputs] = [["rust-toolchain.toml", "scripts/fuzz.mjs"], [`${TOOLS}/bin/cargo-fuzz`]]
  return cached(`${TOOLS}/.setup`, { inputs, outputs }, () =>
    step(`installing cargo-fuzz ${CARGO_FUZZ}`, () => must("cargo", install))
  )
}

/** Runs one target for that long; whether nothing was found. */
async function fuzz(target, { seconds, keep }) {
  const [corpus, work] = [join(CORPORA, target), join(WORK, target)]
  mkdirSync(join(root, work), { recursive: true })
  await step(`building ${target}`, () => must(...cargoFuzz("build", target)))
  const limits = [`-max_len=${LENGTH_MAX[target]}`, `-timeout=${INPUT_SECONDS_MAX}`]
  const options = [...limits, `-max_total_time=${seconds}`, `-artifact_prefix=${join(WORK, target)}-`]
  const { code, output } = await step(`fuzzing ${target}`, () =>
    run(...cargoFuzz("run", target, work, corpus, "--", ...options), { env })
  )
  console.log(code === 0 ? `  ${figures(output)}` : output.trimEnd())
  if (code === 0 && keep) {
    const before = count(corpus)
    await must(...cargoFuzz("run", target, corpus, work, "--", "-merge=1", ...limits))
    console.log(`  ${count(corpus) - before} added to ${corpus}`)
  }
  return code === 0
}

function cargoFuzz(command, ...args) {
  return [join(root, TOOLS, "bin/cargo-fuzz"), ["fuzz", command, ...BUILD, ...args]]
}

/** libFuzzer's last line, and how often it ran the target. */
function figures(output) {
  const [, coverage, features] = [...output.matchAll(/cov: (\d+) ft: (\d+)/g)].at(-1) ?? []
  const [, runs, seconds] = /Done (\d+) runs in (\d+) second/.exec(output) ?? []
  return `${runs} runs in ${seconds} s; ${coverage} edges, ${features} features`
}

function count(folder) {
  return readdirSync(join(root, folder)).length
}
