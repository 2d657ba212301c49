// The page's elements: what is drawn, and what was asked for. Knows nothing of where it comes from.

import { describe, STATES, ticks } from "./board.js"

/** In notes; older ones are counted and not drawn. */
const NOTES_SHOWN_MAX = 100

const LABELS = {
  queued: "queued",
  sending: "in delivery",
  retrying: "waiting for a retry",
  delivered: "delivered",
  dead: "dead"
}
const HINTS = {
  up: "Every note is taken in.",
  flaky: "Every other request for a note gets a 500, or no answer although the note was taken in.",
  down: "Nobody answers. Retries wait longer and longer; after five attempts a note is dead.",
  silent: "Every note is taken in, and no request gets an answer."
}

const at = (id) => document.getElementById(id)
const items = new Map() // note id → its list item
const time = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" })

let drawn = []
let receipts = new Map() // note id → what the server said of it
let ticking = null

/** Draws a board; see `boardOf`. */
export function drawBoard({ entries, counts }) {
  for (const state of STATES) at(`count-${state}`).textContent = counts[state]
  const shown = entries.slice(0, NOTES_SHOWN_MAX)
  const elements = shown.map((entry) => itemOf(entry))
  const gone = new Set(items.keys())
  for (const { note } of shown) gone.delete(note.id)
  for (const id of gone) items.delete(id)
  // Only where the order differs: an element that is moved loses the focus.
  const list = at("notes")
  elements.forEach((element, i) => {
    if (list.children[i] !== element) list.insertBefore(element, list.children[i] ?? null)
  })
  while (list.children.length > elements.length) list.lastElementChild.remove()
  at("empty").hidden = entries.length > 0
  at("redrive-all").hidden = counts.dead === 0
  drawn = shown
  drawDetails()
}

function itemOf({ note, job, state }) {
  let item = items.get(note.id)
  if (item === undefined) {
    item = at("note").content.firstElementChild.cloneNode(true)
    item.dataset.id = note.id
    item.querySelector(".text").textContent = note.text
    item.querySelector("time").textContent = time.format(note.at)
    item.querySelector("time").dateTime = new Date(note.at).toISOString()
    items.set(note.id, item)
  }
  item.dataset.state = state
  if (job !== null) item.dataset.job = job.id
  item.querySelector(".state").textContent = LABELS[state]
  item.querySelector("button").hidden = state !== "dead"
  return item
}

// The lines that change as time goes on; a timer runs only while there is one.
function drawDetails() {
  clearTimeout(ticking)
  const now = Date.now()
  const online = navigator.onLine !== false
  for (const entry of drawn) {
    const detail = items.get(entry.note.id).querySelector(".detail")
    const text = describe(entry, { receipt: receipts.get(entry.note.id), online, now })
    if (detail.textContent !== text) detail.textContent = text
  }
  if (drawn.some((entry) => ticks(entry, now))) ticking = setTimeout(drawDetails, 1_000)
}

/** Draws the server's books, or that it cannot be reached (`null`); it still has what it had, then. */
export function drawServer(books) {
  const form = at("server")
  form.querySelector("fieldset").disabled = books === null
  if (books === null) return void (at("mode-hint").textContent = "Out of reach for now.")
  form.elements.mode.value = books.mode
  at("mode-hint").textContent = HINTS[books.mode]
  const kept = books.notes.filter(({ receipts }) => receipts > 0)
  at("requests").textContent = books.requests
  at("kept").textContent = kept.length
  at("repeats").textContent = kept.reduce((sum, { receipts }) => sum + receipts - 1, 0)
  receipts = new Map(books.notes.map((note) => [note.id, note]))
  drawDetails()
}

/** Draws the tabs and the service worker, and what each of them delivers right now. */
export function drawContexts(names, tab, { entries }) {
  const rows = names.map((name) => {
    const sending = entries.find(({ job, state }) => state === "sending" && job.workerId === name)
    const row = document.createElement("li")
    row.className = sending ? "busy" : ""
    const label = document.createElement("b")
    label.textContent = name
    const rest = document.createElement("span")
    rest.textContent = sending ? `delivers “${sending.note.text}”` : name === tab ? "this tab" : "ready"
    row.append(label, rest)
    return row
  })
  at("tab").textContent = tab
  at("contexts").replaceChildren(...rows)
}

export function drawNetwork(online) {
  at("network").textContent = online ? "Online" : "Offline: deliveries pause"
  at("network").dataset.online = online
}

/** Says how the last action went. */
export function say(text) {
  at("said").textContent = text
}

/** Shows what is wrong, until `null`. */
export function drawProblem(text) {
  at("problem").hidden = text === null
  at("problem").textContent = text ?? ""
}

/** Calls `on.save(text, { abort })`, `on.mode(mode)` and `on.redrive(note id, or null for all)`. */
export function listen(on) {
  const compose = at("compose")
  const text = at("text")
  compose.addEventListener("submit", async (event) => {
    event.preventDefault()
    const written = text.value.trim()
    if (written === "") return
    // At once, so that a second click saves nothing twice; it comes back if nothing was saved.
    compose.reset()
    const saved = await on.save(written, { abort: event.submitter?.name === "abort" })
    if (!saved && text.value === "") text.value = written
  })
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    compose.requestSubmit(compose.elements.save)
  })
  at("server").addEventListener("change", (event) => on.mode(event.target.value))
  at("redrive-all").addEventListener("click", () => on.redrive(null))
  at("notes").addEventListener("click", (event) => {
    if (event.target.closest("button")) on.redrive(event.target.closest("li").dataset.id)
  })
}
