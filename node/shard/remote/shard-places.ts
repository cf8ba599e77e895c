import type { NodeId, PeerLink } from '../../peer/peer.ts'
import type { ShardId } from '../shard-id.ts'

/** The leader of a shard, as this node knows it, and the way there. */
export interface ShardPlace {
  readonly node: NodeId
  readonly epoch: number
  readonly link: PeerLink
}

/**
 * Knows where shards are led. The cluster's map implements it.
 *
 * Contract:
 * - `leaderOf` answers what is known now, and may be wrong: the node asked refuses then. It answers
 *   undefined if no leader is known, and may reject if nobody can be asked.
 * - `hint` passes on what another node said: `leader` leads the shard in `epoch`, or that node knows
 *   no leader. An epoch below a known one says nothing new. It must not throw.
 */
export interface ShardPlaces {
  leaderOf(id: ShardId): Promise<ShardPlace | undefined>
  hint(id: ShardId, leader: NodeId | undefined, epoch: number): void
}
