// Builds the simulation, in packages of its own under target/simulation: the engine has no dependencies, and those of
// other tests would be built anew for an optimised one. It runs ten times as fast as it does under `cargo test`.

import { appendFileSync, cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { must, root } from "./lib/run.mjs"
import { cached } from "./lib/stamp.mjs"

const FOLDER = "target/simulation"
const BUGS = "tests/simulation/bugs"
const SOURCES = ["src", "docs/rust.md", "tests/simulation", "tests/support"]

/** The bugs that the simulation must find: `{ name, breaks, patch }`, `breaks` the invariant. */
export function bugs() {
  const patches = readdirSync(join(root, BUGS)).filter((name) => name.endsWith(".patch"))
  return patches.map((file) => {
    const patch = join(BUGS, file)
    const breaks = /^Breaks: (.+)$/m.exec(readFileSync(join(root, patch), "utf8"))?.[1]
    if (breaks === undefined) throw new Error(`${patch} does not say which invariant it breaks`)
    return { name: basename(file, ".patch"), breaks, patch }
  })
}

/** Builds the simulation of the sources as they are; resolves to its program. */
export function buildSimulation() {
  return build("clean", () => undefined)
}

/** The same with every bug in it, of which `SIMULATION_BUG` plants one. A patch that does not apply any more rejects. */
export function buildPlanted() {
  return build("planted", async (folder) => {
    // Inside another repository, of which this is no clone, git would leave out what lies in here.
    const env = { GIT_CEILING_DIRECTORIES: dirname(root) }
    await must("git", ["apply", `--directory=${folder}`, ...bugs().map(({ patch }) => patch)], { env })
    cpSync(join(root, BUGS, "planted.rs"), join(root, folder, "src/planted.rs"))
    appendFileSync(join(root, folder, "src/lib.rs"), "mod planted;\n")
  })
}

async function build(name, plant) {
  const [folder, targets] = [join(FOLDER, name), join(FOLDER, `${name}-target`)]
  const inputs = [...SOURCES, "scripts/simulation.mjs", "rust-toolchain.toml"]
  await cached(join(FOLDER, `${name}.stamp`), { inputs, outputs: [join(folder, "Cargo.toml")] }, async () => {
    rmSync(join(root, folder), { recursive: true, force: true })
    mkdirSync(join(root, folder), { recursive: true })
    for (const source of SOURCES) {
      cpSync(join(root, source), join(root, folder, source), { recursive: true, preserveTimestamps: true })
    }
    writeFileSync(join(root, folder, "Cargo.toml"), MANIFEST)
    await plant(folder)
  })
  const manifest = ["--manifest-path", join(folder, "Cargo.toml"), "--target-dir", targets]
  const built = await must("cargo", ["test", ...manifest, "--no-run", "--test", "simulation", "--message-format=json-render-diagnostics"])
  const program = /"executable":"([^"]+)"/.exec(built)?.[1]
  if (program === undefined) throw new Error("cargo does not say where the simulation is")
  return program
}

const MANIFEST = `[package]
name = "alkstore-wasm"
version = "0.0.0"
edition = "2024"
autotests = false

[workspace]

[lib]
name = "alkstore"

[[test]]
name = "simulation"
path = "tests/simulation/main.rs"

[profile.dev]
opt-level = 1
debug = false
codegen-units = 1
`
