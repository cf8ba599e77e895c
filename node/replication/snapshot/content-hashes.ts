// Content hashes of this process's replicas, and their comparison with those of other nodes (INV-R7).

import type { Clock } from '../../../lib/clock.ts'
import { isServiceError, ServiceError } from '../../../lib/errors.ts'
import type { LogPosition } from '../core/log-index.ts'
import { contentHashOf } from './content-hash.ts'
import type { Pace } from './pace.ts'
import { isSamePosition, type HashedContent, type HashRequest } from './snapshot-messages.ts'
import { viewStore, viewStoreAt, type SnapshotReplica, type StoreView } from './snapshot-replica.ts'

/** Hashes that run or wait. Each keeps a view of a store. */
const HASHES_MAX = 4

/** What another replica has at the position. `different` means that one of the two is damaged. */
export type Comparison =
  | { readonly kind: 'equal' }
  | { readonly kind: 'different'; readonly hash: Buffer }
  | { readonly kind: 'unknown'; readonly reason: string }

/** Asks another node for the content hash of its replica. */
export type AskHash = (asked: HashRequest) => Promise<HashedContent>

/** The own replica, and what the others showed, in the order in which they were given. */
export interface ComparedReplicas {
  readonly position: LogPosition
  readonly hash: Buffer
  readonly others: readonly Comparison[]
}

/** What the hashes are made with. */
export interface ContentHashesOptions {
  /** Throws NOT_FOUND for a log without a replica here. */
  readonly replicaOf: (logId: string) => SnapshotReplica
  readonly clock: Clock
  readonly pace: Pace
}

/** Hashes one store at a time, at a bounded rate. */
export class ContentHashes {
  readonly #with: ContentHashesOptions
  #count = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: ContentHashesOptions) {
    this.#with = options
  }

  /**
   * The content hash of a replica at one log entry. It waits until that is applied. UNAVAILABLE if the
   * replica has applied more, or does not get there; OVERLOADED if too many wait.
   */
  async hashAt({ logId, sequence }: HashRequest, signal: AbortSignal): Promise<HashedContent> {
    const { clock, replicaOf } = this.#with
    return this.#counted(async () => {
      const view = await viewStoreAt(replicaOf(logId), sequence, { clock, signal })
      return this.#hash(view, signal)
    })
  }

  /**
   * Compares a replica of this process with those of other nodes, which `ask` asks, at one position. While a
   * shard is written, another one may be beyond it: then nothing is known of that one, and the caller tries
   * again later.
   */
  async compare(
    logId: string,
    asked: readonly AskHash[],
    signal: AbortSignal,
  ): Promise<ComparedReplicas> {
    const { clock, replicaOf } = this.#with
    return this.#counted(async () => {
      const view = await viewStore(replicaOf(logId), clock, signal)
      const { position } = view
      const asking = asked.map((ask) => ask({ logId, sequence: position.sequence }))
      const answers = Promise.allSettled(asking)
      const own = await this.#hash(view, signal)
      const others = (await answers).map((other) => comparisonOf(own, other))
      return { position, hash: own.hash, others }
    })
  }

  async #counted<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    if (this.#count >= HASHES_MAX) {
      throw new ServiceError(
        'OVERLOADED',
        `${HASHES_MAX} content hashes are wanted; try again later`,
      )
    }
    this.#count += 1
    try {
      return await work()
    } finally {
      this.#count -= 1
    }
  }

  /** Disposes the view. */
  #hash({ snapshot, position }: StoreView, signal: AbortSignal): Promise<HashedContent> {
    const hashed = this.#last.then(async () => {
      await using view = snapshot
      const { hash } = await contentHashOf(view, (bytes) => this.#with.pace.take(bytes, signal))
      return { position, hash }
    })
    this.#last = hashed.catch(() => undefined)
    return hashed
  }
}

function comparisonOf(own: HashedContent, other: PromiseSettledResult<HashedContent>): Comparison {
  if (other.status === 'rejected') return unknownFor(other.reason)
  const { position, hash } = other.value
  const isEqual = isSamePosition(own.position, position) && own.hash.equals(hash)
  return isEqual ? { kind: 'equal' } : { kind: 'different', hash }
}

function unknownFor(error: unknown): Comparison {
  const isPassing =
    isServiceError(error) && (error.code === 'UNAVAILABLE' || error.code === 'OVERLOADED')
  if (!isPassing) throw error
  return { kind: 'unknown', reason: error.message }
}
