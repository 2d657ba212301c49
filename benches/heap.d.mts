import type { ClaimedJob, EnqueueOptions, Job, JobState, QueueOptions } from "alkstore-wasm"

export interface HeapQueue {
  readonly name: string
  enqueue(payload: unknown, options?: EnqueueOptions): Promise<number>
  claimOne(workerId: string): Promise<ClaimedJob<unknown> | null>
  claimBatch(workerId: string, n: number): Promise<ClaimedJob<unknown>[]>
  ackBatch(ids: number[]): Promise<number>
  cancel(id: number): Promise<boolean>
  get(id: number): Promise<Job<unknown> | null>
  list(options?: { state?: JobState; limit?: number; after?: number }): Promise<Job<unknown>[]>
  stats(): Promise<{ pending: number; ready: number; processing: number; dead: number; nextDeadline: number | null }>
  redrive(ids?: number[]): Promise<number>
  purge(ids?: number[]): Promise<number>
  sweepExpired(): Promise<number>
}

export class HeapStore {
  constructor(options?: {
    now?: () => number
    random?: () => number
    copyIn?: (payload: unknown) => unknown
    copyOut?: (kept: unknown) => unknown
  })
  queue(name: string, options?: QueueOptions): HeapQueue
}
