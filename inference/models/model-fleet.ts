// All workers and all models that are loaded in them: what waits is run where its model is, models
// are loaded where they are wanted, and unloaded when they are not or others need the room.
//
// Invariants:
//   F1  A worker runs one batch at a time; streams share it between their steps.
//   F2  A model is loaded into a worker at most once, and unloaded only when nothing of it runs there.
//   F3  What waits is answered, refused or cancelled: a model that cannot be loaded refuses it.
//   F4  Loaded models stay within the limits; who has waited longest for room gets it.

import { availableParallelism } from 'node:os'
import { assert, must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { ServiceError, isServiceError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { BatchLimits } from '../batching/batch-queue.ts'
import type { StartedRun } from '../batching/shared-results.ts'
import { WorkerEndedError } from '../runtime/model-worker.ts'
import type { ModelWorker, WorkerListener } from '../runtime/model-worker.ts'
import { FleetModel } from './fleet-model.ts'
import type { FleetWork, LoadRecord, StreamPlace } from './fleet-model.ts'
import { ModelLoader } from './model-loader.ts'
import type { ModelSpec } from './model-spec.ts'
import type { MemoryLimits } from './placement-policy.ts'

/** Streams of one model that one worker steps through in turns. */
const STREAMS_PER_REPLICA_MAX = 4
const IDLE_SWEEP_PERIOD_MS = 1_000

/** What happens in the fleet, for metrics. */
export interface FleetObserver {
  loaded(spec: ModelSpec, durationMs: number): void
  batch(spec: ModelSpec, sizes: { readonly items: number; readonly runMs: number }): void
  waited(ms: number): void
}

export interface FleetOptions {
  readonly openWorker: (listener: WorkerListener) => ModelWorker
  readonly workerCount: number
  readonly batchLimits: BatchLimits
  readonly memoryLimits: MemoryLimits
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
  readonly info: unknown
}

export class ModelFleet implements AsyncDisposable {
  readonly #options: FleetOptions
  readonly #workers: readonly ModelWorker[]
  readonly #loader: ModelLoader
  /** Workers that have a batch. */
  readonly #running = new Set<number>()
  readonly #models = new Map<ModelSpec, FleetModel>()
  readonly #stopSweeping: () => Promise<void>
  #nextModel = 1
  /** The model that each worker served last goes last in its next choice. */
  readonly #lastServed = new Map<number, number>()
  #turn = 0
  #isPumping = false

  constructor(options: FleetOptions) {
    this.#options = options
    const { workerCount, batchLimits, memoryLimits, clock, log } = options
    this.#workers = Array.from({ length: workerCount }, (_, index) =>
      options.openWorker({ onUp: () => this.#pump(), onDown: () => this.#onDown(index) }),
    )
    this.#loader = new ModelLoader({
      workers: this.#workers,
      models: this.#models,
      batchLimits,
      memoryLimits,
      clock,
      log,
      onLoaded: (spec, durationMs) => options.observer.loaded(spec, durationMs),
      onChange: () => this.#pump(),
    })
    this.#stopSweeping = clock.every(IDLE_SWEEP_PERIOD_MS, async () => this.#sweep())
  }

  /** Whether a worker takes calls. */
  get isUp(): boolean {
    return this.#workers.some(({ isUp }) => isUp)
  }

  get queuedItems(): number {
    return this.#models.values().reduce((sum, { queue }) => sum + queue.size, 0)
  }

  loadedModels(): LoadedModel[] {
    return [...this.#models.values()]
      .filter(({ replicas }) => replicas.values().some(({ state }) => state === 'ready'))
      .map(({ spec, replicas, info }) => ({ spec, workers: replicas.size, info }))
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
    const place = await this.#placeForStream(model, signal)
    try {
      signal.throwIfAborted()
      const end = await this.#workerAt(place.worker).start<End>(model.id, sent, { emit, signal })
      model.succeed()
      return end
    } catch (error) {
      this.#onCallLost(model, error)
      throw error
    } finally {
      this.#releaseStream(model, place)
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

  async #placeForStream(model: FleetModel, signal: AbortSignal): Promise<StreamPlace> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<StreamPlace>()
    const waiting = { enqueuedAtMs: this.#nowMs(), begin: resolve, reject }
    const onAbort = (): void => {
      if (model.streams.delete(waiting)) reject(signal.reason)
    }
    model.streams.add(waiting)
    signal.addEventListener('abort', onAbort, { once: true })
    this.#pump()
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  /** On the very replica that it had: after a crash there may be another in its place. */
  #releaseStream(model: FleetModel, { replica }: StreamPlace): void {
    replica.streams -= 1
    replica.running -= 1
    model.lastUsedMs = this.#nowMs()
    this.#pump()
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
    for (const model of this.#waitingModels()) {
      this.#beginStreams(model)
      if (model.isWanted && model.replicas.size === 0) this.#loader.place(model)
      else this.#loader.addReplica(model)
    }
    for (const [index, worker] of this.#workers.entries()) {
      if (!this.#running.has(index) && worker.isUp) this.#runNext(index)
    }
  }

  /** Who was served last, or came last, comes last: a large request does not keep its model in. */
  #waitingModels(): FleetModel[] {
    const waiting = [...this.#models.values()].filter(({ isWanted }) => isWanted)
    return waiting.toSorted((a, b) => a.passedOverSinceMs() - b.passedOverSinceMs())
  }

  #beginStreams(model: FleetModel): void {
    if (model.isQuiescing) return
    for (const [worker, replica] of model.replicas) {
      for (const stream of model.streams) {
        if (replica.state !== 'ready' || replica.streams >= STREAMS_PER_REPLICA_MAX) break
        model.streams.delete(stream)
        replica.streams += 1
        replica.running += 1
        model.lastUsedMs = this.#nowMs()
        stream.begin({ worker, replica })
      }
    }
  }

  #runNext(index: number): void {
    const ready = [...this.#models.values()].filter(
      ({ queue, replicas, isQuiescing }) =>
        !isQuiescing && queue.size > 0 && replicas.get(index)?.state === 'ready',
    )
    const turnOf = ({ id }: FleetModel): number => this.#lastServed.get(id) ?? 0
    const [model] = ready.toSorted((a, b) => turnOf(a) - turnOf(b))
    if (model === undefined) return
    this.#lastServed.set(model.id, ++this.#turn)
    const oldestMs = model.queue.oldestMs()
    const batch = model.queue.take(this.#options.batchLimits)
    if (batch.length === 0) return
    this.#options.observer.waited(this.#nowMs() - (oldestMs ?? this.#nowMs()))
    this.#running.add(index)
    void this.#runBatch(model, index, batch)
  }

  async #runBatch(model: FleetModel, index: number, batch: readonly FleetWork[]): Promise<void> {
    const replica = must(model.replicas.get(index), 'the replica of a batch')
    replica.running += 1
    const startMs = this.#nowMs()
    try {
      const items = batch.map(({ item }) => item)
      const outcomes = await this.#workerAt(index).run(model.id, items, abandonedSignal(batch))
      assert(outcomes.length === batch.length, 'an outcome for each item')
      outcomes.forEach((outcome, i) => batch[i]?.resolve(outcome))
      model.succeed()
    } catch (error) {
      for (const work of batch) work.reject(error)
      this.#onBatchFailed(model, error)
    }
    const runMs = this.#nowMs() - startMs
    this.#options.observer.batch(model.spec, { items: batch.length, runMs })
    replica.running -= 1
    this.#running.delete(index)
    model.lastUsedMs = this.#nowMs()
    this.#pump()
  }

  /** A model under which workers end, or that does not end, is not tried again at once. */
  #onBatchFailed(model: FleetModel, error: unknown): void {
    if (!isServiceError(error) || error.code === 'CANCELLED') return
    this.#options.log.warn('batch failed', { model: model.spec.name, error: error.message })
    if (error.code === 'DEADLINE_EXCEEDED') model.fail(error, this.#nowMs())
    else this.#onCallLost(model, error)
  }

  #onCallLost(model: FleetModel, error: unknown): void {
    if (error instanceof WorkerEndedError && model.loseWorker(error)) {
      model.fail(error, this.#nowMs())
    }
  }

  #onDown(index: number): void {
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
      const isInUse = model.isBusy || model.isWanted
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

/** One thread for each core, one worker for each thread: measured best for models of usual size. */
export function defaultWorkerCount(): number {
  return Math.min(WORKERS_MAX, availableParallelism())
}

const WORKERS_MAX = 8
