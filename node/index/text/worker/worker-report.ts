// What a worker, or all of them together, tell the metrics.

import type { TextMemory } from '../engine/text-memory.ts'
import { emptyReport, mergeReports, type SliceReport } from './slice-histogram.ts'

export interface CacheCounts {
  readonly hits: number
  readonly misses: number
  readonly bytes: number
}

export const CACHE_NAMES = ['pages', 'terms'] as const
export type CacheName = (typeof CACHE_NAMES)[number]
export type CacheReport = Readonly<Record<CacheName, CacheCounts>>

export interface WorkerReport {
  /** How long its slices were. */
  readonly slices: SliceReport
  /** Pages of segment files in memory, and terms looked up. */
  readonly caches: CacheReport
}

const NOTHING: CacheCounts = { hits: 0, misses: 0, bytes: 0 }

export function emptyWorkerReport(): WorkerReport {
  return { slices: emptyReport(), caches: { pages: NOTHING, terms: NOTHING } }
}

export function cachesOf({ pages, terms }: TextMemory): CacheReport {
  return { pages: countsOf(pages), terms: countsOf(terms) }
}

export function mergeWorkerReports(reports: readonly WorkerReport[]): WorkerReport {
  const sumOf = (name: CacheName): CacheCounts =>
    reports.reduce((sum, { caches }) => added(sum, caches[name]), NOTHING)
  return {
    slices: mergeReports(reports.map(({ slices }) => slices)),
    caches: { pages: sumOf('pages'), terms: sumOf('terms') },
  }
}

/** As they are now: a cache counts on. */
function countsOf({ hits, misses, bytes }: CacheCounts): CacheCounts {
  return { hits, misses, bytes }
}

function added(one: CacheCounts, more: CacheCounts): CacheCounts {
  return {
    hits: one.hits + more.hits,
    misses: one.misses + more.misses,
    bytes: one.bytes + more.bytes,
  }
}
