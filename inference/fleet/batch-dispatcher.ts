// Gives workers the next batch of a model that they have.
//
// Invariants:
//   FL1  A worker runs one batch at a time; streams share it between their steps.
//   FL5  An input that a model fails on fails alone: the rest of its batch is run again, one by one.

import { assert, must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { isServiceError } from '../../lib/errors.ts'
import type { ErrorCode } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { BatchLimits } from '../batching/batch-queue.ts'
import { WorkerHangsError } from '../runtime/worker-errors.ts'
import type { ModelWorker } from '../runtime/model-worker.ts'
import type { FleetModel, FleetWork } from './fleet-model.ts'
import type { ModelSpec } from '../models/model-spec.ts'

/** What happens to batches, for metrics. */
export interface BatchObserver {
  batch(spec: ModelSpec, sizes: { readonly items: number; readonly runMs: number }): void
  /** A whole batch was lost; that nobody waited for it any more is no failure. */
  batchFailed(spec: ModelSpec): void
  waited(ms: number): void
}

export interface BatchDispatcherOptions {
  readonly workers: readonly ModelWorker[]
  readonly models: ReadonlyMap<unknown, FleetModel>
  readonly batchLimits: BatchLimits
  readonly clock: Clock
  readonly log: Log
  readonly observer: BatchObserver
  /** A worker is free again. */
  readonly onChange: () => void
}

export class BatchDispatcher {
  readonly #options: BatchDispatcherOptions
  /** Workers that have a batch. */
  readonly #running = new Set<number>()
  /** By model: the turn in which it was served last. Who was served longest ago is next. */
  readonly #servedInTurn = new Map<number, number>()
  #turn = 0

  constructor(options: BatchDispatcherOptions) {
    this.#options = options
  }

  /** Every worker that is free gets something to do, if there is something for it. */
  dispatch(): void {
    for (const [index, worker] of this.#options.workers.entries()) {
      if (!this.#running.has(index) && worker.isUp) this.#runNext(index)
    }
  }

  #runNext(index: number): void {
    const model = this.#nextModel(index)
    if (model === undefined) return
    this.#servedInTurn.set(model.id, ++this.#turn)
    const { observer, batchLimits } = this.#options
    const oldestMs = model.queue.oldestMs()
    const batch = model.queue.take(limitsFor(model, batchLimits))
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

  /** A model under which workers end, or that does not end, is not tried again at once. */
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

/** Where every row is as long as the graph, few of them make a whole batch. */
function limitsFor({ info }: FleetModel, limits: BatchLimits): BatchLimits {
  if (info?.rowTokens === undefined) return limits
  const rowsMax = Math.max(1, Math.floor(limits.tokensMax / info.rowTokens))
  return { ...limits, itemsMax: Math.min(limits.itemsMax, rowsMax) }
}

const CODES_OF_INPUT: ReadonlySet<ErrorCode> = new Set(['INFERENCE_FAILED', 'DEADLINE_EXCEEDED'])

/** What a worker answers; that it does not answer is the model's fault. */
function isOfInput(error: unknown): boolean {
  if (!isServiceError(error) || error instanceof WorkerHangsError) return false
  return CODES_OF_INPUT.has(error.code)
}

/** Aborts when nobody waits for any item of the batch; others' items keep it running. */
function abandonedSignal(batch: readonly FleetWork[]): AbortSignal {
  const abandoned = new AbortController()
  for (const work of batch) {
    work.onCancel = () => {
      if (batch.every(({ isCancelled }) => isCancelled)) abandoned.abort()
    }
  }
  return abandoned.signal
}
