// Live progress: one line redrawn in place on a terminal, a plain line now and then elsewhere.

/** In characters; a terminal of 80 columns has room for a short one beside the counts. */
const BAR_WIDTH_MAX = 24
const BAR_WIDTH_MIN = 8
const REDRAW_MS = 50
const PLAIN_LINE_MS = 3_000
const CODES = { bold: 1, dim: 2, red: 31, green: 32 }

/** Returns `paint(style, text)`, which leaves text alone without a terminal or with NO_COLOR set. */
export function createPaint(out, env = process.env) {
  const colour = Boolean(out.isTTY) && !env.NO_COLOR && env.TERM !== "dumb"
  return (style, text) => (colour ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text)
}

export function createProgress(out, { total, env = process.env, now = () => performance.now() }) {
  const live = Boolean(out.isTTY) && env.TERM !== "dumb"
  const paint = createPaint(out, env)
  const started = now()
  let drawnAt = -Infinity
  let last = null

  function draw(counts) {
    last = counts
    drawnAt = now()
    const text = countsText(counts)
    // A line that wraps cannot be redrawn in place.
    const room = (out.columns || 80) - 1
    const width = Math.min(BAR_WIDTH_MAX, room - text.length - 1)
    const bar = width >= BAR_WIDTH_MIN ? `${barText(counts, width)} ` : ""
    out.write(`\r\x1b[K${bar}${text.slice(0, room)}`)
  }

  function barText({ delivered }, width) {
    const filled = Math.floor((delivered.length / total) * width)
    return paint("green", "█".repeat(filled)) + paint("dim", "░".repeat(width - filled))
  }

  function countsText({ queued, delivered, retried, dead, waiting }) {
    const counts = `queued ${queued}  delivered ${delivered.length}  retried ${retried}  dead ${dead}`
    const rest = waiting === undefined ? "" : `  waiting ${waiting}`
    return `${counts}${rest}  ${((now() - started) / 1000).toFixed(1)} s`
  }

  return {
    /** A line of its own. */
    line(text) {
      out.write(`${live && last !== null ? "\r\x1b[K" : ""}${text}\n`)
      if (live && last !== null) draw(last)
    },
    /** Something has changed: cheap enough to be called for every delivery. */
    update(counts) {
      if (live && now() - drawnAt >= REDRAW_MS) draw({ ...counts, waiting: last?.waiting })
    },
    /** A report of the schedule. */
    report(counts) {
      if (live) return draw(counts)
      if (now() - drawnAt < PLAIN_LINE_MS) return
      drawnAt = now()
      out.write(`${countsText(counts)}\n`)
    },
    /** Leaves the last state standing. */
    end() {
      if (live && last !== null) out.write("\n")
      last = null
    },
  }
}
