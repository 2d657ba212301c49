// Which requests the receiver fails, and how. A pure function of seed, delivery and attempt: every run fails alike.

import { createHash } from "node:crypto"

/**
 * No delivery fails more often than this. With the outbox's default stamps (backoff base 5 s, equal jitter) a first
 * retry waits 2.5 to 5 s and a second 5 to 10 s: two failures cost 15 s at most, and five attempts are never used up.
 */
export const FAULTS_PER_DELIVERY_MAX = 2

/** Kind → how many requests in a hundred. */
export const FAULT_SHARES = {
  /** Reads the request and answers 500. */
  answered500: 12,
  /** Drops the connection before it has read the request. */
  droppedBefore: 8,
  /** Takes the delivery in, then drops the connection instead of answering: the retry is a duplicate. */
  droppedAfter: 5,
}

/** Returns `faultOf(id, attempt)`: the kind of fault, or null. `attempt` counts from 1. */
export function faultPlan(seed) {
  return (id, attempt) => {
    if (attempt > FAULTS_PER_DELIVERY_MAX) return null
    let draw = createHash("sha256").update(`${seed}\n${id}\n${attempt}`).digest().readUInt32BE(0) % 100
    for (const [kind, share] of Object.entries(FAULT_SHARES)) {
      if (draw < share) return kind
      draw -= share
    }
    return null
  }
}
