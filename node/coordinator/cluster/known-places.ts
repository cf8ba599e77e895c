import type { ClusterMap } from '../../cluster/cluster-map.ts'
import { peerAddress } from '../../controller/shell/controller-calls.ts'
import type { PeerLink, PeerNode } from '../../peer/peer.ts'
import type { NodeId } from '../../replication/core/configuration.ts'
import type { FindShard } from '../../shard/remote/served-shards.ts'
import type { ShardPlace, ShardPlaces } from '../../shard/remote/shard-places.ts'
import type { ShardId } from '../../shard/shard-id.ts'
import type { ReplicaHost } from './replica-host.ts'

/** Hints are for the moments before the map knows; so many are remembered. */
const HINTS_MAX = 10_000

/** What a node knows of leaders. */
export interface KnownPlacesOptions {
  readonly self: NodeId
  readonly map: ClusterMap
  readonly host: () => ReplicaHost
  readonly peers: () => PeerNode
  /** The way to the handlers of this node. */
  readonly loopback: PeerLink
}

interface Leader {
  readonly node: NodeId
  readonly epoch: number
}

/** Finds leaders by the cluster's map, and by what other nodes said since. */
export class KnownPlaces implements ShardPlaces {
  readonly #with: KnownPlacesOptions
  readonly #hints = new Map<ShardId, Leader>()

  constructor(options: KnownPlacesOptions) {
    this.#with = options
  }

  async leaderOf(id: ShardId): Promise<ShardPlace | undefined> {
    const leader = this.#leaderOf(id)
    if (leader === undefined) return undefined
    const link = this.linkTo(leader.node)
    if (link === undefined || (leader.node === this.#with.self && !this.#isServing(id))) {
      return undefined
    }
    return { ...leader, link }
  }

  hint(id: ShardId, leader: NodeId | undefined, epoch: number): void {
    if (leader === undefined || epoch <= (this.#leaderOf(id)?.epoch ?? 0)) return
    this.#hints.delete(id)
    this.#hints.set(id, { node: leader, epoch })
    const [oldest] = this.#hints.keys()
    if (this.#hints.size > HINTS_MAX && oldest !== undefined) this.#hints.delete(oldest)
  }

  /** What this node tells others that ask for a shard here. */
  readonly find: FindShard = (id) => {
    const local = this.#with.host().find(id)
    const { replicated } = local ?? {}
    if (local !== undefined && replicated?.isServing === true) {
      return { kind: 'here', shard: local, epoch: replicated.log.epoch }
    }
    const leader = this.#leaderOf(id)
    const node = leader?.node === this.#with.self ? undefined : leader?.node
    return { kind: 'not-here', leader: node, epoch: leader?.epoch ?? 0 }
  }

  /** The way to a node; undefined while its address is unknown. */
  linkTo(node: NodeId): PeerLink | undefined {
    const { self, loopback, map, peers } = this.#with
    if (node === self) return loopback
    const address = peerAddress(node, map.addressOf(node)?.peer ?? '')
    return address && peers().link(address)
  }

  #isServing(id: ShardId): boolean {
    return this.#with.host().find(id)?.replicated?.isServing === true
  }

  #leaderOf(id: ShardId): Leader | undefined {
    const path = this.#with.map.pathOf(id)
    const known = path === undefined ? undefined : this.#with.map.leaderOf(path)
    const hint = this.#hints.get(id)
    if (known === undefined) return hint
    if (hint !== undefined && hint.epoch > known.epoch) return hint
    this.#hints.delete(id)
    return { node: known.replica.node, epoch: known.epoch }
  }
}
