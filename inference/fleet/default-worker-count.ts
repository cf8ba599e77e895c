import { availableParallelism } from 'node:os'

const WORKERS_MAX = 8

/** One worker for each core, because most models run on one core each (thread-policy.ts). */
export function defaultWorkerCount(): number {
  return Math.min(WORKERS_MAX, availableParallelism())
}
