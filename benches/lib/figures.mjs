// What all benches share: medians, work by turns, tables, and limits that become the exit code.

/** The value below which the share `q` of `values` lies. */
function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (sorted.length - 1) * q
  const [below, above] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]]
  return below + (above - below) * (at % 1)
}

export const median = (values) => quantile(values, 0.5)

/** The median with the quartiles, as a text. */
export function spread(values, digits = 0) {
  const [low, middle, high] = [0.25, 0.5, 0.75].map((q) => quantile(values, q).toFixed(digits))
  return `${middle} (${low}-${high})`
}

/** Milliseconds that `work` takes. */
export async function elapsed(work) {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/**
 * Runs each of `sides` (functions that resolve to a figure) once a round, in an order that turns round with the rounds,
 * so that whatever else the machine does hits all of them. Resolves to `{ side: figures }`.
 */
export async function byTurns(sides, rounds, { warmUps = 1 } = {}) {
  const names = Object.keys(sides)
  const figures = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = -warmUps; round < rounds; round++) {
    for (const name of round % 2 ? [...names].reverse() : names) {
      const figure = await sides[name]()
      if (round >= 0) figures[name].push(figure)
    }
  }
  return figures
}

/** The ratios of two sides' figures, round by round. */
export const ratios = (figures, beside) => figures.map((figure, round) => figure / beside[round])

/** Prints rows of texts as columns: the first to the left, the others to the right. */
export function table(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)))
  for (const row of rows) {
    const cells = row.map((cell, at) => (at === 0 ? String(cell).padEnd(widths[at]) : String(cell).padStart(widths[at])))
    console.log(cells.join("  ").trimEnd())
  }
}

/**
 * Collects what a bench promises. `atMost` and `atLeast` print each limit with its figure; `end` makes the exit code of
 * a `--check` run.
 */
export function limits(checked) {
  let missed = 0
  const hold = (name, figure, limit, held, word) => {
    if (!held) missed++
    console.log(`${held ? "held  " : "MISSED"}  ${name}: ${figure.toPrecision(3)}, ${word} ${limit}`)
  }
  return {
    atMost: (name, figure, limit) => hold(name, figure, limit, figure <= limit, "at most"),
    atLeast: (name, figure, limit) => hold(name, figure, limit, figure >= limit, "at least"),
    end() {
      process.exitCode = checked && missed > 0 ? 1 : 0
    }
  }
}
