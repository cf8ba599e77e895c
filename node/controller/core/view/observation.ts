import { unreachable } from '../../../../lib/assert.ts'
import type { Condition } from '../../../coordination/coordination.ts'
import type {
  NodeId,
  ReplicaId,
  ShardConfiguration,
} from '../../../replication/core/configuration.ts'
import type { LogEnd } from '../../../replication/core/fit-leaders.ts'
import type { ShardPath } from '../records/cluster-codec.ts'
import type { ClusterView, TableReplication } from './cluster-view.ts'
import type { MoveRecord } from '../records/move-record.ts'
import type { NodeRecord, NodeRegistration } from '../records/node-record.ts'
import type { NodeDisk } from './node-view.ts'
import type { ShardView } from './shard-view.ts'

/**
 * What the coordination store has, or has no more (undefined). The revision is that of the commit that wrote
 * or deleted the key; for a key that a listing does not show, it is the listing's.
 */
export type Observation =
  | {
      readonly kind: 'node'
      readonly id: NodeId
      readonly record: NodeRecord | undefined
      readonly revision: number
      /** How much of its hold is left now; undefined: nothing. */
      readonly holdLeftMs?: number
    }
  | {
      readonly kind: 'live'
      readonly id: NodeId
      readonly record: NodeRegistration | undefined
      readonly revision: number
    }
  | {
      readonly kind: 'table'
      readonly tableId: string
      readonly replication: TableReplication | undefined
    }
  /** The catalog's key of a shard, as a condition that holds now; revision 0 when it is absent. */
  | {
      readonly kind: 'catalog'
      readonly path: ShardPath
      readonly entry: Extract<Condition, { modRevision: number }>
    }
  | {
      readonly kind: 'configuration'
      readonly path: ShardPath
      readonly configuration: ShardConfiguration | undefined
      readonly revision: number
    }
  | {
      readonly kind: 'move'
      readonly path: ShardPath
      readonly record: MoveRecord | undefined
      readonly revision: number
    }
  /** Where the log of a replica ended, as its node answered in that life to a question of that round. */
  | {
      readonly kind: 'end'
      readonly path: ShardPath
      readonly round: number
      readonly replica: ReplicaId
      readonly end: LogEnd
    }
  /** How large a replica is, as the shard's leader says now and then. */
  | { readonly kind: 'size'; readonly path: ShardPath; readonly bytes: number }
  /** The disk of a node, as the node says now and then. */
  | { readonly kind: 'disk'; readonly id: NodeId; readonly disk: NodeDisk }

/** Puts the observation into the view. Answers the shard whose configuration or move it was about. */
export function observe(
  cluster: ClusterView,
  observation: Observation,
  nowMs: number,
): ShardView | undefined {
  switch (observation.kind) {
    case 'node':
      return observeNode(cluster, observation, nowMs)
    case 'live':
      return observeLive(cluster, observation, nowMs)
    case 'table':
      cluster.setReplication(observation.tableId, observation.replication)
      return undefined
    case 'catalog':
      return observeCatalog(cluster, observation, nowMs)
    case 'configuration':
      return observeConfiguration(cluster, observation, nowMs)
    case 'move':
      return observeMove(cluster, observation, nowMs)
    case 'end':
      return observeEnd(cluster, observation, nowMs)
    case 'size':
      return observeSize(cluster, observation, nowMs)
    case 'disk':
      cluster.nodes.get(observation.id)?.tellDisk(observation.disk, nowMs)
      return undefined
    default:
      return unreachable(observation)
  }
}

type Of<Kind extends Observation['kind']> = Extract<Observation, { kind: Kind }>

function observeNode(cluster: ClusterView, observed: Of<'node'>, nowMs: number): undefined {
  const { id, record, revision, holdLeftMs = 0 } = observed
  const node = cluster.node(id, nowMs)
  if (revision < node.storedSeen) return
  node.storedSeen = revision
  node.heldUntilMs = nowMs + holdLeftMs
  node.stored = record === undefined ? undefined : { record, revision }
  cluster.nodeChanged(node, nowMs)
}

function observeLive(cluster: ClusterView, observed: Of<'live'>, nowMs: number): undefined {
  const { id, record, revision } = observed
  const node = cluster.node(id, nowMs)
  if (revision < node.liveSeen) return
  node.liveSeen = revision
  // Another life begins anew: it has to stay for a while before it is trusted.
  if (record?.incarnation !== node.live?.record.incarnation) {
    node.sinceMs = nowMs
    for (const shard of node.replicas) shard.forgetEnds()
  }
  node.live = record === undefined ? undefined : { record, revision }
  cluster.nodeChanged(node, nowMs)
}

function observeCatalog(
  cluster: ClusterView,
  { path, entry }: Of<'catalog'>,
  nowMs: number,
): undefined {
  const shard = cluster.shard(path)
  cluster.change(shard, nowMs, () => {
    shard.catalogKey = entry.key
    shard.exists = entry.modRevision === 0 ? undefined : entry
  })
}

function observeConfiguration(
  cluster: ClusterView,
  { path, configuration, revision }: Of<'configuration'>,
  nowMs: number,
): ShardView {
  const shard = cluster.shard(path)
  if (revision <= shard.configurationSeen) return shard
  shard.configurationSeen = revision
  cluster.change(shard, nowMs, () => {
    shard.known = { ...shard.known, configuration }
    shard.forgetEnds()
  })
  return shard
}

function observeMove(
  cluster: ClusterView,
  { path, record, revision }: Of<'move'>,
  nowMs: number,
): ShardView {
  const shard = cluster.shard(path)
  if (revision <= shard.moveSeen) return shard
  shard.moveSeen = revision
  const moveRevision = record === undefined ? 0 : revision
  cluster.change(shard, nowMs, () => {
    shard.known = { ...shard.known, move: record, moveRevision }
  })
  return shard
}

function observeEnd(
  cluster: ClusterView,
  { path, round, replica, end }: Of<'end'>,
  nowMs: number,
): undefined {
  const shard = cluster.shards.get(path)
  if (shard?.endsRound !== round) return
  const { node, incarnation } = replica
  cluster.change(shard, nowMs, () => {
    shard.ends.set(node, { incarnation, ...end })
  })
}

function observeSize(cluster: ClusterView, { path, bytes }: Of<'size'>, nowMs: number): undefined {
  const shard = cluster.shards.get(path)
  if (shard === undefined) return
  cluster.change(shard, nowMs, () => {
    shard.bytes = bytes
  })
}
