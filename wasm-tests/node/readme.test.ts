// Every program in the README runs as it stands.

import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, test } from "vitest"

const root = join(import.meta.dirname, "../..")
const programs = [...readFileSync(join(root, "README.md"), "utf8").matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code!)

/** What each says, in its order. */
const SAYS = [
  /^attempt 1 of 5: \{ to: 'https:\/\/example.com\/hook', body: \{ hello: 'world' \} \}\n$/,
  /^sending to ada@example.com\n\{[\s\S]*pending: 1,[\s\S]*ready: 0,[\s\S]*processing: 0,[\s\S]*dead: 0,/,
  /^$/,
  /^$/,
  /^best-effort\n$/,
  /^\[\n[\s\S]*queue: '__alkstore_outbox:notes',[\s\S]*payload: \{ note: 1 \},/,
  /name: 'cleanup',[\s\S]*spec: '@every 15m',[\s\S]*queue: 'chores'/,
  /^null\nlater\n$/
]

let folder: string
beforeAll(() => {
  // Inside the repository, so that the package is found.
  folder = mkdtempSync(join(root, "target/readme-"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test("there are as many programs as there are things that they say", () => {
  expect(programs.length).toBe(SAYS.length)
})

for (const [at, says] of SAYS.entries()) {
  test(`program ${at + 1} runs, and says what it should`, async () => {
    const file = join(folder, `program-${at + 1}.mjs`)
    writeFileSync(file, programs[at]!)
    // What browsers have, Node has not.
    const browser = programs[at]!.includes("/indexeddb") ? ["--import", "fake-indexeddb/auto"] : []
    const { stdout } = await promisify(execFile)(process.execPath, [...browser, file], { cwd: root })
    expect(stdout).toMatch(says)
  })
}
