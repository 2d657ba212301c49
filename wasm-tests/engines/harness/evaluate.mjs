// What a tab evaluates is one expression, the same in every engine: arguments and result cross as JSON.

/** An expression that calls `what` (a function, or an expression's text), and is a promise of text for `resultOf`. */
export function expressionOf(what, args) {
  const call = typeof what === "function" ? `(${what})(${args.map(argument).join(", ")})` : what
  return `(async () => {
    try {
      return JSON.stringify({ value: await (${call}) })
    } catch (error) {
      const { name, code, message, stack } = Object(error)
      return JSON.stringify({ error: { name, code, message: message ?? String(error), stack } })
    }
  })()`
}

/** The value; what was thrown in the page is thrown here, with its `name`, `code` and `message`. */
export function resultOf(text) {
  const { value, error } = JSON.parse(text)
  if (error) throw Object.assign(new Error(error.message), error)
  return value
}

/** `promise`, unless it takes longer than `ms`. */
export async function within(ms, what, promise) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

function argument(value) {
  return JSON.stringify(value) ?? "undefined"
}
