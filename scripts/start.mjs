// `npm start`: builds what is out of date, then runs the webhook relay with the given arguments in this process.

import { pathToFileURL } from "node:url"
import { join } from "node:path"
import { build } from "./build.mjs"
import { root, script } from "./lib/run.mjs"

const example = join(root, "examples/webhook-relay/main.mjs")

await script(async () => {
  await build()
  process.argv.splice(1, 1, example)
  await import(pathToFileURL(example).href)
})
