// What the API did, and everything else that the store's health server tells Prometheus.

import { loadContract } from '../../door/contract.ts'
import { RequestMetrics } from '../../door/request-metrics.ts'
import {
  familyLines,
  gauge,
  METRICS_CONTENT_TYPE,
  MetricSources,
  type MetricSource,
} from '../../lib/metrics.ts'

/** Upper bounds in seconds: a lookup takes microseconds, a scan may take minutes. */
const BUCKETS_S = [
  0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
  10, 30,
]

/** For the API, which counts, and the health server, which publishes. */
export class ApiMetrics {
  readonly requests = new RequestMetrics({
    prefix: 'quarry_http_',
    operationIds: loadContract('store.v1').operations.map(({ operationId }) => operationId),
    bounds: BUCKETS_S,
  })
  readonly #sources = new MetricSources()

  /** `read` is called at every scrape. */
  addGauge(name: string, help: string, read: () => number): void {
    this.addLines(() => familyLines(gauge(name, help, read())))
  }

  addLines(read: MetricSource): void {
    this.#sources.add(read)
  }

  contentType(): string {
    return METRICS_CONTENT_TYPE
  }

  async text(): Promise<string> {
    const lines = [...this.requests.lines(), ...(await this.#sources.lines())]
    return `${lines.join('\n')}\n`
  }
}
