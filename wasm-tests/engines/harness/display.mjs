// A display for the browsers that cannot do without: one Xvfb for each process of tests, which ends with it.

import { killTree, start } from "./processes.mjs"

let display = null

/** Resolves to the name of the display. */
export function displayOf(program) {
  return (display ??= begin(program))
}

/** Ends the display, if there is one. */
export async function endDisplay() {
  const running = await display?.catch(() => null)
  display = null
  if (running) await killTree({ pid: running.child.pid })
}

function begin(program) {
  return new Promise((resolve, reject) => {
    const args = ["-displayfd", "3", "-screen", "0", "1024x768x24", "-nolisten", "tcp"]
    const child = start(program, args, { stdio: ["ignore", "ignore", "ignore", "pipe"] })
    child.unref()
    let text = ""
    child.stdio[3].setEncoding("utf8").on("data", (chunk) => {
      text += chunk
      if (text.endsWith("\n")) resolve({ child, name: `:${text.trim()}` })
    })
    child.on("error", reject)
    child.on("exit", (code) => reject(new Error(`Xvfb ended with ${code} before it had a display`)))
  })
}
