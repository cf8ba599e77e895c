// All workers and all models that are loaded in them: what waits is run where its model is, models
// are loaded where they are wanted, and unloaded when they are not or others need the room.
//
// Invariants:
//   FL1  A worker runs one batch at a time; streams share it between their steps (batch-dispatcher.ts).
//   FL2  A model is loaded into a worker at most once, and unloaded only when nothing of it runs there.
//   FL3  What waits is answered, refused or cancelled: a model that cannot be loaded refuses it.
//   FL4  Loaded models stay within the limits; who has waited longest for room gets it.

import { must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { ServiceError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { BatchLimits } from '../batching/batch-queue.ts'
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

/** What happens in the fleet, for metrics. */
export interface FleetObserver extends BatchObserver, LoadObserver {
  /** By itself: it crashed, or hung and was killed. */
  workerEnded(): void
}

export interface FleetOptions {
  readonly openWorker: (listener: WorkerListener) => ModelWorker
  readonly workerCount: number
  readonly batchLimits: BatchLimits
  readonly memoryLimits: MemoryLimits
  readonly threadSettings: ThreadSettings
  /** How long a model stays loaded after its last use; a request may say otherwise. */
  readonly keepAliveMs: number
  readonly clock: Clock
  readonly log: Log
  readonly observer: FleetObserver
}

/** How a request is to be treated by the fleet. */
export interface FleetRequest {
  /** Equal for all items of one client's request. */
  readonly id: number
  readonly keepAliveMs?: number
}

export interface FleetItem {
  readonly item: unknown
  /** Estimated tokens. */
  readonly cost: number
  /** Items that may share a batch are in the same group. */
  readonly group: string
}

/** What the fleet shows of a loaded model. */
export interface LoadedModel {
  readonly spec: ModelSpec
  readonly workers: number
  readonly info: ModelInfo | undefined
}

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
    const { workerCount, batchLimits, clock, log, observer } = options
    const onChange = (): void => this.#pump()
    this.#workers = Array.from({ length: workerCount }, (_, index) =>
      options.openWorker({ onUp: onChange, onDown: () => this.#onDown(index) }),
    )
    const shared = {
      workers: this.#workers,
      models: this.#models,
      batchLimits,
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

  /** Loads it as soon as there is a worker, and again after a crash; it is never unloaded. */
  pin(spec: ModelSpec): void {
    this.#modelOf(spec).isPinned = true
    this.#pumpSoon()
  }

  /** What keeps a model from being asked for; undefined: nothing, or it has not been tried yet. */
  failureOf(spec: ModelSpec): ServiceError | undefined {
    return this.#models.get(spec)?.failureAt(this.#nowMs())
  }

  isLoaded(spec: ModelSpec): boolean {
    return this.#models.get(spec)?.isLoaded ?? false
  }

  lastLoadOf(spec: ModelSpec): LoadRecord | undefined {
    return this.#models.get(spec)?.lastLoad
  }

  /** One item's way: it waits, runs in some batch, and its outcome is the promise's value. */
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

  /** A stream: waits for a place, emits, and resolves to what ended it. */
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

  /** Nothing may be submitted any more; what runs is waited for. */
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

  /** For tests: ends a worker as a native crash would. */
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
      model = new FleetModel(this.#nextModel++, spec, this.#options.keepAliveMs)
      this.#models.set(spec, model)
    }
    if (request !== undefined) {
      model.keepAliveMs = request.keepAliveMs ?? this.#options.keepAliveMs
    }
    return model
  }

  /** After all items of a request are in the queue, so that the first batch is a full one. */
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
    // What is loaded is used before it may be given up for another model.
    for (const model of this.#waitingModels()) this.#streamPlaces.fill(model)
    this.#dispatcher.dispatch()
    const nowMs = this.#nowMs()
    for (const model of this.#waitingModels()) {
      if (model.isToBeLoaded(nowMs)) this.#loader.place(model)
      else this.#loader.addReplica(model)
    }
  }

  /** Who was served last, or came last, comes last: a large request does not keep its model in. */
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

  /** Unloads what has not been used for as long as it is kept. Also a heartbeat for what waits. */
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
