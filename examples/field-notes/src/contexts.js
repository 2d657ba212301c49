// Who is there: this tab's name, the other tabs, the service worker.

const PREFIX = "field-notes: "

/** The first free one of "Tab 1", "Tab 2" and so on; it is free again when the tab closes. */
export async function takeTabName() {
  if (navigator.locks === undefined) return `Tab ${crypto.randomUUID().slice(0, 4)}`
  for (let n = 1; ; n += 1) {
    if (await holdForEver(`${PREFIX}Tab ${n}`)) return `Tab ${n}`
  }
}

function holdForEver(name) {
  return new Promise((resolve, reject) => {
    const hold = (lock) => {
      resolve(lock !== null)
      return lock === null ? undefined : new Promise(() => {})
    }
    navigator.locks.request(name, { ifAvailable: true }, hold).catch(reject)
  })
}

/** The names of everybody who delivers, this tab included. */
export async function everybody(tab) {
  const names = new Set([tab])
  const held = (await navigator.locks?.query())?.held ?? []
  for (const { name } of held) if (name.startsWith(PREFIX)) names.add(name.slice(PREFIX.length))
  const sorted = [...names].sort((a, b) => a.localeCompare(b, "en", { numeric: true }))
  return (await activeServiceWorker()) === null ? sorted : [...sorted, "Service worker"]
}

// Absent, or forbidden by a setting, it is not there; the tabs do without it.
async function activeServiceWorker() {
  try {
    const registration = await navigator.serviceWorker?.getRegistration()
    return registration?.active ? registration : null
  } catch {
    return null
  }
}

/**
 * Asks the service worker to deliver even if this tab closes. Whether Background Sync is there shows only when it is
 * used: a browser without it, and one that has it switched off, get a message instead.
 */
export async function askServiceWorker() {
  const registration = await activeServiceWorker()
  if (registration === null) return
  try {
    await registration.sync.register("deliver")
  } catch {
    if (navigator.onLine !== false) registration.active?.postMessage("deliver")
  }
}
