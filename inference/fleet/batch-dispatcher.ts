// Gives each free worker the next batch of a model that it has loaded.
//
// Invariants:
//   FL1  A worker runs one batch at a time. Streams run between its batches and steps.
//   FL5  An input on which a model fails does not affect others: the items of its batch are run again,
//        one by one.

import { assert, must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { isServiceError } from '../../lib/errors.ts'
import type { ErrorCode } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { BatchRule } from '../batching/open-batch.ts'
import { WorkerHangsError } from '../runtime/worker-errors.ts'
import type { ModelWorker } from '../runtime/model-worker.ts'
import type { FleetModel, FleetWork } from './fleet-model.ts'
import type { ModelSpec } from '../models/model-spec.ts'

/** Counts batches for the metrics. */
export interface BatchObserver {
  batch(spec: ModelSpec, sizes: { readonly items: number; readonly runMs: number }): void
  /** A batch failed as a whole. A cancelled batch does not count. */
  batchFailed(spec: ModelSpec): void
  /** The time that the oldest item of a batch has waited. */
  waited(ms: number): void
}

/** The workers and models that the dispatcher brings together. */
export interface BatchDispatcherOptions {
  readonly workers: readonly ModelWorker[]
  readonly models: ReadonlyMap<unknown, FleetModel>
  readonly clock: Clock
  readonly log: Log
  readonly observer: BatchObserver
  /** Called when a worker is free again. */
  readonly onChange: () => void
}

/** Runs the queues of all models. It settles every item that it takes from a queue. */
export class BatchDispatcher {
  readonly #options: BatchDispatcherOptions
  /** The workers that run a batch. */
  readonly #running = new Set<number>()
  /** The last turn of each model. The model whose last turn is the oldest is next. */
  readonly #servedInTurn = new Map<number, number>()
  #turn = 0

  constructor(options: BatchDispatcherOptions) {
    this.#options = options
  }

  /** Gives every free worker a batch, if one of its models has waiting items. */
  dispatch(): void {
    for (const [index, worker] of this.#options.workers.entries()) {
      if (!this.#running.has(index) && worker.isUp) this.#runNext(index)
    }
  }

  #runNext(index: number): void {
    const model = this.#nextModel(index)
    if (model === undefined) return
    this.#servedInTurn.set(model.id, ++this.#turn)
    const { observer } = this.#options
    const oldestMs = model.queue.oldestMs()
    const batch = model.queue.take(ruleFor(model))
    if (batch.length === 0) return
    observer.waited(this.#nowMs() - (oldestMs ?? this.#nowMs()))
    this.#running.add(index)
    void this.#run(model, index, batch)
  }

  #nextModel(worker: number): FleetModel | undefined {
    const ready = [...this.#options.models.values()].filter(
      ({ queue, replicas, isQuiescing }) =>
        !isQuiescing && queue.size > 0 && replicas.get(worker)?.state === 'ready',
    )
    const turnOf = ({ id }: FleetModel): number => this.#servedInTurn.get(id) ?? 0
    return ready.toSorted((a, b) => turnOf(a) - turnOf(b))[0]
  }

  async #run(model: FleetModel, index: number, batch: readonly FleetWork[]): Promise<void> {
    const replica = must(model.replicas.get(index), 'the replica of a batch')
    const worker = must(this.#options.workers[index], 'a worker')
    replica.running += 1
    model.hasServed = true
    try {
      await this.#runOnce(model, worker, batch)
    } catch (error) {
      if (batch.length > 1 && isOfInput(error)) await this.#runApart(model, worker, batch)
      else this.#fail(model, batch, error)
    }
    replica.running -= 1
    this.#running.delete(index)
    model.lastUsedMs = this.#nowMs()
    this.#options.onChange()
  }

  async #runOnce(
    model: FleetModel,
    worker: ModelWorker,
    batch: readonly FleetWork[],
  ): Promise<void> {
    const startMs = this.#nowMs()
    try {
      const items = batch.map(({ item }) => item)
      const outcomes = await worker.run(model.id, items, abandonedSignal(batch))
      assert(outcomes.length === batch.length, 'an outcome for each item')
      outcomes.forEach((outcome, i) => batch[i]?.resolve(outcome))
      model.succeed()
    } finally {
      const runMs = this.#nowMs() - startMs
      const tokens = batch.reduce((sum, { cost }) => sum + cost, 0)
      model.batches.observe({ tokens, items: batch.length }, runMs)
      this.#options.observer.batch(model.spec, { items: batch.length, runMs })
    }
  }

  async #runApart(
    model: FleetModel,
    worker: ModelWorker,
    batch: readonly FleetWork[],
  ): Promise<void> {
    for (const work of batch.filter(({ isCancelled }) => !isCancelled)) {
      try {
        await this.#runOnce(model, worker, [work])
      } catch (error) {
        this.#fail(model, [work], error)
      }
    }
  }

  #fail(model: FleetModel, batch: readonly FleetWork[], error: unknown): void {
    for (const work of batch) work.reject(error)
    this.#onFailed(model, error)
  }

  /** A model that ends or blocks its workers is not tried again at once. */
  #onFailed(model: FleetModel, error: unknown): void {
    if (!isServiceError(error) || error.code === 'CANCELLED') return
    const { log, observer } = this.#options
    log.warn('batch failed', { model: model.spec.name, error: error.message })
    observer.batchFailed(model.spec)
    model.loseCall(error, this.#nowMs())
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs()
  }
}

/** A graph with a fixed length pads every row to it, so that few rows fill a batch. */
function ruleFor({ info, batches: { rule } }: FleetModel): BatchRule {
  if (info?.rowTokens === undefined) return rule
  const rowsMax = Math.max(1, Math.floor(rule.tokensMax / info.rowTokens))
  return { ...rule, itemsMax: Math.min(rule.itemsMax, rowsMax) }
}

const CODES_OF_INPUT: ReadonlySet<ErrorCode> = new Set(['INFERENCE_FAILED', 'DEADLINE_EXCEEDED'])

/** Whether an item may have caused the error. A worker that hangs is the model's fault. */
function isOfInput(error: unknown): boolean {
  if (!isServiceError(error) || error instanceof WorkerHangsError) return false
  return CODES_OF_INPUT.has(error.code)
}

/** Aborts when all items of the batch are cancelled. */
function abandonedSignal(batch: readonly FleetWork[]): AbortSignal {
  const abandoned = new AbortController()
  for (const work of batch) {
    work.onCancel = () => {
      if (batch.every(({ isCancelled }) => isCancelled)) abandoned.abort()
    }
  }
  return abandoned.signal
}
