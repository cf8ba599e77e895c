// What the server did and does, as Prometheus text.

import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import type { ResultSource } from '../batching/shared-results.ts'

const PREFIX = 'quarry_inference_'
const REQUEST_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60]
const WAIT_BUCKETS_S = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
const LOAD_BUCKETS_S = [0.1, 0.5, 1, 2, 5, 10, 30, 60]
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32]

/** Requests that reach no operation: unknown routes, wrong methods. */
export const NO_OPERATION = 'none'

export class InferenceMetrics {
  readonly #registry = new Registry()
  readonly #requests: Counter<'operation' | 'status'>
  readonly #durations: Histogram<'operation'>
  readonly #results: Counter<'task' | 'source'>
  readonly #loads: Histogram<'model'>
  readonly #loadFailures: Counter<'model'>
  readonly #workersEnded: Counter
  readonly #waits: Histogram
  readonly #batchItems: Histogram<'model'>
  readonly #batchDurations: Histogram<'model'>
  readonly #batchFailures: Counter<'model'>

  constructor() {
    const registers = [this.#registry]
    collectDefaultMetrics({ register: this.#registry, prefix: 'quarry_' })
    this.#requests = new Counter({
      name: `${PREFIX}requests_total`,
      help: 'Requests answered.',
      labelNames: ['operation', 'status'],
      registers,
    })
    this.#durations = new Histogram({
      name: `${PREFIX}request_duration_seconds`,
      help: 'From the headers to the end of the answer.',
      labelNames: ['operation'],
      buckets: REQUEST_BUCKETS_S,
      registers,
    })
    this.#results = new Counter({
      name: `${PREFIX}results_total`,
      help: 'Results by where they came from: memory, a run that was under way, or a run of their own.',
      labelNames: ['task', 'source'],
      registers,
    })
    this.#loads = new Histogram({
      name: `${PREFIX}model_load_duration_seconds`,
      help: 'How long loading a model took.',
      labelNames: ['model'],
      buckets: LOAD_BUCKETS_S,
      registers,
    })
    this.#loadFailures = new Counter({
      name: `${PREFIX}model_load_failures_total`,
      help: 'Loads that failed.',
      labelNames: ['model'],
      registers,
    })
    this.#workersEnded = new Counter({
      name: `${PREFIX}workers_ended_total`,
      help: 'Workers that crashed, or hung and were killed.',
      registers,
    })
    this.#waits = new Histogram({
      name: `${PREFIX}queue_wait_duration_seconds`,
      help: 'How long the oldest item of each batch had waited.',
      buckets: WAIT_BUCKETS_S,
      registers,
    })
    this.#batchItems = new Histogram({
      name: `${PREFIX}batch_items`,
      help: 'Items of each batch.',
      labelNames: ['model'],
      buckets: BATCH_BUCKETS,
      registers,
    })
    this.#batchDurations = new Histogram({
      name: `${PREFIX}batch_duration_seconds`,
      help: 'From a batch being sent to a worker to its outcomes.',
      labelNames: ['model'],
      buckets: WAIT_BUCKETS_S,
      registers,
    })
    this.#batchFailures = new Counter({
      name: `${PREFIX}batch_failures_total`,
      help: 'Batches that a worker did not answer.',
      labelNames: ['model'],
      registers,
    })
  }

  request(operation: string, status: number, elapsedMs: number): void {
    this.#requests.inc({ operation, status })
    this.#durations.observe({ operation }, elapsedMs / 1000)
  }

  result(task: string, source: ResultSource): void {
    this.#results.inc({ task, source })
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

  contentType(): string {
    return this.#registry.contentType
  }

  text(): Promise<string> {
    return this.#registry.metrics()
  }
}
