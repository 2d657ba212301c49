import type { ErrorCode } from "./types.js"

/**
 * The one error class of this package. `code` says what happened and is what a program decides by; the
 * message names the argument and its value, for people. `cause` is present where something lies underneath:
 * the storage's own error, or what WebAssembly refused with.
 *
 * A lost race or an empty queue is never an error but a value: `null`, `false`, `0` or an empty list.
 */
export class AlkstoreError extends Error {
  // Classes that users see in logs say their name themselves: a minifier takes it from everything else.
  static override readonly name: string = "AlkstoreError"

  readonly code: ErrorCode
  // `declare`: a real field would hide the cause that Error's own constructor has set.
  declare readonly cause?: unknown

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(short(message), options)
    this.code = code
  }
}

/** A value in a message may be as long as a caller likes. What is in the middle of a longer message is left out. */
const MESSAGE_MAX = 500
const MESSAGE_END = 150
const GAP = " … "

function short(message: string): string {
  if (message.length <= MESSAGE_MAX) return message
  return `${message.slice(0, MESSAGE_MAX - MESSAGE_END - GAP.length)}${GAP}${message.slice(-MESSAGE_END)}`
}

// On the prototype, so that it survives minifiers and is no own property of every error.
AlkstoreError.prototype.name = "AlkstoreError"
