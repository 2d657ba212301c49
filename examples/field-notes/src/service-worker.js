// Serves the page without a network, and delivers when no page does. One classic script: no imports at run time, no
// top-level await, and every listener is there after the first turn.
/* global SHELL, SHELL_VERSION */

import { tellOthers } from "./changes.js"
import { deliverFor } from "./delivery.js"
import { openStore } from "./store.js"

const CACHE = `field-notes-${SHELL_VERSION}`
const WORKER = "Service worker"
/** After that an event starts no further delivery; what is left waits for the next event, or for a page. */
const EVENT_MS_MAX = 20_000
/** Pages that this worker is to serve wait for its activation, so that does not wait for a slow server. */
const ACTIVATION_MS_MAX = 1_000

addEventListener("install", (event) => {
  event.waitUntil(keepShell())
  skipWaiting()
})
addEventListener("activate", (event) => {
  const delivering = Promise.race([deliverSome(ACTIVATION_MS_MAX), pass(ACTIVATION_MS_MAX)])
  event.waitUntil(Promise.all([dropOldShells(), clients.claim(), delivering]))
})
addEventListener("fetch", (event) => {
  const { method, url } = event.request
  const ours = method === "GET" && url.startsWith(registration.scope)
  if (ours && !url.startsWith(`${registration.scope}api/`)) event.respondWith(fromShell(event.request))
})
// The browser says that there is a network, so nobody asks whether this worker has heard of it.
addEventListener("sync", (event) => event.waitUntil(deliverAll()))
addEventListener("message", (event) => {
  if (event.data === "deliver") event.waitUntil(deliverSome(EVENT_MS_MAX))
})

async function keepShell() {
  const cache = await caches.open(CACHE)
  await cache.addAll(SHELL.map((path) => new Request(path, { cache: "reload" })))
}

async function dropOldShells() {
  const names = await caches.keys()
  const old = names.filter((name) => name.startsWith("field-notes-") && name !== CACHE)
  await Promise.all(old.map((name) => caches.delete(name)))
}

async function fromShell(request) {
  const cache = await caches.open(CACHE)
  return (await cache.match(request.mode === "navigate" ? "./" : request)) ?? fetch(request)
}

let opened = null

// Opened by the first event that needs it, and again after the connection was lost.
function opening() {
  opened ??= openStore(() => (opened = null)).catch((error) => {
    opened = null
    throw error
  })
  return opened
}

async function deliver(ms) {
  const { outbox } = await opening()
  await deliverFor(ms, { outbox, worker: WORKER, onChange: tellOthers })
  return outbox
}

// A sync that fails is repeated by the browser, at a time of its choice.
async function deliverAll() {
  const outbox = await deliver(EVENT_MS_MAX)
  const { pending, processing } = await outbox.stats()
  if (pending + processing > 0) throw new Error(`${pending + processing} notes are still to be delivered`)
}

// Nobody repeats these events, and nobody is here to be told.
async function deliverSome(ms) {
  if (navigator.onLine === false) return
  try {
    await deliver(ms)
  } catch (error) {
    console.warn("delivering failed:", error)
  }
}

function pass(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
