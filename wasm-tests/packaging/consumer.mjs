// A project of somebody else's, with the packed tarball installed. What is tested here is never the source tree.

import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

/** The top of the repository. */
export const root = fileURLToPath(new URL("../../", import.meta.url))

/** Packs pkg/ into `folder` and resolves to the tarball's path. */
export async function pack(folder) {
  const { output } = await must("npm", ["pack", "--silent", "--pack-destination", folder], join(root, "pkg"))
  return join(folder, output.trim().split("\n").at(-1))
}

// Packing takes longer than most tests, so those of one file share a tarball.
let packed = null
function tarball() {
  if (packed === null) {
    const folder = mkdtempSync(join(tmpdir(), "alkstore-packed-"))
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }))
    packed = pack(folder)
  }
  return packed
}

/** A new empty project that has the tarball installed; removed when the test that `t` belongs to is over. */
export async function consumer(t) {
  const folder = mkdtempSync(join(tmpdir(), "alkstore-consumer-"))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const installed = join(folder, "node_modules/alkstore-wasm")
  mkdirSync(installed, { recursive: true })
  await must("tar", ["-xzf", await tarball(), "-C", installed, "--strip-components=1"], folder)
  return {
    folder,
    installed,
    tarball: await tarball(),
    /** Writes `files`, text by path. */
    write(files) {
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, path)), { recursive: true })
        writeFileSync(join(folder, path), text)
      }
    },
    /** Runs Node with `args` here and resolves to what it printed; a failure rejects with it. */
    async node(...args) {
      return (await must(process.execPath, args, folder)).output.trim()
    }
  }
}

/** The main file of a tool of this repository. */
export function tool(path) {
  return join(root, "node_modules", path)
}

/** Runs `command`, resolving to `{ code, output }`. */
export function run(command, args, cwd) {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, NODE_OPTIONS: "", NODE_TEST_CONTEXT: "" }
    const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    const take = (chunk) => (output += chunk)
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", take)
    child.on("error", reject)
    child.on("close", (code) => resolve({ code, output }))
  })
}

/** Runs `command`; a failure rejects with what it printed. */
export async function must(command, args, cwd) {
  const result = await run(command, args, cwd)
  if (result.code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${result.code}:\n${result.output}`)
  return result
}

/** A program that enqueues, claims and acks, as text; it prints what it got. */
export const ROUND_TRIP = `
const store = await open()
const queue = store.queue("mail")
const id = await queue.enqueue({ to: "ä€😀", at: new Date(0) })
const job = await queue.claimOne("worker")
console.log(JSON.stringify([id, job.payload, await job.ack(), await queue.claimOne("worker")]))
await store.close()
`
export const ROUND_TRIP_PRINTS = '[1,{"to":"ä€😀","at":"1970-01-01T00:00:00.000Z"},true,null]'
