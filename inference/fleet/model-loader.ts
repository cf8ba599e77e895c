// Loads models into workers and unloads them, within the limits.

import { assert, must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { ServiceError, messageOf } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import { WorkerEndedError } from '../runtime/worker-errors.ts'
import type { ModelWorker } from '../runtime/model-worker.ts'
import type { FleetModel, ModelInfo, Replica } from './fleet-model.ts'
import type { ModelSpec } from '../models/model-spec.ts'
import { decidePlacement, decideReplica, memoryBytesOf } from './placement-policy.ts'
import type { MemoryLimits, Placement, PlacementQuestion } from './placement-policy.ts'
import { mayHaveReplicas } from './thread-policy.ts'
import type { ThreadSettings } from './thread-policy.ts'

/** Counts loads for the metrics. */
export interface LoadObserver {
  loaded(spec: ModelSpec, durationMs: number): void
  loadFailed(spec: ModelSpec): void
}

/** The workers, models and limits of the loader. */
export interface LoaderOptions {
  /** All workers. Replicas refer to them by their index. */
  readonly workers: readonly ModelWorker[]
  /** All models that were ever requested. The loader reads and changes their replicas. */
  readonly models: ReadonlyMap<ModelSpec, FleetModel>
  readonly memoryLimits: MemoryLimits
  readonly threadSettings: ThreadSettings
  readonly clock: Clock
  readonly log: Log
  readonly observer: LoadObserver
  /** Called after each load, failed load and unload, because other work may now proceed. */
  readonly onChange: () => void
}

/** Carries out the decisions of the placement policy. Failures reach the model's waiting work. */
export class ModelLoader {
  readonly #options: LoaderOptions

  constructor(options: LoaderOptions) {
    this.#options = options
  }

  /** Handles a model with work and without a worker: loads it, makes room, waits, or refuses it. */
  place(model: FleetModel): void {
    const waitedMs =
      this.#options.clock.monotonicMs() -
      (model.waitingSinceMs() ?? this.#options.clock.monotonicMs())
    const { fileBytes } = model.spec
    this.#follow(model, decidePlacement({ fileBytes, waitedMs, ...this.#situation() }))
  }

  #situation(): Pick<PlacementQuestion, 'placed' | 'workers' | 'limits'> {
    const { models, workers, memoryLimits: limits } = this.#options
    const loaded = [...models.values()].filter(({ replicas }) => replicas.size > 0)
    const up = [...workers.entries()].filter(([, worker]) => worker.isUp)
    return {
      placed: loaded.map((model) => model.placed()),
      workers: up.map(([index]) => ({ index, bytes: this.#bytesIn(index) })),
      limits,
    }
  }

  #bytesIn(worker: number): number {
    return [...this.#options.models.values()]
      .filter(({ replicas }) => replicas.has(worker))
      .reduce((sum, { spec }) => sum + memoryBytesOf(spec.fileBytes), 0)
  }

  #follow(model: FleetModel, placement: Placement): void {
    switch (placement.kind) {
      case 'load':
        void this.#load(model, placement.worker)
        return
      case 'evict':
        for (const id of placement.models) this.evict(this.#byId(id))
        return
      case 'quiesce':
        this.#byId(placement.model).isQuiescing = true
        return
      case 'wait':
        return
      case 'impossible': {
        const message =
          `model ${model.spec.name} does not fit beside the preloaded models: ` +
          'raise the limit of memory or of loaded models, or preload fewer'
        model.fail(new ServiceError('UNAVAILABLE', message), this.#options.clock.monotonicMs())
      }
    }
  }

  #byId(id: number): FleetModel {
    return must(
      this.#options.models.values().find((model) => model.id === id),
      'a placed model',
    )
  }

  /** Unloads a model from all its workers. None of its work may run. */
  evict(model: FleetModel): void {
    for (const worker of model.replicas.keys()) void this.#unload(model, worker)
  }

  /** Loads a model into another worker if its workers cannot keep up with its work. */
  addReplica(model: FleetModel): void {
    const { clock, threadSettings } = this.#options
    if (!mayHaveReplicas(model.spec, threadSettings)) return
    if (model.isQuiescing || !model.hasBacklog(clock.monotonicMs())) return
    if (model.replicas.values().some(({ state }) => state !== 'ready')) return
    const worker = decideReplica(model.placed(), this.#situation())
    if (worker !== undefined) void this.#load(model, worker)
  }

  async #load(model: FleetModel, worker: number): Promise<void> {
    const { clock, log, observer, onChange } = this.#options
    const replica: Replica = { state: 'loading', running: 0, streams: 0 }
    if (model.replicas.size === 0) model.hasServed = false
    model.replicas.set(worker, replica)
    const startMs = clock.monotonicMs()
    try {
      const info = await this.#workerAt(worker).load<ModelInfo>(model.id, model.spec)
      if (model.info === undefined) this.#logWarnings(model.spec, info)
      model.info = info
      const durationMs = clock.monotonicMs() - startMs
      replica.state = 'ready'
      model.lastUsedMs = this.#options.clock.monotonicMs()
      model.lastLoad = { finishedAtMs: clock.monotonicMs(), durationMs }
      observer.loaded(model.spec, durationMs)
      log.info('model loaded', { model: model.spec.name, worker, durationMs })
    } catch (error) {
      if (model.replicas.get(worker) === replica) model.replicas.delete(worker)
      this.#onLoadFailed(model, error)
    }
    onChange()
  }

  /** Logs warnings only for the first load, not for each worker and not again after an eviction. */
  #logWarnings({ name }: ModelSpec, { warnings, tokenizerWarnings }: ModelInfo): void {
    const { log } = this.#options
    if (warnings.length > 0) log.warn('model has warnings', { model: name, warnings })
    if (tokenizerWarnings.length === 0) return
    const said = { model: name, warnings: tokenizerWarnings }
    log.warn('tokenizer may differ from the reference', said)
  }

  #onLoadFailed(model: FleetModel, error: unknown): void {
    const reason = messageOf(error)
    const { log, observer } = this.#options
    log.error('model failed to load', { model: model.spec.name, reason })
    observer.loadFailed(model.spec)
    if (model.replicas.size > 0) return // another worker has it
    if (error instanceof WorkerEndedError && !model.loseWorker(error)) return // its work waits
    const message = `model ${model.spec.name} failed to load: ${reason}`
    model.fail(
      new ServiceError('UNAVAILABLE', message, { cause: error }),
      this.#options.clock.monotonicMs(),
    )
  }

  async #unload(model: FleetModel, worker: number): Promise<void> {
    const replica = must(model.replicas.get(worker), 'a replica')
    assert(replica.running === 0, 'nothing runs on what is unloaded')
    replica.state = 'unloading'
    const failure = await this.#workerAt(worker)
      .unload(model.id)
      .then(
        () => undefined,
        (error: unknown) => error, // the worker ended, which also frees the model
      )
    if (model.replicas.get(worker) === replica) model.replicas.delete(worker)
    if (model.replicas.size === 0) model.isQuiescing = false
    const { log, onChange } = this.#options
    log.info('model unloaded', { model: model.spec.name, worker, failed: failure !== undefined })
    onChange()
  }

  #workerAt(index: number): ModelWorker {
    return must(this.#options.workers[index], 'a worker')
  }
}
