import type { ClusterMap } from '../cluster/cluster-map.ts'
import type { LeaderPlaces } from '../cluster/leader-places.ts'
import type { NodeId } from '../replication/core/configuration.ts'
import type { ComingShards } from '../shard/remote/held-calls.ts'
import type { FindShard } from '../shard/remote/served-shards.ts'
import type { ShardPlace, ShardPlaces } from '../shard/remote/shard-places.ts'
import type { ShardReplica } from '../shard/shard-replica.ts'
import type { ShardId } from '../shard/shard-id.ts'
import type { ReplicaHost } from './replica-host.ts'

/** What a node knows of leaders. */
export interface KnownPlacesOptions {
  readonly self: NodeId
  readonly map: ClusterMap
  /** The replicas of this node. */
  readonly host: Pick<ReplicaHost, 'find' | 'onServing'>
  /** Leaders as the cluster has them, this node among them, and the ways there. */
  readonly leaders: LeaderPlaces
}

/** The places of leaders, this node among them, and the shards that it is about to lead. */
export class KnownPlaces implements ShardPlaces, ComingShards {
  readonly #with: KnownPlacesOptions

  constructor(options: KnownPlacesOptions) {
    this.#with = options
  }

  /** Answers this node only while it serves the shard, or is about to. */
  async leaderOf(id: ShardId): Promise<ShardPlace | undefined> {
    const place = await this.#with.leaders.leaderOf(id)
    if (place?.node !== this.#with.self || this.#isServing(id)) return place
    return this.isComing(id, place.epoch) ? place : undefined
  }

  isComing(id: ShardId, epoch: number): boolean {
    const { host, map, self } = this.#with
    const { replicated } = host.find(id) ?? {}
    if (replicated === undefined || replicated.isServing) return false
    const path = map.pathOf(id)
    const known = path === undefined ? undefined : map.configurationOf(path)
    return epoch > (known?.epoch ?? 0) || known?.leader?.node === self
  }

  onChange(id: ShardId, listener: () => void): () => void {
    const { host, map } = this.#with
    const path = map.pathOf(id)
    const stopServing = host.onServing(id, listener)
    const stopNews = path === undefined ? undefined : map.onConfiguration(path, listener)
    return () => {
      stopServing()
      stopNews?.()
    }
  }

  hint(id: ShardId, leader: NodeId | undefined, epoch: number): void {
    this.#with.leaders.hint(id, leader, epoch)
  }

  /** What this node answers others that ask for a shard here. */
  readonly find: FindShard = (id) => {
    const { host, map, self } = this.#with
    const local = host.find(id)
    const { replicated } = local ?? {}
    if (local !== undefined && replicated?.isServing === true) {
      return { kind: 'here', shard: local, epoch: replicated.log.epoch }
    }
    const path = map.pathOf(id)
    const leader = path === undefined ? undefined : map.leaderOf(path)
    const node = leader?.replica.node === self ? undefined : leader?.replica.node
    return { kind: 'not-here', leader: node, epoch: leader?.epoch ?? 0 }
  }

  /** What this node answers others that ask for its replica, whether it leads or not. */
  readonly findReplica: FindShard<ShardReplica> = (id) => {
    const local = this.#with.host.find(id)
    const epoch = local?.replicated?.log.epoch ?? 0
    if (local === undefined) return { kind: 'not-here', leader: undefined, epoch }
    return { kind: 'here', shard: local, epoch }
  }

  #isServing(id: ShardId): boolean {
    return this.#with.host.find(id)?.replicated?.isServing === true
  }
}
