// `npm run example`: builds what is out of date, then serves examples/field-notes on 127.0.0.1 until Ctrl-C. PORT
// chooses the port.

import { join } from "node:path"
import { startServer } from "../examples/field-notes/server.mjs"
import { build } from "./build.mjs"
import { root, script, step } from "./lib/run.mjs"

const PORT_DEFAULT = 5173

await script(async () => {
  const port = portArgument(process.env.PORT)
  await build()
  await step("bundling the page", bundle)
  const server = await serve(port)
  console.log(`\n  Field notes: ${server.url}\n`)
  console.log("  Open it in several tabs, and switch the server off. Ctrl-C ends it.\n")
  // `npm run` passes a Ctrl-C on to a process that the terminal has signalled already.
  let closing = null
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => (closing ??= server.close()))
})

async function bundle() {
  const { build: vite } = await import("vite")
  await vite({ configFile: join(root, "examples/field-notes/vite.config.mjs"), logLevel: "warn" })
}

async function serve(port) {
  try {
    return await startServer({ port })
  } catch (error) {
    if (error.code !== "EADDRINUSE") throw error
    throw new Error(`port ${port} is taken: choose another one with PORT=`)
  }
}

function portArgument(text) {
  if (text === undefined || text === "") return PORT_DEFAULT
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port
  throw new Error(`PORT must be a port number, got ${JSON.stringify(text)}`)
}
