// What index workers did and hold, as Prometheus text. The names are from when text was the only kind of
// index, and stay: dashboards and alerts know them.

import type { Clock } from '../../../lib/clock.ts'
import { counter, familyLines, gauge, type Sample } from '../../../lib/metrics.ts'
import { SLICE_BUCKETS_MS, type Distribution, type SliceReport } from './slice-histogram.ts'
import type { IndexWorkerPool } from './index-worker-pool.ts'
import { EMPTY_CACHE, emptyWorkerReport, type CacheCounts } from './worker-report.ts'

/** A scrape does not wait longer for a worker that is held up. */
const PATIENCE_MS = 1000
const WALL = 'quarry_text_worker_slice_seconds'
const CPU = 'quarry_text_worker_slice_cpu_seconds'
const WORK = 'quarry_text_worker_slice_work_seconds'
const COLLECTIONS = 'quarry_text_worker_gc_pause_seconds'

/** The workers that the metrics describe. */
export interface WorkerMetricsOptions {
  readonly clock: Clock
  readonly pool: Pick<IndexWorkerPool, 'report' | 'pendingCalls' | 'restarts' | 'cacheNames'>
}

/** Asks the workers when somebody scrapes, and shows what they said last if they are held up. */
export class WorkerMetrics {
  readonly #with: WorkerMetricsOptions
  #last = emptyWorkerReport()

  constructor(options: WorkerMetricsOptions) {
    this.#with = options
  }

  /** The metrics of the last report if the workers do not answer in time. */
  async lines(): Promise<readonly string[]> {
    const { clock, pool } = this.#with
    const over = new AbortController()
    const timeout = clock.sleep(PATIENCE_MS, over.signal).catch(() => undefined)
    const answered = pool.report().catch(() => undefined)
    this.#last = (await Promise.race([answered, timeout.then(() => undefined)])) ?? this.#last
    over.abort()
    const { pendingCalls, restarts, cacheNames } = pool
    const { slices, caches } = this.#last
    return [
      ...sliceLines(slices),
      ...cacheLines(cacheNames.map((name) => [name, caches[name] ?? EMPTY_CACHE])),
      ...[
        gauge('quarry_text_worker_calls_pending', 'Calls that wait for an answer.', pendingCalls),
        counter(
          'quarry_text_worker_restarts_total',
          'Workers that crashed, or hung and were ended.',
          restarts,
        ),
      ].flatMap(familyLines),
    ]
  }
}

function sliceLines({ wall, cpu, work, collections, longestWorkMs }: SliceReport): string[] {
  const longest = [...longestWorkMs].map(([operation, ms]) => ({
    labels: { operation },
    value: ms / 1000,
  }))
  return [
    `# HELP ${WALL} Time that text workers held their threads without a pause.`,
    ...histogramLines(WALL, wall),
    `# HELP ${CPU} CPU time of each slice.`,
    ...histogramLines(CPU, cpu),
    `# HELP ${WORK} CPU time of each slice without garbage collections.`,
    ...histogramLines(WORK, work),
    `# HELP ${COLLECTIONS} Time that garbage collections held the threads of text workers.`,
    ...histogramLines(COLLECTIONS, collections),
    ...familyLines({
      name: 'quarry_text_worker_longest_slice_seconds',
      type: 'gauge',
      help: 'Work of the longest slice.',
      samples: longest,
    }),
  ]
}

function histogramLines(name: string, { counts, sumMs }: Distribution): string[] {
  let total = 0
  const buckets = counts.map((count, i) => {
    total += count
    const boundMs = SLICE_BUCKETS_MS[i]
    return `${name}_bucket{le="${boundMs === undefined ? '+Inf' : boundMs / 1000}"} ${total}`
  })
  const sum = `${name}_sum ${sumMs / 1000}`
  return [`# TYPE ${name} histogram`, ...buckets, sum, `${name}_count ${total}`]
}

/** Caches begin anew with their worker: a counter may fall to 0, as after a restart. */
function cacheLines(caches: readonly (readonly [string, CacheCounts])[]): readonly string[] {
  const samplesOf = (valueOf: (counts: CacheCounts) => number): Sample[] =>
    caches.map(([cache, counts]) => ({ labels: { cache }, value: valueOf(counts) }))
  return [
    ...familyLines({
      name: 'quarry_text_cache_hits_total',
      type: 'counter',
      help: 'Pages of index files, terms, selections and vectors found in memory.',
      samples: samplesOf(({ hits }) => hits),
    }),
    ...familyLines({
      name: 'quarry_text_cache_misses_total',
      type: 'counter',
      help: 'Pages of index files, terms and vectors read from disk, and selections made anew.',
      samples: samplesOf(({ misses }) => misses),
    }),
    ...familyLines({
      name: 'quarry_text_cache_bytes',
      type: 'gauge',
      help: 'Bytes that the caches hold.',
      samples: samplesOf(({ bytes }) => bytes),
    }),
  ]
}
