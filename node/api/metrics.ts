// Counts of what the API did, as Prometheus text.
//
// Requests are counted in plain arrays, because a labelled prom-client metric costs a hash of its
// labels per request; the arrays become text when somebody scrapes them.

import { Gauge, Registry, collectDefaultMetrics } from 'prom-client'

const PREFIX = 'quarry_'
const STATUS_MAX = 599
/** Upper bounds in seconds: a lookup takes microseconds, a scan may take minutes. */
const BUCKETS_S = [0.000_1, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 30]

/** The counts of one operation. `record` allocates nothing. */
export class OperationMetrics {
  /** Of the operation among all: from 1 on, 0 for none. */
  readonly number: number
  readonly #byStatus = new Float64Array(STATUS_MAX + 1)
  readonly #byBucket = new Float64Array(BUCKETS_S.length + 1)
  #totalMs = 0

  constructor(number: number) {
    this.number = number
  }

  record(status: number, elapsedMs: number): void {
    this.#byStatus[status] = (this.#byStatus[status] ?? 0) + 1
    const seconds = elapsedMs / 1000
    let bucket = 0
    while (bucket < BUCKETS_S.length && seconds > (BUCKETS_S[bucket] ?? 0)) bucket += 1
    this.#byBucket[bucket] = (this.#byBucket[bucket] ?? 0) + 1
    this.#totalMs += elapsedMs
  }

  requestLines(operation: string): string[] {
    return [...this.#byStatus.entries()]
      .filter(([, count]) => count > 0)
      .map(([status, count]) => {
        const labels = `operation="${operation}",status="${status}"`
        return `${PREFIX}http_requests_total{${labels}} ${count}`
      })
  }

  durationLines(operation: string): string[] {
    const name = `${PREFIX}http_request_duration_seconds`
    const label = `operation="${operation}"`
    let count = 0
    const buckets = [...BUCKETS_S, '+Inf'].map((bound, i) => {
      count += this.#byBucket[i] ?? 0
      return `${name}_bucket{${label},le="${bound}"} ${count}`
    })
    const sum = `${name}_sum{${label}} ${this.#totalMs / 1000}`
    return [...buckets, sum, `${name}_count{${label}} ${count}`]
  }
}

/** Requests that reach no operation: unknown routes, wrong methods. */
export const NO_OPERATION = 'none'

type LineSource = () => readonly string[] | Promise<readonly string[]>

export class ApiMetrics {
  readonly #registry = new Registry()
  readonly #operations: ReadonlyMap<string, OperationMetrics>
  readonly #none = new OperationMetrics(0)
  readonly #sources: LineSource[] = []

  constructor(operationIds: readonly string[]) {
    this.#operations = new Map(operationIds.map((id, i) => [id, new OperationMetrics(i + 1)]))
    collectDefaultMetrics({ register: this.#registry, prefix: PREFIX })
  }

  /** To be asked once per operation and kept. */
  of(operationId: string): OperationMetrics {
    return this.#operations.get(operationId) ?? this.#none
  }

  /** `read` is called at every scrape. The name gets the prefix `quarry_`. */
  registerGauge(name: string, help: string, read: () => number): void {
    const gauge = new Gauge({
      name: `${PREFIX}${name}`,
      help,
      registers: [],
      collect() {
        this.set(read())
      },
    })
    this.#registry.registerMetric(gauge)
  }

  /** `read` answers lines of Prometheus text at every scrape. */
  addLines(read: LineSource): void {
    this.#sources.push(read)
  }

  contentType(): string {
    return this.#registry.contentType
  }

  async text(): Promise<string> {
    const added = await Promise.all(this.#sources.map(async (read) => read()))
    const operations = [...this.#operations, [NO_OPERATION, this.#none] as const]
    const lines = [
      `# HELP ${PREFIX}http_requests_total Requests answered.`,
      `# TYPE ${PREFIX}http_requests_total counter`,
      ...operations.flatMap(([id, metrics]) => metrics.requestLines(id)),
      `# HELP ${PREFIX}http_request_duration_seconds From the headers to the end of the answer.`,
      `# TYPE ${PREFIX}http_request_duration_seconds histogram`,
      ...operations.flatMap(([id, metrics]) => metrics.durationLines(id)),
      ...added.flat(),
    ]
    return `${await this.#registry.metrics()}${lines.join('\n')}\n`
  }
}
