// From import to the first acknowledged enqueue, in a fresh tab of Chromium and in a service worker that has just been
// started, beside what others need for the first thing of their kind.
//
//   node benches/page-start.mjs [--check] [--rounds N] [--only NAME,…]
//
// In a tab the clock runs from the call of import() and so contains the download, which comes from this machine and is
// not cached; in a service worker it runs from the first line of its script, which the browser has kept. Databases exist
// before. With --check the exit code is 1 if a median in the service worker is over SERVICE_WORKER_MS_MAX.

import { parseArgs } from "node:util"
import { byTurns, limits, median, spread, table } from "./lib/figures.mjs"
import { inChromium, inTab, shipped } from "./lib/pages.mjs"
import { FETCHED, STARTS } from "./pages/starts.mjs"

const SERVICE_WORKER_MS_MAX = 30

const { values: flags } = parseArgs({
  options: { check: { type: "boolean" }, rounds: { type: "string", default: "11" }, only: { type: "string" } }
})
const names = flags.only?.split(",") ?? Object.keys(STARTS)

const SERVICE = `
const done = run("service " + location.pathname).then(
  () => ({ began, ended: performance.now() }),
  (error) => ({ error: String(error.stack ?? error) })
)
addEventListener("message", (event) => event.waitUntil(done.then((times) => event.ports[0].postMessage(times))))
`
const scripts = Object.fromEntries(
  names.flatMap((name) => [
    [name, { code: STARTS[name].code }],
    [`service-${name}`, { code: STARTS[name].code + SERVICE, banner: "globalThis.began = performance.now();" }]
  ])
)

await inChromium(scripts, measure, FETCHED.map(shipped))

async function measure(chromium) {
  const sides = {}
  for (const name of names) {
    const { in: where = ["page", "service"] } = STARTS[name]
    if (where.includes("page")) sides[`page ${name}`] = () => startPage(chromium, name)
    if (where.includes("service")) sides[`service ${name}`] = () => startService(chromium, name)
  }
  const figures = await byTurns(sides, Number(flags.rounds))
  console.log(`${flags.rounds} rounds, milliseconds, medians (quartiles)\n`)
  const cell = (name, of) => (figures[name] ? spread(figures[name].map(of), 1) : "")
  const total = ({ began, ended }) => ended - began
  table([
    ["", "page: import to first", "of it the script's download", "service worker: first line to first"],
    ...names.map((name) => [
      STARTS[name].title,
      cell(`page ${name}`, total),
      cell(`page ${name}`, ({ download }) => download),
      cell(`service ${name}`, total)
    ])
  ])
  console.log()
  const held = limits(flags.check)
  for (const name of ["memory", "indexeddb"].filter((name) => names.includes(name))) {
    const figure = median(figures[`service ${name}`].map(total))
    held.atMost(`service worker, ${STARTS[name].title}, ms`, figure, SERVICE_WORKER_MS_MAX)
  }
  held.end()
}

function startPage(chromium, name) {
  return inTab(chromium, name, (tab) =>
    tab.evaluate(async (name) => {
      const began = performance.now()
      const { run } = await import(`/${name}.js`)
      await run(`${name} in a page`)
      const ended = performance.now()
      const [{ startTime, responseEnd }] = performance.getEntriesByName(`${location.origin}/${name}.js`)
      return { began, ended, download: responseEnd - startTime }
    }, name)
  )
}

// A page that has it started after it was stopped: the first time it is installed.
function startService(chromium, name) {
  return inTab(chromium, `service-${name}`, async (tab) => {
    await tab.evaluate(async (script) => {
      const options = { scope: `/${script}`, type: "module" }
      const { active, installing } = await navigator.serviceWorker.register(`/${script}.js`, options)
      globalThis.worker = active ?? installing
      if (worker.state !== "activated") await new Promise((resolve) => {
        worker.onstatechange = () => worker.state === "activated" && resolve()
      })
    }, `service-${name}`)
    const devtools = await chromium.browser.native.newCDPSession(tab.native)
    await devtools.send("ServiceWorker.enable")
    await devtools.send("ServiceWorker.stopAllWorkers")
    const times = await tab.evaluate(() => {
      const { port1, port2 } = new MessageChannel()
      worker.postMessage(null, [port2])
      return new Promise((resolve) => {
        port1.onmessage = ({ data }) => resolve(data)
      })
    })
    // One that goes on holds what it has locked.
    await devtools.send("ServiceWorker.stopAllWorkers")
    if (times.error) throw new Error(`${name}: ${times.error}`)
    return times
  })
}
