// The parts of a shard that followers of its log read.

import type { KvStore } from '../../storage/kv-store.ts'
import type { CountedShard } from './documents-behind.ts'
import type { DocumentSource } from './index-source.ts'

/** The parts of a shard that a follower reads. */
export interface FollowedShard extends DocumentSource, CountedShard {
  readonly store: KvStore
  readonly id: string
  /** The newest log entry that can be read from the store. */
  readonly appliedSequence: number
  /** The newest log entry that is or will be in the store. */
  readonly committedSequence: number
  onApplied(listener: () => void): () => void
}
