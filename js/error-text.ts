// Why a job failed, as text: what a dead letter keeps.

/** An Error's message, anything else as `String` has it; `undefined` if there is no error. */
export function errorText(error: unknown): string | undefined {
  return error === undefined || error === null ? undefined : thrownText(error)
}

/** The same for what a delivery threw, which may be `undefined` or `null` and is a failure all the same. */
export function thrownText(error: unknown): string {
  try {
    return isError(error) ? String(error.message) : String(error)
  } catch {
    return typeof error
  }
}

// Also from another realm, such as a test runner's.
function isError(value: unknown): value is Error {
  return value instanceof Error || Object.prototype.toString.call(value) === "[object Error]"
}
