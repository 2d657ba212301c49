// The format of the recorded traces: instants and durations in seconds, names in snake case, ids as recorded.

export type Expect<T> = { ok: T } | { error: string }
export type Options = Record<string, number>
/** A recorded job; the ids are those of the recording. */
export type RecordedJob = { id: number; queue: string } & Record<string, unknown>

interface Shape<Op extends string, Ok> {
  at: number
  op: Op
  expect: Expect<Ok>
}

export type Enqueue = Shape<"enqueue", number> & { queue: string; payload: unknown; opts: Options }
export type OutboxEnqueue = Shape<"outbox_enqueue", number> & { outbox: string; payload: unknown; opts: Options }

export type Step =
  | Enqueue
  | OutboxEnqueue
  | (Shape<"claim", RecordedJob[]> & { queue: string; worker: string; n: number; claims: string[] })
  | (Shape<"ack", boolean> & { claim: string })
  | (Shape<"retry", boolean> & { claim: string; error: string | null; delay: number | null })
  | (Shape<"fail", boolean> & { claim: string; error: string | null })
  | (Shape<"heartbeat", boolean> & { claim: string; extend: number })
  | (Shape<"get_job", RecordedJob | null> & { id: number })
  | (Shape<"cancel", boolean> & { queue: string; id: number })
  | (Shape<"sweep_expired", number> & { queue: string })
  | (Shape<"try_lock", boolean> & { name: string; owner: string; ttl: number; lock: string | null })
  | (Shape<"renew_lock", boolean> & { lock: string; ttl: number })
  | (Shape<"release_lock", boolean> & { lock: string })
  | (Shape<"schedule", Record<string, unknown>> & {
      name: string
      spec: string
      queue: string
      payload: unknown
      opts: Options
    })
  | (Shape<"unschedule", boolean> & { name: string })
  | (Shape<"run_schedules_once", null> & object)
  | (Shape<"outbox_run_once", boolean> & {
      outbox: string
      worker: string
      heartbeat: number | null
      delivered: RecordedJob | null
    })
  | (Shape<"transaction", null> & { ops: (Enqueue | OutboxEnqueue)[]; commit: boolean })

export interface Trace {
  seed: number
  start: number
  queues: Record<string, Options>
  steps: Step[]
  end: { at: number; jobs: RecordedJob[] }
}
