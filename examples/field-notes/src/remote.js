// What the page asks the server about itself.

/** In milliseconds. */
const ANSWER_MS_MAX = 2_000

/** The server's books, or `null` if it cannot be reached. */
export function readServer() {
  return navigator.onLine === false ? Promise.resolve(null) : ask({})
}

/** Makes the server `up`, `flaky` or `down`; resolves like `readServer`. */
export function switchServer(mode) {
  const headers = { "content-type": "application/json" }
  return ask({ method: "PUT", headers, body: JSON.stringify({ mode }) })
}

async function ask(options) {
  try {
    const response = await fetch("api/server", { ...options, signal: AbortSignal.timeout(ANSWER_MS_MAX) })
    return response.ok ? await response.json() : null
  } catch {
    return null
  }
}
