// Where deliveries come from: the examples package, or the lines of a file.
//
// A delivery is `{ id, event, body }`. Its id is the idempotency key: it stays the same over every retry, and over
// every run. A body that is a string is sent as it stands, anything else as JSON.

import { createReadStream } from "node:fs"
import { readFile, readdir } from "node:fs/promises"
import { createRequire } from "node:module"
import { basename, dirname, join, resolve } from "node:path"

const EXAMPLES = "@octokit/webhooks-examples"
const BLANK = /^[ \t\r]*$/
/** `npm start` changes to the project's directory; a relative path is meant from where it was typed. */
const TYPED_IN = process.env.npm_lifecycle_event === "start" ? (process.env.INIT_CWD ?? ".") : "."

/** The user's input cannot be used; the message says where and why. */
export class InputError extends Error {}

/** Every payload of every edition in the examples package: github.com's and each GitHub Enterprise Server's. */
export async function examplePayloads() {
  const root = dirname(createRequire(import.meta.url).resolve(`${EXAMPLES}/package.json`))
  const entries = await readdir(root, { withFileTypes: true })
  const editions = entries.filter((entry) => entry.isDirectory() && entry.name !== "node_modules")
  const deliveries = []
  for (const { name: edition } of editions.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const events = JSON.parse(await readFile(join(root, edition, "index.json"), "utf8"))
    for (const { name: event, examples } of events) {
      examples.forEach((body, i) => deliveries.push({ id: `${edition}/${event}/${i + 1}`, event, body }))
    }
  }
  return { deliveries, source: `${EXAMPLES}, ${editions.length} editions` }
}

/**
 * The lines of `path`, each a JSON value; blank lines are skipped. A line is relayed as its own text, so that no number
 * is rounded on the way. The whole file is checked first: nothing of a malformed file is relayed.
 */
export async function filePayloads(path) {
  const utf8 = new TextDecoder("utf-8", { fatal: true })
  const deliveries = []
  let number = 0
  try {
    for await (const bytes of linesOf(path)) {
      number += 1
      const text = parseLine(bytes, utf8, `${path}:${number}`)
      if (text !== null) deliveries.push({ id: `line-${number}`, event: "line", body: text })
    }
  } catch (error) {
    if (error instanceof InputError) throw error
    throw new InputError(`cannot read ${path}: ${error.code === "ENOENT" ? "no such file" : error.message}`)
  }
  return { deliveries, source: basename(path) }
}

function parseLine(bytes, utf8, where) {
  let text
  try {
    text = utf8.decode(bytes)
  } catch {
    throw new InputError(`${where}: not UTF-8`)
  }
  if (BLANK.test(text)) return null
  try {
    JSON.parse(text)
  } catch (error) {
    throw new InputError(`${where}: not a JSON value: ${error.message}`)
  }
  return text.trim()
}

// `node:readline` also breaks lines at U+2028 and U+2029, which may stand inside a JSON string.
async function* linesOf(path) {
  let parts = []
  for await (const chunk of createReadStream(resolve(TYPED_IN, path))) {
    let start = 0
    for (let end = chunk.indexOf("\n"); end !== -1; end = chunk.indexOf("\n", start)) {
      yield Buffer.concat([...parts, chunk.subarray(start, end)])
      parts = []
      start = end + 1
    }
    parts.push(chunk.subarray(start))
  }
  yield Buffer.concat(parts)
}
