import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import type { HybridClock } from '../clock/hybrid-clock.ts'
import type { ClusterMap } from '../cluster/cluster-map.ts'
import type { PeerLink } from '../peer/peer.ts'
import type { NodeId } from '../replication/core/configuration.ts'
import { RemoteReplica } from '../shard/remote/remote-replica.ts'
import type { ShardId } from '../shard/shard-id.ts'
import type { ShardReplica } from '../shard/shard-replica.ts'

/** What a node knows of replicas. */
export interface NearReplicasOptions {
  readonly self: NodeId
  readonly map: Pick<ClusterMap, 'node' | 'pathOf' | 'configurationOf'>
  /** The replica on this node; undefined if there is none. */
  readonly local: (id: ShardId) => ShardReplica | undefined
  readonly linkTo: (node: NodeId) => PeerLink | undefined
  readonly clock: Clock
  readonly hybridClock: HybridClock
  readonly random: Random
}

/**
 * The replicas of shards by their distance, as the map knows them: it answers while the control plane is away.
 * A node that is not registered is asked last, because it is probably dead.
 */
export class NearReplicas {
  readonly #with: NearReplicasOptions

  constructor(options: NearReplicasOptions) {
    this.#with = options
  }

  /** The nearest first. Replicas of one distance are in a random order, which spreads the load. */
  of(id: ShardId): readonly ShardReplica[] {
    const { map, self, local, random } = this.#with
    const path = map.pathOf(id)
    const nodes = (path === undefined ? undefined : map.configurationOf(path)?.replicas) ?? []
    const own = local(id)
    const others = nodes
      .filter((node) => node !== self)
      .map((node) => ({ node, distance: this.#distanceOf(node) + random() }))
      .toSorted((a, b) => a.distance - b.distance)
      .map(({ node }) => this.#remote(id, node))
    return own === undefined ? others : [own, ...others]
  }

  /**
   * The replica that is nearer than the leader: the own one if another node leads, or one in this node's zone if the
   * leader is in another and a connection is open or was never tried. Undefined: the leader is as near.
   */
  nearerThanLeader(id: ShardId): ShardReplica | undefined {
    const { map, self, local, random } = this.#with
    const path = map.pathOf(id)
    const configuration = path === undefined ? undefined : map.configurationOf(path)
    const leader = configuration?.leader?.node
    if (configuration === undefined || leader === undefined || leader === self) return undefined
    const own = local(id)
    if (own !== undefined) return own
    if (this.#distanceOf(leader) === 0) return undefined
    const near = configuration.replicas.filter(
      (node) => node !== self && this.#distanceOf(node) === 0 && this.#isReachable(node),
    )
    const node = near[Math.floor(random() * near.length)]
    return node === undefined ? undefined : this.#remote(id, node)
  }

  #isReachable(node: NodeId): boolean {
    const kind = this.#with.linkTo(node)?.state('prompt').kind
    return kind === 'connected' || kind === 'idle'
  }

  #distanceOf(node: NodeId): number {
    const { map, self } = this.#with
    const known = map.node(node)
    if (known?.registration === undefined) return 2
    return known.zone === map.node(self)?.zone ? 0 : 1
  }

  #remote(id: ShardId, node: NodeId): ShardReplica {
    const { linkTo, clock, hybridClock, random } = this.#with
    return new RemoteReplica({ id, node, link: () => linkTo(node), clock, hybridClock, random })
  }
}
