// The slices of text workers as Prometheus text.

import type { Clock } from '../../../../lib/clock.ts'
import {
  emptyReport,
  SLICE_BUCKETS_MS,
  type Distribution,
  type SliceReport,
} from './slice-histogram.ts'

/** Whoever scrapes does not wait longer for a worker that is held up. */
const PATIENCE_MS = 1000
const WALL = 'quarry_text_worker_slice_seconds'
const CPU = 'quarry_text_worker_slice_cpu_seconds'
const WORK = 'quarry_text_worker_slice_work_seconds'
const COLLECTIONS = 'quarry_text_worker_gc_pause_seconds'
const LONGEST = 'quarry_text_worker_longest_slice_seconds'

export interface SliceMetricsOptions {
  readonly clock: Clock
  readonly slices: () => Promise<SliceReport>
}

export class SliceMetrics {
  readonly #with: SliceMetricsOptions
  #last = emptyReport()

  constructor(options: SliceMetricsOptions) {
    this.#with = options
  }

  /** Of the last report, while the workers do not answer. */
  async lines(): Promise<readonly string[]> {
    const { clock, slices } = this.#with
    const over = new AbortController()
    const timeout = clock.sleep(PATIENCE_MS, over.signal).catch(() => undefined)
    const answered = slices().catch(() => undefined)
    this.#last = (await Promise.race([answered, timeout.then(() => undefined)])) ?? this.#last
    over.abort()
    return linesOf(this.#last)
  }
}

function linesOf({ wall, cpu, work, collections, longestWorkMs }: SliceReport): readonly string[] {
  return [
    `# HELP ${WALL} How long text workers held their threads without a pause.`,
    ...histogramLines(WALL, wall),
    `# HELP ${CPU} The CPU time in it.`,
    ...histogramLines(CPU, cpu),
    `# HELP ${WORK} The CPU time in it without collections of garbage.`,
    ...histogramLines(WORK, work),
    `# HELP ${COLLECTIONS} How long collections of garbage held the threads of text workers.`,
    ...histogramLines(COLLECTIONS, collections),
    `# HELP ${LONGEST} Work of the longest slice.`,
    `# TYPE ${LONGEST} gauge`,
    ...[...longestWorkMs].map(([name, ms]) => `${LONGEST}{operation="${name}"} ${ms / 1000}`),
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
