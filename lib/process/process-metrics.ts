// The metrics of every Node process, under the names that ready-made dashboards use. They have no
// prefix of ours.

import { collectDefaultMetrics, Registry } from 'prom-client'
import { familyLines, type MetricSource } from '../metrics.ts'
import { readProduct } from './product.ts'

/** These gauges have the names of counters. The sums over the metrics without `_total` are the same. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/**
 * `process_*`, `nodejs_*` and `quarry_build_info`. Two servers in one process report the same
 * values.
 */
export function processMetrics(): MetricSource {
  const register = new Registry()
  collectDefaultMetrics({ register })
  for (const name of MISNAMED) register.removeSingleMetric(name)
  const { version } = readProduct()
  const build = familyLines({
    name: 'quarry_build_info',
    type: 'gauge',
    help: 'Always 1; the labels name the running version.',
    samples: [{ labels: { version, node: process.version }, value: 1 }],
  })
  return async () => {
    const text = await register.metrics()
    return [...text.split('\n').filter((line) => line !== ''), ...build]
  }
}
