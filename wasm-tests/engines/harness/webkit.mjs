// WebKitGTK: its MiniBrowser, through WebDriver. A session there keeps nothing on disk; for what must outlast the
// browser there is MiniBrowser by itself, in which nothing can be evaluated: its pages only report.

import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { displayOf } from "./display.mjs"
import { within } from "./evaluate.mjs"
import { killTree, start } from "./processes.mjs"
import { startSession } from "./webdriver.mjs"

const CLOSE_MS_MAX = 5_000

/** Whether a browser for what has to be on disk is another one. */
export const durableApart = true

export async function launch({ profile, programs, durable }) {
  const { name } = await displayOf(programs.XVFB)
  const plain = { WEBKIT_DISABLE_COMPOSITING_MODE: "1", LIBGL_ALWAYS_SOFTWARE: "1" }
  const env = { ...process.env, ...plain, ...foldersIn(profile), DISPLAY: name }
  return durable ? alone(programs.MINIBROWSER, env) : driven(programs, env)
}

async function driven(programs, env) {
  const binary = { binary: programs.MINIBROWSER, args: ["--automation"] }
  const capabilities = { browserName: "MiniBrowser", "webkitgtk:browserOptions": binary }
  const session = await startSession(programs.WEBKIT_DRIVER, capabilities, env)
  const kill = () => killTree({ pid: session.pid })
  return {
    open: (url) => session.open(url),
    async close() {
      await within(CLOSE_MS_MAX, "closing WebKit", session.end()).catch(() => {})
      await kill()
    },
    kill
  }
}

// One page at a time: two of these on one profile would be two browsers.
function alone(program, env) {
  let child = null
  const kill = async () => {
    if (child !== null) await killTree({ pid: child.pid })
    child = null
  }
  return {
    async open(url) {
      if (child !== null) throw new Error("a durable WebKit shows one page at a time")
      child = start(program, [url], { env })
      return { close: kill }
    },
    close: kill,
    kill
  }
}

function foldersIn(profile) {
  const names = { XDG_DATA_HOME: "data", XDG_CACHE_HOME: "cache", XDG_CONFIG_HOME: "config" }
  const folders = Object.entries(names).map(([variable, name]) => [variable, join(profile, name)])
  for (const [, folder] of folders) mkdirSync(folder, { recursive: true })
  return Object.fromEntries(folders)
}
