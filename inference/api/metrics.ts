// What the server did and does, as Prometheus text.

import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { loadContract } from '../../door/contract.ts'
import { RequestMetrics } from '../../door/request-metrics.ts'
import { MetricSources, type MetricSource } from '../../lib/metrics.ts'
import type { TokenCounts } from '../pipelines/model-requests.ts'
import type { ResultSource } from '../batching/shared-results.ts'

const PREFIX = 'quarry_inference_'
/** Upper bounds in seconds: a cached vector takes a millisecond, a long text that is written minutes. */
const REQUEST_BUCKETS_S = [
  0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
]
const WAIT_BUCKETS_S = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
const LOAD_BUCKETS_S = [0.1, 0.5, 1, 2, 5, 10, 30, 60]
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32]

/**
 * The metrics of the inference server. It owns a registry, so that a test may have several in one
 * process; counts only grow while the process lives.
 */
export class InferenceMetrics {
  readonly #registry = new Registry()
  readonly #sources = new MetricSources()
  readonly requests = new RequestMetrics({
    prefix: PREFIX,
    operationIds: loadContract('inference.v1').operations.map(({ operationId }) => operationId),
    bounds: REQUEST_BUCKETS_S,
  })
  readonly #results = this.#counter(
    'results_total',
    'Results by source: the cache, a run for an equal request, or a run of their own.',
    ['task', 'source'],
  )
  readonly #tokens = this.#counter(
    'tokens_total',
    'Tokens that embedders and generators have read (input) and written (output).',
    ['model', 'direction'],
  )
  readonly #loads = this.#histogram('model_load_duration_seconds', {
    help: 'Time to load a model.',
    labelNames: ['model'],
    buckets: LOAD_BUCKETS_S,
  })
  readonly #loadFailures = this.#counter('model_load_failures_total', 'Failed loads of models.', [
    'model',
  ])
  readonly #workersEnded = this.#counter(
    'workers_ended_total',
    'Workers that crashed, or hung and were killed.',
    [],
  )
  readonly #waits = this.#histogram('queue_wait_duration_seconds', {
    help: 'Time that the oldest item of each batch waited.',
    labelNames: [],
    buckets: WAIT_BUCKETS_S,
  })
  readonly #batchItems = this.#histogram('batch_items', {
    help: 'Items of each batch.',
    labelNames: ['model'],
    buckets: BATCH_BUCKETS,
  })
  readonly #batchDurations = this.#histogram('batch_duration_seconds', {
    help: 'Time from sending a batch to a worker until its outcomes arrive.',
    labelNames: ['model'],
    buckets: WAIT_BUCKETS_S,
  })
  readonly #batchFailures = this.#counter(
    'batch_failures_total',
    'Batches that a worker did not answer.',
    ['model'],
  )

  result(task: string, source: ResultSource): void {
    this.#results.inc({ task, source })
  }

  tokens(model: string, counts: TokenCounts): void {
    for (const [direction, count] of Object.entries(counts)) {
      if (count > 0) this.#tokens.inc({ model, direction }, count)
    }
  }

  loaded(model: string, durationMs: number): void {
    this.#loads.observe({ model }, durationMs / 1000)
  }

  loadFailed(model: string): void {
    this.#loadFailures.inc({ model })
  }

  workerEnded(): void {
    this.#workersEnded.inc()
  }

  batchFailed(model: string): void {
    this.#batchFailures.inc({ model })
  }

  waited(ms: number): void {
    this.#waits.observe(ms / 1000)
  }

  batch(model: string, { items, runMs }: { readonly items: number; readonly runMs: number }): void {
    this.#batchItems.observe({ model }, items)
    this.#batchDurations.observe({ model }, runMs / 1000)
  }

  /** `read` is called at every scrape, and never tells less than before. */
  registerCounter(name: string, help: string, read: () => number): void {
    let told = 0
    const counter = new Counter({
      name: PREFIX + name,
      help,
      registers: [],
      collect() {
        const value = read()
        this.inc(value - told)
        told = value
      },
    })
    this.#registry.registerMetric(counter)
  }

  /** `read` is called at every scrape. */
  registerGauge(name: string, help: string, read: () => number): void {
    const gauge = new Gauge({
      name: PREFIX + name,
      help,
      registers: [],
      collect() {
        this.set(read())
      },
    })
    this.#registry.registerMetric(gauge)
  }

  addLines(read: MetricSource): void {
    this.#sources.add(read)
  }

  contentType(): string {
    return this.#registry.contentType
  }

  async text(): Promise<string> {
    const own = await this.#registry.metrics()
    const added = [...this.requests.lines(), ...(await this.#sources.lines())]
    return `${[own.trimEnd(), ...added].join('\n')}\n`
  }

  #counter<Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
  ): Counter<Label> {
    return new Counter({ name: PREFIX + name, help, labelNames, registers: [this.#registry] })
  }

  #histogram<Label extends string>(
    name: string,
    { help, labelNames, buckets }: HistogramShape<Label>,
  ): Histogram<Label> {
    const registers = [this.#registry]
    return new Histogram({
      name: PREFIX + name,
      help,
      labelNames,
      buckets: [...buckets],
      registers,
    })
  }
}

interface HistogramShape<Label extends string> {
  readonly help: string
  readonly labelNames: readonly Label[]
  readonly buckets: readonly number[]
}
