// Skips work whose inputs have not changed. Inputs are compared by content, because a fresh checkout has new times.

import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { root } from "./run.mjs"

/** Runs `work` unless it ran before with the same content in `inputs` and everything in `outputs` is still there. */
export async function cached(stamp, { inputs, outputs }, work) {
  const file = join(root, stamp)
  const hash = fingerprint(inputs)
  const fresh = () => outputs.every((output) => existsSync(join(root, output)))
  if (fresh() && existsSync(file) && readFileSync(file, "utf8") === hash) return false
  // It is no longer true of the outputs, whatever becomes of the work.
  rmSync(file, { force: true })
  await work()
  if (!fresh()) throw new Error(`${stamp}: ${outputs.filter((output) => !existsSync(join(root, output)))} was not made`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, hash)
  return true
}

/** A hash of the files and folders `paths`, names and content. */
function fingerprint(paths) {
  const hash = createHash("sha256")
  const visit = (path) => {
    const full = join(root, path)
    if (!existsSync(full)) return
    if (statSync(full).isDirectory()) {
      for (const name of readdirSync(full).sort()) visit(`${path}/${name}`)
      return
    }
    hash.update(`\0${path}\0`).update(readFileSync(full))
  }
  paths.forEach(visit)
  return hash.digest("hex")
}
