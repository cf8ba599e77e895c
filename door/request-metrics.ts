// How many requests each operation has answered, and how long they took.

import { familyLines, Histogram, histogramHead, type Sample } from '../lib/metrics.ts'

const STATUS_MAX = 599

/** Requests that reach no operation: unknown routes, wrong methods. */
export const NO_OPERATION = 'none'

/** The counts of one operation. `record` allocates nothing, but for the first status of a class. */
export class OperationMetrics {
  /** The number of the operation, from 1; 0 for requests without an operation. */
  readonly number: number
  readonly operation: string
  readonly #bounds: readonly number[]
  readonly #byStatus = new Float64Array(STATUS_MAX + 1)
  /** By the first digit of the status. Successes are told before there are any. */
  readonly #byClass: (Histogram | undefined)[]

  constructor(number: number, operation: string, bounds: readonly number[]) {
    this.number = number
    this.operation = operation
    this.#bounds = bounds
    this.#byClass = [undefined, undefined, new Histogram(bounds)]
  }

  record(status: number, elapsedMs: number): void {
    this.#byStatus[status] = (this.#byStatus[status] ?? 0) + 1
    const statusClass = Math.floor(status / 100)
    const durations = (this.#byClass[statusClass] ??= new Histogram(this.#bounds))
    durations.observe(elapsedMs / 1000)
  }

  requestSamples(): Sample[] {
    const { operation } = this
    return [...this.#byStatus.entries()]
      .filter(([, count]) => count > 0)
      .map(([status, value]) => ({ labels: { operation, status: String(status) }, value }))
  }

  durationLines(name: string): string[] {
    const { operation } = this
    return this.#byClass.flatMap((durations, digit) =>
      durations === undefined
        ? []
        : durations.sampleLines(name, { operation, status_class: `${digit}xx` }),
    )
  }
}

/** Names and buckets of the metrics of one API. */
export interface RequestMetricsOptions {
  /** Such as `quarry_http_`. */
  readonly prefix: string
  readonly operationIds: readonly string[]
  /** Upper bounds of the durations, in seconds. */
  readonly bounds: readonly number[]
}

/** Counts by operation; the lines of a scrape name every operation that was ever asked for. */
export class RequestMetrics {
  readonly prefix: string
  readonly #operations: ReadonlyMap<string, OperationMetrics>
  readonly #none: OperationMetrics

  constructor({ prefix, operationIds, bounds }: RequestMetricsOptions) {
    const rows = operationIds.map((id, i) => [id, new OperationMetrics(i + 1, id, bounds)] as const)
    this.prefix = prefix
    this.#operations = new Map(rows)
    this.#none = new OperationMetrics(0, NO_OPERATION, bounds)
  }

  /** The caller asks once for each operation and keeps the answer. */
  of(operationId: string): OperationMetrics {
    return this.#operations.get(operationId) ?? this.#none
  }

  lines(): readonly string[] {
    const operations = [...this.#operations.values(), this.#none]
    const duration = `${this.prefix}request_duration_seconds`
    const requests = {
      name: `${this.prefix}requests_total`,
      type: 'counter',
      help: 'Requests answered, by operation and status; 499 counts those whose client left.',
      samples: operations.flatMap((metrics) => metrics.requestSamples()),
    } as const
    return [
      ...familyLines(requests),
      ...histogramHead(duration, 'Time from the headers of a request to the end of its answer.'),
      ...operations.flatMap((metrics) => metrics.durationLines(duration)),
    ]
  }
}
