// What every Node process tells of itself, under the names that ready-made dashboards know: without
// a prefix of ours.

import { collectDefaultMetrics, Registry } from 'prom-client'
import { familyLines, type MetricSource } from '../metrics.ts'
import { readProduct } from './product.ts'

/** Gauges with the name of counters; the sums over their namesakes without `_total` say the same. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** `process_*`, `nodejs_*` and `quarry_build_info`. Two servers in one process tell the same. */
export function processMetrics(): MetricSource {
  const register = new Registry()
  collectDefaultMetrics({ register })
  for (const name of MISNAMED) register.removeSingleMetric(name)
  const { version } = readProduct()
  const build = familyLines({
    name: 'quarry_build_info',
    type: 'gauge',
    help: 'Always 1; the labels say what runs.',
    samples: [{ labels: { version, node: process.version }, value: 1 }],
  })
  return async () => {
    const text = await register.metrics()
    return [...text.split('\n').filter((line) => line !== ''), ...build]
  }
}
