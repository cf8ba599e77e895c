// What a worker, or all of them together, tell the metrics.

import { emptyReport, mergeReports, type SliceReport } from './slice-histogram.ts'

/** How a cache did since its worker started, and how much it holds. */
export interface CacheCounts {
  readonly hits: number
  readonly misses: number
  readonly bytes: number
}

/** By the cache's name, which no two kinds of index share. */
export type CacheReport = Readonly<Record<string, CacheCounts>>

/** What one worker, or all together, did and hold. */
export interface WorkerReport {
  /** How long its slices were. */
  readonly slices: SliceReport
  /** What its indexes keep in memory of their files. */
  readonly caches: CacheReport
}

export const EMPTY_CACHE: CacheCounts = { hits: 0, misses: 0, bytes: 0 }

export function emptyWorkerReport(): WorkerReport {
  return { slices: emptyReport(), caches: {} }
}

export function mergeWorkerReports(reports: readonly WorkerReport[]): WorkerReport {
  const caches: Record<string, CacheCounts> = {}
  for (const report of reports) {
    for (const [name, counts] of Object.entries(report.caches)) {
      caches[name] = sumOf(caches[name] ?? EMPTY_CACHE, counts)
    }
  }
  return { slices: mergeReports(reports.map(({ slices }) => slices)), caches }
}

function sumOf(one: CacheCounts, more: CacheCounts): CacheCounts {
  return {
    hits: one.hits + more.hits,
    misses: one.misses + more.misses,
    bytes: one.bytes + more.bytes,
  }
}
