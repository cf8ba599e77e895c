// Counts of the writes of this node by their outcome.

/**
 * Why a write had no effect: `version_changed`, a document changed after the client read it;
 * `key_held`, another transaction held a key of a commit that does not wait; `waited_too_long`, others
 * held keys until the deadline; `refused`, a shard refused (disk full, overload, failed disk).
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
