// Where shards are led, for those who ask the leader over the peer protocol.

import type { PeerLink, PeerNode } from '../peer/peer.ts'
import type { NodeId } from '../replication/core/configuration.ts'
import type { ClusterMap } from './cluster-map.ts'
import { peerAddress } from './peer-address.ts'

/** Hints that the map does not know yet. Others are forgotten first. */
const HINTS_MAX = 1024

/** The leader of a shard, as this node knows it, and the way there. */
export interface LeaderPlace {
  readonly node: NodeId
  readonly epoch: number
  readonly link: PeerLink
}

interface Hint {
  readonly node: NodeId
  readonly epoch: number
}

/**
 * Knows where shards are led: from the map, and from the redirects of nodes that did not lead.
 *
 * - `leaderOf` answers what is known now, without a wait. It may be wrong: the node that is asked refuses then.
 * - `hint` counts until the map has an epoch that is not older.
 */
export class LeaderPlaces {
  readonly #map: ClusterMap
  readonly #peers: Pick<PeerNode, 'link'>
  readonly #hints = new Map<string, Hint>()

  constructor(map: ClusterMap, peers: Pick<PeerNode, 'link'>) {
    this.#map = map
    this.#peers = peers
  }

  /** Undefined if no leader is known, or none with an address. `shardId` is the shard's own id. */
  async leaderOf(shardId: string): Promise<LeaderPlace | undefined> {
    const leader = this.#hinted(shardId) ?? this.#known(shardId)
    if (leader === undefined) return undefined
    const link = this.linkTo(leader.node)
    return link && { ...leader, link }
  }

  /** The way to a node; undefined while its address is not known. */
  linkTo(node: NodeId): PeerLink | undefined {
    const address = peerAddress(node, this.#map.addressOf(node)?.peer ?? '')
    return address && this.#peers.link(address)
  }

  /** Another node said that `leader` leads the shard in `epoch`, or that it knows no leader. */
  hint(shardId: string, leader: NodeId | undefined, epoch: number): void {
    const known = this.#hints.get(shardId)?.epoch ?? 0
    if (leader === undefined || epoch <= known || epoch <= this.#epochOf(shardId)) return
    this.#hints.delete(shardId) // so that it becomes the youngest
    this.#hints.set(shardId, { node: leader, epoch })
    for (const oldest of this.#hints.keys()) {
      if (this.#hints.size <= HINTS_MAX) return
      this.#hints.delete(oldest)
    }
  }

  #hinted(shardId: string): Hint | undefined {
    const hint = this.#hints.get(shardId)
    if (hint === undefined || hint.epoch > this.#epochOf(shardId)) return hint
    this.#hints.delete(shardId)
    return undefined
  }

  #known(shardId: string): Hint | undefined {
    const path = this.#map.pathOf(shardId)
    const known = path === undefined ? undefined : this.#map.leaderOf(path)
    return known && { node: known.replica.node, epoch: known.epoch }
  }

  #epochOf(shardId: string): number {
    const path = this.#map.pathOf(shardId)
    return (path === undefined ? undefined : this.#map.configurationOf(path)?.epoch) ?? 0
  }
}
