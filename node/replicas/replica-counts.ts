// What a node counts of its replicas since its start, for the metrics.

import type { ReplicaControl } from '../replication/shell/replica-surroundings.ts'

/** How a comparison of two replicas has ended. */
export type ComparisonOutcome = 'equal' | 'different' | 'unknown'

/** Numbers that only grow. */
export class ReplicaCounts {
  /** Leaderships that this node has taken over. */
  elections = 0
  readonly inSyncChanges = { added: 0, removed: 0 }
  /** Bytes of snapshots that this node has received. */
  receivedBytes = 0
  /** Comparisons of replicas led here with those of followers. */
  readonly comparisons: Record<ComparisonOutcome, number> = { equal: 0, different: 0, unknown: 0 }
  /** Replicas of this node that could not be trusted any more. */
  damaged = 0
  /** Leaders that followers of this node refused, because their logs are not those of their shards. */
  refusedLeaders = 0

  /** Counts each change of the in-sync set that has happened, once. */
  counting(control: ReplicaControl): ReplicaControl {
    let last: string | undefined
    return {
      change: async (change) => {
        const configuration = await control.change(change)
        const { operation } = configuration
        if (operation === change.operation && operation !== last) {
          last = operation
          this.inSyncChanges[change.kind === 'add' ? 'added' : 'removed'] += 1
        }
        return configuration
      },
      confirm: () => control.confirm(),
    }
  }
}
