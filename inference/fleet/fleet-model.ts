// The fleet's state of one model: its waiting work, its replicas in workers, and its failures.

import { BatchQueue } from '../batching/batch-queue.ts'
import type { BatchLimits, QueuedWork } from '../batching/open-batch.ts'
import { BatchSizer } from '../batching/batch-sizer.ts'
import type { ServiceError } from '../../lib/errors.ts'
import { WorkerEndedError, WorkerHangsError } from '../runtime/worker-errors.ts'
import type { ModelSpec } from '../models/model-spec.ts'
import type { PlacedModel } from './placement-policy.ts'

/** After a failure, a model is not tried for this long. The time doubles with each further failure. */
const RETRY_BASE_MS = 5_000
const RETRY_CAP_MS = 300_000
const LOST_WORKERS_MAX = 1
/** A queue that exceeds one batch for this long gets another worker. */
const BACKLOG_MS = 100

/** One item on its way through the fleet. */
export interface FleetWork extends QueuedWork {
  readonly item: unknown
  /** The number of the item's request. */
  readonly request: number
  readonly resolve: (outcome: never) => void
  readonly reject: (error: unknown) => void
  /** True: the client no longer waits for it. */
  isCancelled: boolean
  /** Called when the item is cancelled while its batch runs. */
  onCancel: (() => void) | undefined
}

/** A stream that waits for a place. `begin` or `reject` is called once. */
export interface WaitingStream {
  readonly enqueuedAtMs: number
  readonly begin: (place: StreamPlace) => void
  readonly reject: (error: unknown) => void
}

/** The life of a replica. Only a ready one takes work. */
export type ReplicaState = 'loading' | 'ready' | 'unloading'

/** A model in one worker. */
export interface Replica {
  state: ReplicaState
  /** The number of batches and streams that run on it. */
  running: number
  /** The number of streams among them. */
  streams: number
}

/** The place of a running stream. */
export interface StreamPlace {
  readonly worker: number
  readonly replica: Replica
}

interface Failure {
  readonly error: ServiceError
  readonly untilMs: number
}

/** The last successful load, in monotonic ms. */
export interface LoadRecord {
  readonly finishedAtMs: number
  readonly durationMs: number
}

/** The facts that a worker reports about a loaded model. */
export interface ModelInfo {
  /** The dimension of an embedder's vectors; undefined for other kinds. */
  readonly dimension: number | undefined
  /** The fixed length to which the graph pads every row; undefined: to the longest row. */
  readonly rowTokens: number | undefined
  /** Sentences for operators about the quality of its answers. */
  readonly warnings: readonly string[]
  /** Differences between the tokenizer and the reference implementation. */
  readonly tokenizerWarnings: readonly string[]
}

/**
 * One model that was requested at least once. The fleet, the loader and the dispatcher share and
 * change it.
 */
export class FleetModel {
  readonly id: number
  readonly spec: ModelSpec
  readonly queue = new BatchQueue<FleetWork>()
  readonly batches: BatchSizer
  readonly streams = new Set<WaitingStream>()
  /** The replicas by the index of their worker. */
  readonly replicas = new Map<number, Replica>()
  keepAliveMs: number
  lastUsedMs = 0
  /** True: it is loaded at the start and never unloaded. */
  isPinned = false
  /** Whether a batch or stream has run since it was loaded. */
  hasServed = false
  /** True: it starts no new work, so that it can be unloaded for a model that has waited too long. */
  isQuiescing = false
  lastLoad: LoadRecord | undefined
  /** The facts from its last load. */
  info: ModelInfo | undefined
  #failure: Failure | undefined
  #failureCount = 0
  #backlogSinceMs: number | undefined
  /** The workers that ended while they loaded or ran it, since its last answer. */
  #lostWorkers = 0
  #lastLoss: WorkerEndedError | undefined

  constructor(
    id: number,
    spec: ModelSpec,
    {
      keepAliveMs,
      batchLimits,
    }: { readonly keepAliveMs: number; readonly batchLimits: BatchLimits },
  ) {
    this.id = id
    this.batches = new BatchSizer(batchLimits)
    this.spec = spec
    this.keepAliveMs = keepAliveMs
  }

  get isWanted(): boolean {
    return this.queue.size > 0 || this.streams.size > 0
  }

  /** Whether it should be loaded now. It is not, for some time after a failure. */
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

  /** The state that the placement policy needs. */
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

  /** The arrival time of the oldest waiting work; undefined: none waits. */
  waitingSinceMs(): number | undefined {
    const [stream] = this.streams
    const times = [this.queue.oldestMs(), stream?.enqueuedAtMs].filter((ms) => ms !== undefined)
    return times.length === 0 ? undefined : Math.min(...times)
  }

  /** The time since which its work waits without a turn. */
  passedOverSinceMs(): number {
    return Math.max(this.waitingSinceMs() ?? 0, this.lastUsedMs)
  }

  /** The failure because of which it is not tried now. */
  failureAt(nowMs: number): ServiceError | undefined {
    return this.#failure !== undefined && nowMs < this.#failure.untilMs
      ? this.#failure.error
      : undefined
  }

  /** Rejects all waiting work, and new work for some time. */
  fail(error: ServiceError, nowMs: number): void {
    const delayMs = Math.min(RETRY_CAP_MS, RETRY_BASE_MS * 2 ** Math.min(this.#failureCount, 30))
    this.#failureCount += 1
    this.#failure = { error, untilMs: nowMs + delayMs }
    for (const work of this.queue.drain()) work.reject(error)
    for (const stream of this.streams) stream.reject(error)
    this.streams.clear()
  }

  /**
   * Counts a worker that ended under this model. True: it has ended more than LOST_WORKERS_MAX, and is not tried again at once.
   * One ended worker is allowed, because another model may be the cause. Calls that were lost together
   * have the same error and count once.
   */
  loseWorker(loss: WorkerEndedError): boolean {
    if (loss !== this.#lastLoss) this.#lostWorkers += 1
    this.#lastLoss = loss
    return this.#lostWorkers > LOST_WORKERS_MAX
  }

  /**
   * Notes a failed call. A call that hangs fails the model at once; a lost worker fails it if the
   * model has ended more than LOST_WORKERS_MAX. Any other error concerns only the call, such as a text that takes too long.
   */
  loseCall(error: unknown, nowMs: number): void {
    const isTooMany = error instanceof WorkerEndedError && this.loseWorker(error)
    if (isTooMany || error instanceof WorkerHangsError) this.fail(error, nowMs)
  }

  /** Notes an answer: the model works, so earlier failures no longer count. */
  succeed(): void {
    this.#failureCount = 0
    this.#failure = undefined
    this.#lostWorkers = 0
  }

  /** Whether more work than one batch has been waiting for BACKLOG_MS. */
  hasBacklog(nowMs: number): boolean {
    const { cost, size } = this.queue
    const { tokensMax, itemsMax } = this.batches.rule
    if (cost <= tokensMax && size <= itemsMax) {
      this.#backlogSinceMs = undefined
      return false
    }
    this.#backlogSinceMs ??= nowMs
    return nowMs - this.#backlogSinceMs >= BACKLOG_MS
  }
}
