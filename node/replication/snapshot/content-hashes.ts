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

/** What two replicas have at one position. `different` means that one of them is damaged. */
export type Comparison =
  | { readonly kind: 'equal' | 'different'; readonly position: LogPosition }
  | { readonly kind: 'unknown'; readonly reason: string }

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
   * Compares a replica of this process with one of another node, which `ask` asks. While a shard is written,
   * the other one may be beyond the position: then nothing is known, and the caller tries again later.
   */
  async compare(
    logId: string,
    ask: (asked: HashRequest) => Promise<HashedContent>,
    signal: AbortSignal,
  ): Promise<Comparison> {
    const { clock, replicaOf } = this.#with
    return this.#counted(async () => {
      const view = await viewStore(replicaOf(logId), clock, signal)
      const { position } = view
      const asking = ask({ logId, sequence: position.sequence })
      const [own, other] = await Promise.allSettled([this.#hash(view, signal), asking])
      if (own.status === 'rejected') throw own.reason
      if (other.status === 'rejected') return unknownFor(other.reason)
      const isSame = isSamePosition(position, other.value.position)
      const isEqual = isSame && own.value.hash.equals(other.value.hash)
      return { kind: isEqual ? 'equal' : 'different', position }
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

function unknownFor(error: unknown): Comparison {
  const isPassing =
    isServiceError(error) && (error.code === 'UNAVAILABLE' || error.code === 'OVERLOADED')
  if (!isPassing) throw error
  return { kind: 'unknown', reason: error.message }
}
