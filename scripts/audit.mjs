// `npm run audit`: what others know about the dependencies. Crates with cargo-deny, by deny.toml; npm packages, which
// are all for development, with npm audit. What nobody answered is named and is no failure.
//
// cargo-deny is found on the path, or built into target/cargo-deny, which takes some minutes.

import { existsSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { Failure, must, root, run, script, step } from "./lib/run.mjs"

const CARGO_DENY = "0.20.2"
/** What is compiled into the package, and what only builds and tests it. */
const CHECKS = {
  "Cargo.toml": ["licenses", "bans", "sources"],
  "tools/wb/Cargo.toml": ["sources"],
  "tools/fuzz/Cargo.toml": ["sources"],
  "benches/peers/Cargo.toml": ["sources"]
}

/** From this severity on a finding must be dealt with. */
export const AUDIT_LEVEL = "high"
const SEVERITIES = ["info", "low", "moderate", "high", "critical"]

/** Findings that cannot be fixed, by the ids of their advisories: why they do no harm here. */
const ACCEPTED = {}

/** `{ findings, unanswered }`: sentences, and why nobody answered, or null. */
export async function npmAudit() {
  const { output } = await run("npm", ["audit", "--audit", "--json"])
  return verdict(output)
}

/** What npm audit's answer means, a text of JSON. */
export function verdict(text, accepted = ACCEPTED) {
  let answer
  try {
    answer = JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1))
  } catch {
    return { findings: [], unanswered: `npm audit printed no JSON: ${text.slice(0, 200)}` }
  }
  if (answer.vulnerabilities === undefined) return { findings: [], unanswered: answer.message ?? "no answer" }
  const advisories = new Map()
  for (const { via } of Object.values(answer.vulnerabilities)) {
    // Those that are only names of other packages are listed there.
    for (const one of via) if (typeof one === "object") advisories.set(one.url, one)
  }
  const isGrave = ({ severity }) => SEVERITIES.indexOf(severity) >= SEVERITIES.indexOf(AUDIT_LEVEL)
  const isAccepted = ({ url }) => url.split("/").at(-1) in accepted
  const findings = [...advisories.values()]
    .filter((one) => isGrave(one) && !isAccepted(one))
    .map(({ name, range, severity, title, url }) => `${name} ${range}: ${severity}: ${title} (${url})`)
  return { findings, unanswered: null }
}

async function auditPackages() {
  const { findings, unanswered } = await npmAudit()
  if (unanswered !== null) console.log(`skipped: npm audit: ${unanswered}`)
  if (findings.length > 0) throw new Failure("npm audit has found something", findings.join("\n"))
}

async function auditCrates() {
  const deny = await cargoDeny()
  for (const [manifest, checks] of Object.entries(CHECKS)) {
    const check = ["--config", join(root, "deny.toml"), "--locked", "--manifest-path", manifest, "check"]
    await step(`${checks.join(", ")} of ${manifest}`, () => must(deny, [...check, ...checks]))
    await step(`advisories of ${manifest}`, async () => {
      const { code, output } = await run(deny, [...check, "advisories"])
      const isAway = /failed to fetch advisory database/.test(output)
      if (isAway) console.log("skipped: advisories: the database could not be fetched")
      else if (code !== 0) throw new Failure(`cargo deny has found something in ${manifest}`, output)
    })
  }
}

async function cargoDeny() {
  const built = join(root, "target/cargo-deny/bin/cargo-deny")
  for (const program of ["cargo-deny", built]) {
    const { output } = await run(program, ["--version"]).catch(() => ({ output: "" }))
    if (output.includes(CARGO_DENY)) return program
  }
  const install = ["install", "cargo-deny", "--version", `=${CARGO_DENY}`, "--locked", "--root", "target/cargo-deny"]
  await step("building cargo-deny", () => must("cargo", install))
  if (!existsSync(built)) throw new Failure(`cargo install left no ${built}`)
  return built
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await script(async () => {
    await auditPackages()
    await auditCrates()
  })
}
