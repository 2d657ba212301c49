// The browsers of the tests: found, or installed from Debian's packages. Each is a set of programs, named by the
// environment variables that say where they are.

import { existsSync, readdirSync } from "node:fs"
import { delimiter, join } from "node:path"
import { run, step } from "./lib/run.mjs"

const BROWSERS = {
  chromium: {
    title: "Chromium",
    packages: ["chromium", "chromium-headless-shell"],
    programs: {
      CHROMIUM: () => onPath("chromium", "chromium-browser", "google-chrome"),
      // The same engines without a browser around them: two thirds of the work. Without background sync, too.
      HEADLESS_SHELL: () => onPath("chromium-headless-shell")
    },
    instead: { HEADLESS_SHELL: "CHROMIUM" },
    version: ({ CHROMIUM }) => run(CHROMIUM, ["--version"])
  },
  firefox: {
    title: "Firefox",
    packages: ["firefox-esr"],
    programs: { FIREFOX: () => onPath("firefox-esr", "firefox") },
    version: ({ FIREFOX }) => run(FIREFOX, ["--version"])
  },
  webkit: {
    title: "WebKitGTK",
    packages: ["webkit2gtk-driver", "libwebkit2gtk-4.1-0", "xvfb"],
    programs: {
      MINIBROWSER: () => inLibraries("webkit2gtk-4.1/MiniBrowser"),
      WEBKIT_DRIVER: () => onPath("WebKitWebDriver"),
      XVFB: () => onPath("Xvfb")
    },
    // The programs themselves tell it on a display only.
    version: () => run("dpkg-query", ["-W", "-f", "${Version}", "libwebkit2gtk-4.1-0"])
  }
}

// As root too, and without traffic of its own.
const CHROMIUM_ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync"
]

/** How tests start Chromium, `whole` or the shell of it: `{ executablePath, args }`, as Playwright and Puppeteer take them. */
export function chromiumLaunch({ whole = false } = {}) {
  return { executablePath: programsOf("chromium")?.[whole ? "CHROMIUM" : "HEADLESS_SHELL"], args: CHROMIUM_ARGS }
}

/** The names of the browsers that there are tests for. */
export const browserNames = Object.keys(BROWSERS)

const found = new Map()

/** `{ title, programs }`, or `{ title, missing }` with the reason. Looks, and installs, once. */
export function browser(name) {
  if (!found.has(name)) found.set(name, find(name))
  return found.get(name)
}

/** The programs of a browser by their variables, some perhaps by another's; or null if not all of them are here. */
export function programsOf(name) {
  const programs = lookFor(name)
  for (const [variable, other] of Object.entries(BROWSERS[name].instead ?? {})) programs[variable] ??= programs[other]
  return isWhole(programs) ? programs : null
}

function lookFor(name) {
  const programs = Object.entries(BROWSERS[name].programs)
  return Object.fromEntries(programs.map(([variable, look]) => [variable, process.env[variable] ?? look()]))
}

function isWhole(programs) {
  return Object.values(programs).every((path) => path !== undefined)
}

async function find(name) {
  const { title, packages, version } = BROWSERS[name]
  const refusal = isWhole(lookFor(name)) ? null : await installed(packages)
  const programs = programsOf(name)
  if (programs === null) {
    return { title, missing: refusal ?? `not all of it is there after installing ${packages.join(", ")}` }
  }
  return { title: `${title} ${await numberIn(version(programs))}`, programs }
}

async function numberIn(printed) {
  const { output } = await printed.catch(() => ({ output: "" }))
  return /\d+(\.\d+)+/.exec(output)?.[0] ?? "of unknown version"
}

// Two runs of apt-get at once refuse one another.
let turn = Promise.resolve()
let update = null

function installed(packages) {
  const result = turn.then(() => install(packages))
  turn = result
  return result
}

/** Resolves to null, or to why it could not be done. */
async function install(packages) {
  const names = packages.join(", ")
  if (onPath("apt-get") === undefined) return `there is no apt-get here: install ${names} by hand`
  return step(`installing ${names}`, async () => {
    try {
      await (update ??= apt("update"))
      const { code, output } = await apt("install", "-y", "--no-install-recommends", ...packages)
      return code === 0 ? null : `apt-get could not install ${names}:\n${output.slice(-2000)}`
    } catch (error) {
      return error.message
    }
  })
}

function apt(...args) {
  const sudo = process.getuid() === 0 ? [] : ["sudo", "-n"]
  // A machine that has just started may be updating itself.
  const patient = ["-o", "DPkg::Lock::Timeout=120"]
  const [command, ...rest] = [...sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", ...patient, ...args]
  return run(command, rest)
}

function onPath(...names) {
  const folders = (process.env.PATH ?? "").split(delimiter)
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path))
}

// Beside the libraries of the machine's architecture, whose name is part of the path.
function inLibraries(path) {
  if (!existsSync("/usr/lib")) return undefined
  const folders = readdirSync("/usr/lib").filter((name) => name.endsWith("-linux-gnu"))
  return folders.map((folder) => join("/usr/lib", folder, path)).find((candidate) => existsSync(candidate))
}
