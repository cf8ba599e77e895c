// One model as the fleet keeps it: what waits for it, where it is loaded, and why it may not be.

import { BatchQueue } from '../batching/batch-queue.ts'
import type { QueuedWork } from '../batching/batch-queue.ts'
import type { ServiceError } from '../../lib/errors.ts'
import { WorkerEndedError, WorkerHangsError } from '../runtime/worker-errors.ts'
import type { ModelSpec } from '../models/model-spec.ts'
import type { PlacedModel } from './placement-policy.ts'

/** After a failure, a model is not tried for this long; it doubles with each further one. */
const RETRY_BASE_MS = 5_000
const RETRY_CAP_MS = 300_000
const LOST_WORKERS_MAX = 1
/** A queue that exceeds one batch for this long gets another worker. */
const BACKLOG_MS = 100

export interface FleetWork extends QueuedWork {
  readonly item: unknown
  readonly request: number
  readonly resolve: (outcome: never) => void
  readonly reject: (error: unknown) => void
  /** Nobody waits for it any more. */
  isCancelled: boolean
  /** Told when it is cancelled in the middle of its batch. */
  onCancel: (() => void) | undefined
}

export interface WaitingStream {
  readonly enqueuedAtMs: number
  readonly begin: (place: StreamPlace) => void
  readonly reject: (error: unknown) => void
}

export type ReplicaState = 'loading' | 'ready' | 'unloading'

export interface Replica {
  state: ReplicaState
  /** Batches and streams that run there. */
  running: number
  streams: number
}

/** Where a stream runs. */
export interface StreamPlace {
  readonly worker: number
  readonly replica: Replica
}

interface Failure {
  readonly error: ServiceError
  readonly untilMs: number
}

export interface LoadRecord {
  readonly finishedAtMs: number
  readonly durationMs: number
}

/** What a worker says about a model that it has loaded. */
export interface ModelInfo {
  /** Of an embedder's vectors; undefined for other kinds. */
  readonly dimension: number | undefined
  /** To how many tokens a graph pads every row; undefined: to those of the longest. */
  readonly rowTokens: number | undefined
  /** What is to be known about its answers. */
  readonly warnings: readonly string[]
  /** In what the tokenizer may differ from the reference implementation. */
  readonly tokenizerWarnings: readonly string[]
}

export class FleetModel {
  readonly id: number
  readonly spec: ModelSpec
  readonly queue = new BatchQueue<FleetWork>()
  readonly streams = new Set<WaitingStream>()
  /** By worker. */
  readonly replicas = new Map<number, Replica>()
  keepAliveMs: number
  lastUsedMs = 0
  /** Loaded from the start to the end, whoever asks. */
  isPinned = false
  /** Something of it has run since it was loaded. */
  hasServed = false
  /** Starts nothing new, so that it can be unloaded for one that has waited too long. */
  isQuiescing = false
  lastLoad: LoadRecord | undefined
  /** What the model said about itself when it was loaded. */
  info: ModelInfo | undefined
  #failure: Failure | undefined
  #failureCount = 0
  #backlogSinceMs: number | undefined
  /** Workers that ended while they loaded or ran it, since it last answered. */
  #lostWorkers = 0
  #lastLoss: WorkerEndedError | undefined

  constructor(id: number, spec: ModelSpec, keepAliveMs: number) {
    this.id = id
    this.spec = spec
    this.keepAliveMs = keepAliveMs
  }

  get isWanted(): boolean {
    return this.queue.size > 0 || this.streams.size > 0
  }

  /** Whether it should be loaded now; not while it rests after a failure. */
  isToBeLoaded(nowMs: number): boolean {
    const isAskedFor = this.isWanted || this.isPinned
    return isAskedFor && this.replicas.size === 0 && this.failureAt(nowMs) === undefined
  }

  get isLoaded(): boolean {
    return this.replicas.values().some(({ state }) => state === 'ready')
  }

  get isBusy(): boolean {
    return this.replicas.values().some(({ state, running }) => state !== 'ready' || running > 0)
  }

  placed(): PlacedModel {
    const { id, isBusy, isWanted, isPinned, lastUsedMs } = this
    return {
      id,
      fileBytes: this.spec.fileBytes,
      workers: [...this.replicas.keys()],
      lastUsedMs,
      isBusy,
      isWanted,
      isPinned,
      isUnserved: isWanted && !this.hasServed,
    }
  }

  /** Since when something waits for it; undefined: nothing does. */
  waitingSinceMs(): number | undefined {
    const [stream] = this.streams
    const times = [this.queue.oldestMs(), stream?.enqueuedAtMs].filter((ms) => ms !== undefined)
    return times.length === 0 ? undefined : Math.min(...times)
  }

  /** Since when it has been without a turn. */
  passedOverSinceMs(): number {
    return Math.max(this.waitingSinceMs() ?? 0, this.lastUsedMs)
  }

  /** The failure that still counts. */
  failureAt(nowMs: number): ServiceError | undefined {
    return this.#failure !== undefined && nowMs < this.#failure.untilMs
      ? this.#failure.error
      : undefined
  }

  /** Refuses all that waits, and what comes soon. */
  fail(error: ServiceError, nowMs: number): void {
    const delayMs = Math.min(RETRY_CAP_MS, RETRY_BASE_MS * 2 ** Math.min(this.#failureCount, 30))
    this.#failureCount += 1
    this.#failure = { error, untilMs: nowMs + delayMs }
    for (const work of this.queue.drain()) work.reject(error)
    for (const stream of this.streams) stream.reject(error)
    this.streams.clear()
  }

  /**
   * Whether it has ended one worker too many to be tried again at once. One may be a neighbour's
   * fault. Calls that were lost together have the same error, and count as one.
   */
  loseWorker(loss: WorkerEndedError): boolean {
    if (loss !== this.#lastLoss) this.#lostWorkers += 1
    this.#lastLoss = loss
    return this.#lostWorkers > LOST_WORKERS_MAX
  }

  /**
   * A call that does not end is one too many, one that was lost with its worker may be; any other
   * error is the call's own, such as a text that takes too long to tokenize.
   */
  loseCall(error: unknown, nowMs: number): void {
    const isTooMany = error instanceof WorkerEndedError && this.loseWorker(error)
    if (isTooMany || error instanceof WorkerHangsError) this.fail(error, nowMs)
  }

  /** Something of it was answered: earlier failures were not its nature. */
  succeed(): void {
    this.#failureCount = 0
    this.#failure = undefined
    this.#lostWorkers = 0
  }

  /** Whether more waits than one batch takes, and has for a while. */
  hasBacklog(tokensMax: number, itemsMax: number, nowMs: number): boolean {
    const { cost, size } = this.queue
    if (cost <= tokensMax && size <= itemsMax) {
      this.#backlogSinceMs = undefined
      return false
    }
    this.#backlogSinceMs ??= nowMs
    return nowMs - this.#backlogSinceMs >= BACKLOG_MS
  }
}
