// Chromium and its driver for the tests: found, or installed from Debian's packages.

import { existsSync } from "node:fs"
import { delimiter, join } from "node:path"
import { run, step } from "./lib/run.mjs"

const BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
const APT = ["install", "-y", "--no-install-recommends", "chromium", "chromium-driver"]

let found = null

/** `{ browser, driver, version }`, or `{ missing }` with the reason. Looks, and installs, once. */
export function chromium() {
  return (found ??= find())
}

async function find() {
  const there = await look()
  if (there !== null) return there
  const refusal = await install()
  return (await look()) ?? { missing: refusal ?? "chromium or chromedriver is still missing after the installation" }
}

async function look() {
  const browser = process.env.CHROMIUM ?? BROWSERS.map(onPath).find(Boolean)
  const driver = process.env.CHROMEDRIVER ?? onPath("chromedriver")
  if (!browser || !driver) return null
  const { output } = await run(browser, ["--version"])
  return { browser, driver, version: /\d+(\.\d+)+/.exec(output)?.[0] ?? "of unknown version" }
}

async function install() {
  if (onPath("apt-get") === undefined) return "there is no apt-get here: install Chromium and chromedriver by hand"
  const sudo = process.getuid() === 0 ? [] : ["sudo", "-n"]
  const apt = (args) => {
    const [command, ...rest] = [...sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", ...args]
    return run(command, rest)
  }
  return step("installing chromium and chromium-driver", async () => {
    try {
      await apt(["update"])
      const { code, output } = await apt(APT)
      return code === 0 ? null : `apt-get could not install chromium and chromium-driver:\n${output.slice(-2000)}`
    } catch (error) {
      return error.message
    }
  })
}

function onPath(name) {
  const folders = (process.env.PATH ?? "").split(delimiter)
  return folders.map((folder) => join(folder, name)).find(existsSync)
}
