// One suite: a program that is run and counted.

import { readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { root, run, seconds } from "../lib/run.mjs"

/**
 * Runs `command`, counts with `count(output)` and resolves to `{ passed, failed }`. A suite that fails without a
 * failed test, or that ran none, counts as one failure. The output is shown when something failed.
 */
export async function suite(title, command, args, { count, env } = {}) {
  const began = performance.now()
  console.log(`- ${title} ...`)
  const { code, output } = await run(command, args, { env })
  const counted = count(output, code)
  const passed = counted.passed
  const failed = Math.max(counted.failed, code === 0 && passed > 0 ? 0 : 1)
  if (failed > 0) console.log(output.trimEnd())
  console.log(`- ${title}: ${passed} passed, ${failed} failed (${seconds(began)})`)
  return { passed, failed }
}

/** A check that is one test: it passes when the program does. */
export function check(title, command, args, env) {
  return suite(title, command, args, { env, count: (_output, code) => (code === 0 ? ONE_PASSED : ONE_FAILED) })
}

/** Cargo's test harness, and the runner of wasm tests: one result line for each test binary. */
export function cargoTests(title, args, env) {
  return suite(title, "cargo", ["test", "--locked", "--target-dir", "target", ...args], { count: countCargo, env })
}

/** What a test binary of cargo's, or several, say at their ends. */
export function countCargo(output) {
  const lines = output.matchAll(/test result: .*?(\d+) passed; (\d+) failed/g)
  return sum(Array.from(lines, ([, passed, failed]) => result(passed, failed)))
}

/** Vitest, with the tests of `config`. */
export function vitest(title, config, env) {
  const report = reportFile(config)
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`]
  const command = [bin("vitest", "vitest.mjs"), "run", "--config", config, ...reporters]
  return suite(title, process.execPath, command, { count: () => fromReport(report), env })
}

/** Jest, with the tests of `config`. */
export function jest(title, config) {
  const report = reportFile(config)
  const command = [bin("jest", "bin/jest.js"), "--config", config, "--json", `--outputFile=${report}`]
  return suite(title, process.execPath, command, { count: () => fromReport(report) })
}

/** Node's own test runner. */
export function nodeTests(title, files, env) {
  return suite(title, process.execPath, ["--test", "--test-reporter=tap", ...files], {
    env,
    count: (output) => result(/^# pass (\d+)$/m.exec(output)?.[1] ?? 0, /^# fail (\d+)$/m.exec(output)?.[1] ?? 0)
  })
}

/** The sum of several results. */
export function sum(results) {
  return result(
    results.reduce((total, { passed }) => total + passed, 0),
    results.reduce((total, { failed }) => total + failed, 0)
  )
}

/** The main file of a tool in node_modules. */
export function bin(name, path) {
  return join(root, "node_modules", name, path)
}

const ONE_PASSED = { passed: 1, failed: 0 }
const ONE_FAILED = { passed: 0, failed: 1 }

function result(passed, failed) {
  return { passed: Number(passed), failed: Number(failed) }
}

function reportFile(config) {
  const file = join(root, "target", `${config}.json`)
  rmSync(file, { force: true })
  return file
}

// Without a report the program did not get as far as running tests; the caller counts that as a failure.
function fromReport(file) {
  try {
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(file, "utf8"))
    return result(numPassedTests, numFailedTests)
  } catch {
    return result(0, 0)
  }
}
