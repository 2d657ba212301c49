// The processes and folders that a test has started: a browser is many processes, and all of them end with it. What is
// still there when the test's own process ends, ends then, however it ends.

import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, readdirSync, rmSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const GONE_MS_MAX = 10_000
const LOOK_MS = 10

/** Where Linux keeps files in memory, and what must be free there for it to be used. */
const IN_MEMORY = "/dev/shm"
const ROOM_BYTES_MIN = 2_000_000_000

const folders = new Set()
const children = new Set()

/**
 * A new folder of its own for a browser's profile. In memory where there is room: a browser that is killed leaves the
 * same there as on a disk, and nothing waits for one. `onDisk` is for what is about the disk itself.
 */
export function temporaryFolder({ onDisk = false } = {}) {
  const folder = mkdtempSync(join(!onDisk && hasRoom(IN_MEMORY) ? IN_MEMORY : tmpdir(), "alkstore-engine-"))
  folders.add(folder)
  return folder
}

function hasRoom(path) {
  try {
    const { bavail, bsize } = statfsSync(path)
    return bavail * bsize >= ROOM_BYTES_MIN
  } catch {
    return false
  }
}

/** Removes a folder that `temporaryFolder` made. */
export function removeFolder(folder) {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  folders.delete(folder)
}

/** Starts a program whose processes end with the test's. */
export function start(command, args, options) {
  const child = spawn(command, args, { stdio: "ignore", ...options })
  children.add(child.pid)
  child.on("exit", () => children.delete(child.pid))
  // Whoever waits for what it was to do sees that it does not come.
  child.on("error", () => children.delete(child.pid))
  return child
}

/**
 * Kills the process `pid` (if any), every process whose command line names `folder` (if any), and all that these have
 * started; resolves when none is left.
 */
export async function killTree({ pid, folder }) {
  const killed = killNow({ pid, folder })
  const until = Date.now() + GONE_MS_MAX
  while (killed.some(isAlive)) {
    if (Date.now() > until) throw new Error(`processes ${killed.filter(isAlive)} are still there after SIGKILL`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

function killNow({ pid, folder }) {
  const all = processes()
  const pending = all.filter((one) => one.pid === pid || (folder && one.command.includes(folder)))
  const tree = new Set(pending.map((one) => one.pid))
  for (const parent of tree) {
    for (const one of all) if (one.parent === parent) tree.add(one.pid)
  }
  tree.delete(process.pid)
  for (const one of tree) {
    try {
      process.kill(one, "SIGKILL")
    } catch {
      // It has ended by itself.
    }
  }
  return [...tree]
}

function processes() {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const [state, parent] = statOf(name)
      const command = readFileSync(`/proc/${name}/cmdline`, "utf8")
      return state === "Z" ? [] : [{ pid: Number(name), parent: Number(parent), command }]
    } catch {
      return []
    }
  })
}

function isAlive(pid) {
  try {
    return statOf(pid)[0] !== "Z"
  } catch {
    return false
  }
}

// State and parent follow the program's name, which is in parentheses and may hold anything.
function statOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")
}

process.on("exit", () => {
  for (const pid of children) killNow({ pid })
  for (const folder of folders) {
    killNow({ folder })
    rmSync(folder, { recursive: true, force: true })
  }
})
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(1))
