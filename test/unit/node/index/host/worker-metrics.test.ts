import { expect } from 'chai'
import { SliceHistogram } from '../../../../../node/index/host/slice-histogram.ts'
import { WorkerMetrics } from '../../../../../node/index/host/worker-metrics.ts'
import {
  mergeWorkerReports,
  type WorkerReport,
} from '../../../../../node/index/host/worker-report.ts'
import { ManualClock } from '../../../../../lib/clock.ts'

describe('the metrics of index workers', () => {
  const slices = new SliceHistogram()
  slices.add({ operation: 'search', ms: 30, cpuMs: 9, workMs: 4 })
  slices.add({ operation: 'apply', ms: 3, cpuMs: 3, workMs: 3 })
  slices.add({ operation: 'search', ms: 6000, cpuMs: 70, workMs: 7 })
  slices.addCollection(63)
  const report: WorkerReport = {
    slices: slices.report(),
    caches: {
      pages: { hits: 7, misses: 2, bytes: 4096 },
      terms: { hits: 0, misses: 1, bytes: 300 },
    },
  }
  const pool = {
    report: async () => report,
    pendingCalls: 3,
    restarts: 1,
    cacheNames: ['pages', 'terms'],
  }

  it('include histograms of slices, and the longest slice of each operation', async () => {
    const clock = new ManualClock()
    const metrics = new WorkerMetrics({ clock, pool })

    const lines = await metrics.lines()

    expect(lines).to.include.members([
      '# TYPE quarry_text_worker_slice_seconds histogram',
      'quarry_text_worker_slice_seconds_bucket{le="0.005"} 1',
      'quarry_text_worker_slice_seconds_bucket{le="0.05"} 2',
      'quarry_text_worker_slice_seconds_bucket{le="+Inf"} 3',
      'quarry_text_worker_slice_seconds_sum 6.033',
      'quarry_text_worker_slice_seconds_count 3',
      'quarry_text_worker_slice_cpu_seconds_bucket{le="0.005"} 1',
      'quarry_text_worker_slice_cpu_seconds_bucket{le="0.01"} 2',
      'quarry_text_worker_slice_work_seconds_bucket{le="0.005"} 2',
      'quarry_text_worker_slice_work_seconds_bucket{le="0.01"} 3',
      'quarry_text_worker_gc_pause_seconds_bucket{le="0.05"} 0',
      'quarry_text_worker_gc_pause_seconds_bucket{le="0.1"} 1',
      'quarry_text_worker_gc_pause_seconds_sum 0.063',
      'quarry_text_worker_longest_slice_seconds{operation="search"} 0.007',
      'quarry_text_worker_longest_slice_seconds{operation="apply"} 0.003',
    ])
  })

  it('include hits and misses of caches, waiting calls and restarts', async () => {
    const metrics = new WorkerMetrics({ clock: new ManualClock(), pool })

    const lines = await metrics.lines()

    expect(lines).to.include.members([
      'quarry_text_cache_hits_total{cache="pages"} 7',
      'quarry_text_cache_misses_total{cache="terms"} 1',
      'quarry_text_cache_bytes{cache="pages"} 4096',
      'quarry_text_worker_calls_pending 3',
      'quarry_text_worker_restarts_total 1',
    ])
  })

  it('are summed over the workers', () => {
    const { caches } = mergeWorkerReports([report, report])

    expect(caches['pages']).to.deep.equal({ hits: 14, misses: 4, bytes: 8192 })
  })

  it('are the last known ones while a worker does not answer', async () => {
    const clock = new ManualClock()
    let isHeld = false
    const held = new Promise<WorkerReport>(() => undefined)
    const metrics = new WorkerMetrics({
      clock,
      pool: { ...pool, report: () => (isHeld ? held : pool.report()) },
    })
    const before = await metrics.lines()

    isHeld = true
    const reading = metrics.lines()
    clock.advance(1000)

    expect(await reading).to.deep.equal(before)
  })
})
