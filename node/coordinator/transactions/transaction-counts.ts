// What became of the writes of this node.

/**
 * Why a write had no effect: a document was not as its reader had found it, somebody else held a key of
 * a commit that does not wait, others held keys for too long, or a shard refused (no room, too much
 * waits, its disk fails).
 */
const ABORT_REASONS = ['version_changed', 'key_held', 'waited_too_long', 'refused'] as const
export type AbortReason = (typeof ABORT_REASONS)[number]

/** Counted by the transaction runner, read by the metrics. */
export class TransactionCounts {
  /** Committed as one log entry of one shard. */
  oneShard = 0
  /** Committed over several shards. */
  severalShards = 0
  /** Attempts after the first one. */
  retries = 0
  readonly aborted: Record<AbortReason, number> = {
    version_changed: 0,
    key_held: 0,
    waited_too_long: 0,
    refused: 0,
  }
}
