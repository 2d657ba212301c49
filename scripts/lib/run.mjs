// Running other programs, and saying what is going on. Needs no terminal and no installed package.

import { AsyncLocalStorage } from "node:async_hooks"
import { spawn } from "node:child_process"
import { constants, setPriority } from "node:os"
import { fileURLToPath } from "node:url"

/** The top of the repository, where every command runs unless it says otherwise. */
export const root = fileURLToPath(new URL("../../", import.meta.url))

/**
 * Runs `command`, resolves to `{ code, output }` with both streams in one text, and never rejects for a failure of
 * the program itself. With `live` the output is also shown as it comes.
 */
export function run(command, args, { env = {}, cwd = root, live = false } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] })
    running.add(child)
    child.on("close", () => running.delete(child))
    if (background.getStore()) yieldToOthers(child.pid)
    let output = ""
    const take = (chunk) => {
      output += chunk
      if (live) process.stdout.write(chunk)
    }
    child.stdout.setEncoding("utf8").on("data", take)
    child.stderr.setEncoding("utf8").on("data", take)
    child.on("error", (error) => reject(new Error(`cannot start ${command}: ${error.message}`)))
    child.on("close", (code, signal) => {
      resolve(signal ? { code: 1, output: `${output}\nended by ${signal}` } : { code, output })
    })
  })
}

const running = new Set()

// An interrupt from a terminal reaches them by itself.
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.once(signal, () => {
    for (const child of running) child.kill(signal)
    // Unless somebody else ends this process.
    if (process.listenerCount(signal) === 0) process.exit(128 + constants.signals[signal])
  })
}

const background = new AsyncLocalStorage()

/** Calls `work`; what it runs gets the processor that other programs leave. */
export function inBackground(work) {
  return background.run(true, work)
}

function yieldToOthers(pid) {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // It has not started, or ended already.
  }
}

/** Runs `command` and resolves to its output; a failure shows the output and rejects. */
export async function must(command, args, options) {
  const { code, output } = await run(command, args, options)
  if (code === 0) return output
  throw new Failure(`${command} ${args.join(" ")} failed with ${code}`, output)
}

/** A failure with the output of the program that failed. */
export class Failure extends Error {
  constructor(message, output = "") {
    super(message)
    this.output = output
  }
}

/** Runs `work` under a line that says what it is and, at the end, how long it took. */
export async function step(title, work) {
  const began = performance.now()
  console.log(`- ${title} ...`)
  const result = await work()
  console.log(`- ${title}: ${seconds(began)}`)
  return result
}

/** The seconds since `began`, for people. */
export function seconds(began) {
  return `${((performance.now() - began) / 1000).toFixed(1)} s`
}

/** Runs `main`; on a failure prints it with the failed program's output, and exits non-zero. */
export async function script(main) {
  try {
    await main()
  } catch (error) {
    if (error instanceof Failure && error.output) console.error(error.output.trimEnd())
    console.error(error instanceof Failure ? `error: ${error.message}` : error)
    process.exitCode = 1
  }
}
