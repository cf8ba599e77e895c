// All workers and the models that are loaded in them. The fleet runs work in workers that have its
// model. It loads models that have work, and unloads models that are idle or must make room.
//
// Invariants:
//   FL1  A worker runs one batch at a time. Streams run between its batches and steps
//        (batch-dispatcher.ts).
//   FL2  A model is loaded into a worker at most once. It is unloaded only when none of its work runs
//        there.
//   FL3  All work is answered, refused or cancelled. A model that cannot be loaded refuses its work.
//   FL4  Loaded models stay within the limits. The model that has waited longest gets room first.

import { must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { ServiceError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { BatchLimits } from '../batching/open-batch.ts'
import type { StartedRun } from '../batching/shared-results.ts'
import type { ModelWorker, WorkerListener } from '../runtime/model-worker.ts'
import { BatchDispatcher } from './batch-dispatcher.ts'
import type { BatchObserver } from './batch-dispatcher.ts'
import { FleetModel } from './fleet-model.ts'
import type { FleetWork, LoadRecord, ModelInfo } from './fleet-model.ts'
import { ModelLoader } from './model-loader.ts'
import type { LoadObserver } from './model-loader.ts'
import type { ModelSpec } from '../models/model-spec.ts'
import type { MemoryLimits } from './placement-policy.ts'
import { StreamPlaces } from './stream-places.ts'
import type { ThreadSettings } from './thread-policy.ts'

const IDLE_SWEEP_PERIOD_MS = 1_000

/** Counts the fleet's events for the metrics. */
export interface FleetObserver extends BatchObserver, LoadObserver {
  /** A worker crashed, or it hung and was killed. */
  workerEnded(): void
}

/** The settings of the fleet. `openWorker` starts one worker. */
export interface FleetOptions {
  readonly openWorker: (listener: WorkerListener) => ModelWorker
  readonly workerCount: number
  /** The most that a batch of any model may have. */
  readonly batchLimits: BatchLimits
  readonly memoryLimits: MemoryLimits
  readonly threadSettings: ThreadSettings
  /** The time that an idle model stays loaded, unless a request sets another. */
  readonly keepAliveMs: number
  readonly clock: Clock
  readonly log: Log
  readonly observer: FleetObserver
}

/** The client's request that work belongs to. */
export interface FleetRequest {
  /** Equal for all items of one client's request. */
  readonly id: number
  /** The time that the idle model stays loaded after this request. Absent: the fleet's default. */
  readonly keepAliveMs?: number
}

/** One item to run, as plain data. */
export interface FleetItem {
  readonly item: unknown
  /** The estimated number of tokens. */
  readonly cost: number
  /** Items that may share a batch are in the same group. */
  readonly group: string
}

/** A loaded model and the number of its workers. */
export interface LoadedModel {
  readonly spec: ModelSpec
  readonly workers: number
  readonly info: ModelInfo | undefined
}

/**
 * Runs items and streams of all models (FL1 to FL4). Work rejects with UNAVAILABLE when its model
 * cannot be loaded or the server stops.
 */
export class ModelFleet implements AsyncDisposable {
  readonly #options: FleetOptions
  readonly #workers: readonly ModelWorker[]
  readonly #loader: ModelLoader
  readonly #dispatcher: BatchDispatcher
  readonly #streamPlaces: StreamPlaces
  readonly #models = new Map<ModelSpec, FleetModel>()
  readonly #stopSweeping: () => Promise<void>
  #nextModel = 1
  #isPumping = false

  constructor(options: FleetOptions) {
    this.#options = options
    const { workerCount, clock, log, observer } = options
    const onChange = (): void => this.#pump()
    this.#workers = Array.from({ length: workerCount }, (_, index) =>
      options.openWorker({ onUp: onChange, onDown: () => this.#onDown(index) }),
    )
    const shared = {
      workers: this.#workers,
      models: this.#models,
      clock,
      log,
      onChange,
    }
    this.#loader = new ModelLoader({
      ...shared,
      memoryLimits: options.memoryLimits,
      threadSettings: options.threadSettings,
      observer,
    })
    this.#dispatcher = new BatchDispatcher({ ...shared, observer })
    this.#streamPlaces = new StreamPlaces({ clock, onChange })
    this.#stopSweeping = clock.every(IDLE_SWEEP_PERIOD_MS, async () => this.#sweep())
  }

  /** Whether a worker takes calls. */
  get isUp(): boolean {
    return this.workersUp > 0
  }

  get workersUp(): number {
    return this.#workers.filter(({ isUp }) => isUp).length
  }

  get queuedItems(): number {
    return this.#models.values().reduce((sum, { queue }) => sum + queue.size, 0)
  }

  loadedModels(): LoadedModel[] {
    return [...this.#models.values()]
      .filter(({ isLoaded }) => isLoaded)
      .map(({ spec, replicas, info }) => ({ spec, workers: replicas.size, info }))
  }

  /** Loads a model as soon as a worker is up, and again after a crash. It is never unloaded. */
  pin(spec: ModelSpec): void {
    this.#modelOf(spec).isPinned = true
    this.#pumpSoon()
  }

  /** The failure because of which a model refuses work now; undefined: none. */
  failureOf(spec: ModelSpec): ServiceError | undefined {
    return this.#models.get(spec)?.failureAt(this.#nowMs())
  }

  isLoaded(spec: ModelSpec): boolean {
    return this.#models.get(spec)?.isLoaded ?? false
  }

  lastLoadOf(spec: ModelSpec): LoadRecord | undefined {
    return this.#models.get(spec)?.lastLoad
  }

  /** Queues one item, which runs in some batch. The promise resolves to its outcome. */
  submit<Outcome>(spec: ModelSpec, sent: FleetItem, request: FleetRequest): StartedRun<Outcome> {
    const model = this.#modelOf(spec, request)
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
    const nowMs = this.#nowMs()
    const failure = model.failureAt(nowMs)
    if (failure !== undefined) {
      reject(failure)
      return { promise, cancel: () => undefined }
    }
    const work: FleetWork = {
      ...sent,
      request: request.id,
      resolve,
      reject,
      isCancelled: false,
      onCancel: undefined,
    }
    model.queue.add(work, request.id, nowMs)
    this.#pumpSoon()
    return { promise, cancel: () => cancelWork(model, work) }
  }

  /** Runs a stream when it gets a place. It emits events and then resolves to the stream's end. */
  async stream<End>(
    spec: ModelSpec,
    { sent, emit }: { readonly sent: unknown; readonly emit: (event: never) => void },
    request: FleetRequest,
    signal: AbortSignal,
  ): Promise<End> {
    const model = this.#modelOf(spec, request)
    const failure = model.failureAt(this.#nowMs())
    if (failure !== undefined) throw failure
    const place = await this.#streamPlaces.take(model, signal)
    try {
      signal.throwIfAborted()
      const end = await this.#workerAt(place.worker).start<End>(model.id, sent, { emit, signal })
      model.succeed()
      return end
    } catch (error) {
      model.loseCall(error, this.#nowMs())
      throw error
    } finally {
      this.#streamPlaces.giveBack(model, place)
    }
  }

  /** Rejects waiting work and waits for running work. No work may be submitted after it. */
  async close(): Promise<void> {
    await this.#stopSweeping()
    const closed = new ServiceError('UNAVAILABLE', 'the server is stopping')
    for (const model of this.#models.values()) {
      for (const work of model.queue.drain()) work.reject(closed)
      for (const stream of model.streams) stream.reject(closed)
      model.streams.clear()
    }
    await Promise.all(this.#workers.map((worker) => worker.close()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** For tests: ends a worker as a native crash does. */
  crashWorker(index: number): void {
    this.#workerAt(index).crash()
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs()
  }

  #workerAt(index: number): ModelWorker {
    return must(this.#workers[index], 'a worker')
  }

  #modelOf(spec: ModelSpec, request?: FleetRequest): FleetModel {
    let model = this.#models.get(spec)
    if (model === undefined) {
      model = new FleetModel(this.#nextModel++, spec, this.#options)
      this.#models.set(spec, model)
    }
    if (request !== undefined) {
      model.keepAliveMs = request.keepAliveMs ?? this.#options.keepAliveMs
    }
    return model
  }

  /** Runs after all items of a request are in the queue, so that the first batch is full. */
  #pumpSoon(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    queueMicrotask(() => {
      this.#isPumping = false
      this.#pump()
    })
  }

  #pump(): void {
    for (const model of this.#models.values()) {
      if (model.isQuiescing && !model.isBusy) this.#loader.evict(model)
    }
    // Loaded models run their work before they may be unloaded for another model.
    for (const model of this.#waitingModels()) this.#streamPlaces.fill(model)
    this.#dispatcher.dispatch()
    const nowMs = this.#nowMs()
    for (const model of this.#waitingModels()) {
      if (model.isToBeLoaded(nowMs)) this.#loader.place(model)
      else this.#loader.addReplica(model)
    }
  }

  /** Models with work, the longest waiting first, so that a large request cannot block other models. */
  #waitingModels(): FleetModel[] {
    const waiting = [...this.#models.values()].filter(
      ({ isWanted, isPinned }) => isWanted || isPinned,
    )
    return waiting.toSorted((a, b) => a.passedOverSinceMs() - b.passedOverSinceMs())
  }

  #onDown(index: number): void {
    this.#options.observer.workerEnded()
    for (const model of this.#models.values()) model.replicas.delete(index)
    for (const model of this.#models.values()) {
      if (model.replicas.size === 0) model.isQuiescing = false
    }
    this.#pump()
  }

  /** Unloads models after their keep-alive time. It also retries waiting work periodically. */
  #sweep(): void {
    const nowMs = this.#nowMs()
    for (const model of this.#models.values()) {
      const isInUse = model.isBusy || model.isWanted || model.isPinned
      if (!isInUse && nowMs - model.lastUsedMs >= model.keepAliveMs) this.#loader.evict(model)
    }
    this.#pump()
  }
}

function cancelWork({ queue }: FleetModel, work: FleetWork): void {
  work.isCancelled = true
  queue.cancel(work, work.request)
  work.onCancel?.()
}
