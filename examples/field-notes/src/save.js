// What an outbox is for: a note and its delivery are saved together, or not at all.

import { committed, NOTES, OUTBOX_STORE } from "./database.js"

/**
 * Saves a note and its delivery in one transaction and resolves to the note. With `abort` the transaction is aborted
 * after both were written, and the promise rejects with an `AbortError`.
 */
export async function saveNote({ database, outbox }, text, { abort = false } = {}) {
  const note = { id: crypto.randomUUID(), text, at: Date.now() }
  const transaction = database.transaction([NOTES, OUTBOX_STORE], "readwrite", { durability: "strict" })
  const saved = committed(transaction)
  saved.catch(() => {}) // it is awaited below, but may reject before
  try {
    transaction.objectStore(NOTES).put(note)
    await outbox.enqueue(note, { transaction })
    if (abort) transaction.abort()
  } catch (error) {
    abortUnlessDone(transaction)
    throw error
  }
  await saved
  return note
}

// A note without its delivery must not commit.
function abortUnlessDone(transaction) {
  try {
    transaction.abort()
  } catch {
    // It was aborted already.
  }
}
