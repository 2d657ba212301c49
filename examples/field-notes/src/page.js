// A tab: saves notes, delivers them, and shows how they are doing.

import { boardOf } from "./board.js"
import { onTold, tellOthers } from "./changes.js"
import { askServiceWorker, everybody, takeTabName } from "./contexts.js"
import { readNotes } from "./database.js"
import { deliverUntil } from "./delivery.js"
import { readServer, switchServer } from "./remote.js"
import { saveNote } from "./save.js"
import { openStore, readJobs } from "./store.js"
import { drawBoard, drawContexts, drawNetwork, drawProblem, drawServer, listen, say } from "./view.js"

main().catch((error) => drawProblem(`Field notes could not start: ${error.message}`))

async function main() {
  const tab = await takeTabName()
  const stop = new AbortController()
  const notes = await openStore(() => {
    stop.abort()
    drawProblem("The notes have moved on in another tab. Reload this page.")
  })
  const refreshBoard = oneAtATime(async () => {
    if (stop.signal.aborted) return
    try {
      await showBoard(tab, notes)
      if (!stop.signal.aborted) drawProblem(null)
    } catch (error) {
      if (!stop.signal.aborted) drawProblem(`The board is not up to date: ${error.message}`)
    }
  })
  // On its own: the board does not wait for a server that takes its time.
  const refreshServer = oneAtATime(async () => drawServer(await readServer()))
  const refresh = () => {
    drawNetwork(navigator.onLine !== false)
    refreshBoard()
    refreshServer()
  }
  const onChange = () => {
    tellOthers()
    refresh()
  }

  listen({
    async save(text, { abort }) {
      try {
        await saveNote(notes, text, { abort })
      } catch (error) {
        const aborted = error.name === "AbortError"
        say(aborted ? "Aborted: neither the note nor its delivery was kept." : `Not saved: ${error.message}`)
        return false
      }
      say(navigator.onLine === false ? "Saved. It will be delivered once you are online." : "Saved.")
      onChange()
      void askServiceWorker()
      // Now there is something to lose. Not awaited: the browser may ask the user.
      notes.store.persist().catch(() => {})
      return true
    },
    async mode(mode) {
      drawServer(await switchServer(mode))
      onChange()
    },
    async redrive(id) {
      try {
        await redrive(notes.outbox, id)
      } catch (error) {
        drawProblem(`Not redriven: ${error.message}`)
        return
      }
      onChange()
      void askServiceWorker()
    }
  })
  onTold(refresh)
  for (const name of ["online", "offline"]) addEventListener(name, refresh)
  addEventListener("pageshow", refresh)
  addEventListener("pagehide", tellOthers)
  document.addEventListener("visibilitychange", () => {
    // Nobody knows whether a hidden tab comes back.
    if (document.visibilityState === "hidden") void askServiceWorker()
    refresh()
  })

  onChange()
  void registerServiceWorker(refresh)
  await deliverUntil(stop.signal, {
    outbox: notes.outbox,
    worker: tab,
    onChange,
    onError: (error) => drawProblem(`Delivering rests for a moment: ${error.message}`)
  })
}

// The notes before the jobs: see `boardOf`.
async function showBoard(tab, { database, outbox }) {
  const notes = await readNotes(database)
  const board = boardOf(notes, await readJobs(outbox))
  drawBoard(board)
  drawContexts(await everybody(tab), tab, board)
}

async function redrive(outbox, note) {
  const dead = (await readJobs(outbox)).filter(({ state }) => state === "dead")
  const chosen = dead.filter(({ payload }) => note === null || payload.id === note)
  await outbox.redrive(chosen.map(({ id }) => id))
}

async function registerServiceWorker(refresh) {
  if (navigator.serviceWorker === undefined) return
  navigator.serviceWorker.addEventListener("controllerchange", refresh)
  try {
    await navigator.serviceWorker.register("./sw.js")
    await navigator.serviceWorker.ready
    refresh()
    await askServiceWorker()
  } catch (error) {
    console.warn("no service worker, so no page without a network:", error)
  }
}

// However often it is called, `work`, which never rejects, runs once at a time, and once more after the last call.
function oneAtATime(work) {
  let again = false
  let running = false
  return async () => {
    again = true
    if (running) return
    running = true
    while (again) {
      again = false
      await work()
    }
    running = false
  }
}
