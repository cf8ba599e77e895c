// What the API did, and everything else that the store's health server tells Prometheus.

import {
  familyLines,
  gauge,
  Histogram,
  histogramHead,
  METRICS_CONTENT_TYPE,
  samplesBy,
  MetricSources,
  type MetricSource,
  type Sample,
} from '../../lib/metrics.ts'

const REQUESTS = 'quarry_http_requests_total'
const DURATION = 'quarry_http_request_duration_seconds'
const STATUS_MAX = 599
/** Upper bounds in seconds: a lookup takes microseconds, a scan may take minutes. */
const BUCKETS_S = [
  0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
  10, 30,
]

/** The counts of one operation. `record` allocates nothing, but for the first status of a class. */
export class OperationMetrics {
  /** Of the operation among all: from 1 on, 0 for none. */
  readonly number: number
  readonly operation: string
  readonly #byStatus = new Float64Array(STATUS_MAX + 1)
  /** By the first digit of the status. Successes are told before there are any. */
  readonly #byClass: (Histogram | undefined)[] = [undefined, undefined, new Histogram(BUCKETS_S)]

  constructor(number: number, operation: string) {
    this.number = number
    this.operation = operation
  }

  record(status: number, elapsedMs: number): void {
    this.#byStatus[status] = (this.#byStatus[status] ?? 0) + 1
    const statusClass = Math.floor(status / 100)
    const durations = (this.#byClass[statusClass] ??= new Histogram(BUCKETS_S))
    durations.observe(elapsedMs / 1000)
  }

  requestSamples(): Sample[] {
    const { operation } = this
    return [...this.#byStatus.entries()]
      .filter(([, count]) => count > 0)
      .map(([status, value]) => ({ labels: { operation, status: String(status) }, value }))
  }

  durationLines(): string[] {
    const { operation } = this
    return this.#byClass.flatMap((durations, digit) =>
      durations === undefined
        ? []
        : durations.sampleLines(DURATION, { operation, status_class: `${digit}xx` }),
    )
  }
}

/** Requests that reach no operation: unknown routes, wrong methods. */
export const NO_OPERATION = 'none'

export class ApiMetrics {
  readonly #operations: ReadonlyMap<string, OperationMetrics>
  readonly #none = new OperationMetrics(0, NO_OPERATION)
  readonly #sources = new MetricSources()

  constructor(operationIds: readonly string[]) {
    this.#operations = new Map(operationIds.map((id, i) => [id, new OperationMetrics(i + 1, id)]))
  }

  /** To be asked once per operation and kept. */
  of(operationId: string): OperationMetrics {
    return this.#operations.get(operationId) ?? this.#none
  }

  /** `read` is called at every scrape. */
  addGauge(name: string, help: string, read: () => number): void {
    this.addLines(() => familyLines(gauge(name, help, read())))
  }

  /** `read` answers counts by the value of a label, at every scrape. */
  addCounters(
    { name, help, label }: { readonly name: string; readonly help: string; readonly label: string },
    read: () => Readonly<Record<string, number>>,
  ): void {
    this.addLines(() =>
      familyLines({ name, type: 'counter', help, samples: samplesBy(label, read()) }),
    )
  }

  addLines(read: MetricSource): void {
    this.#sources.add(read)
  }

  contentType(): string {
    return METRICS_CONTENT_TYPE
  }

  async text(): Promise<string> {
    const operations = [...this.#operations.values(), this.#none]
    const requests = {
      name: REQUESTS,
      type: 'counter',
      help: 'Requests answered, by operation and status; 499 counts those whose client left.',
      samples: operations.flatMap((metrics) => metrics.requestSamples()),
    } as const
    const lines = [
      ...familyLines(requests),
      ...histogramHead(DURATION, 'Time from the headers of a request to the end of its answer.'),
      ...operations.flatMap((metrics) => metrics.durationLines()),
      ...(await this.#sources.lines()),
    ]
    return `${lines.join('\n')}\n`
  }
}
