// All test files of this folder in one process, so that each browser starts once.

import { readdirSync } from "node:fs"
import { expectMore } from "./harness/each.mjs"

const files = readdirSync(new URL(".", import.meta.url)).filter((name) => name.endsWith(".test.mjs"))
const imports = Promise.all(files.map((name) => import(`./${name}`)))
expectMore(imports)
await imports
