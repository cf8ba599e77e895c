// A move, step by step. Every step leaves a configuration that serves: the new replica comes first, its
// leader adds it to the in-sync set, and only then the old one goes.
//
// Invariants:
//   CM1  A replica that has acknowledged entries leaves only while enough others, alive and in sync, stay:
//        the minimum of the set, and for a replica on a fit node as many as the table wants.
//   CM2  A leader hands over before its replica goes.
//   CM3  A move is given up only before its target is in sync.

import { must, unreachable } from '../../../../lib/assert.ts'
import type { NodeId, ShardConfiguration } from '../../../replication/core/configuration.ts'
import type { ClusterView } from '../view/cluster-view.ts'
import { withLearner, withoutReplica } from '../records/configuration-edits.ts'
import { handOver, isAlive, successor } from './elections.ts'
import type { MovePhase, MoveRecord } from '../records/move-record.ts'
import type { NodeView } from '../view/node-view.ts'
import { holdsAcknowledged, isInSync, type ShardView } from '../view/shard-view.ts'
import { whenAlive, whenAsStored, type Decision, type Step } from './step.ts'

/** A shard that has a move. */
interface Moving {
  readonly shard: ShardView
  readonly configuration: ShardConfiguration
  readonly move: MoveRecord
}

export function startMove(
  shard: ShardView,
  configuration: ShardConfiguration,
  order: { readonly to: NodeView; readonly move: Omit<MoveRecord, 'operation' | 'to'> },
  { kind, reason }: Pick<Step, 'kind' | 'reason'>,
): Step {
  const { to, move } = order
  return {
    kind,
    shard,
    reason,
    configuration: withLearner(configuration, to.id),
    move: { ...move, to: to.id },
    when: [whenAsStored(to), whenAlive(to)],
  }
}

export function phaseOf({ configuration, move }: Omit<Moving, 'shard'>): MovePhase {
  if (!configuration.replicas.includes(move.to)) return 'adding'
  if (!isInSync(configuration, move.to)) return 'catching_up'
  return configuration.leader?.node === move.from ? 'handing_over' : 'removing'
}

/** The next step of a shard's move, or the reason why it waits. */
export function nextOfMove(moving: Moving, cluster: ClusterView): Decision {
  const phase = phaseOf(moving)
  switch (phase) {
    case 'adding':
      return ended(moving, 'the new replica was taken away again')
    case 'catching_up':
      return givenUp(moving, cluster) ?? { waits: `${moving.move.to} catches up` }
    case 'handing_over':
    case 'removing':
      if (cluster.nodes.get(moving.move.to)?.isUnfit === true) {
        return ended(moving, `${moving.move.to} has to go as well`)
      }
      return phase === 'removing' ? removed(moving, cluster) : handedOver(moving, cluster)
    default:
      return unreachable(phase)
  }
}

/** CM1, for a replica whose place no other one takes. */
export function mayLeave(
  { shard, configuration }: Omit<Moving, 'move'>,
  node: NodeId,
  cluster: ClusterView,
): boolean {
  const isUnfit = cluster.nodes.get(node)?.isUnfit ?? true
  const { replicationFactor } = cluster.replicationOf(shard)
  if (isUnfit && !holdsAcknowledged(configuration, node)) return true
  const needed = isUnfit ? configuration.minInSync : replicationFactor
  return stayingWithout(configuration, node, cluster) >= Math.max(1, needed)
}

/** CM1, for a replica whose place another one has taken. */
function mayBeReplaced({ configuration }: Moving, node: NodeId, cluster: ClusterView): boolean {
  if (!holdsAcknowledged(configuration, node)) return true
  const staying = stayingWithout(configuration, node, cluster)
  return staying >= Math.max(1, configuration.minInSync)
}

/** Members of the in-sync set that are alive, without the node's. */
function stayingWithout(
  { inSync }: ShardConfiguration,
  node: NodeId,
  cluster: ClusterView,
): number {
  return inSync.filter((member) => member.node !== node && isAlive(member, cluster)).length
}

/** A replica goes, on the condition that those that stay in sync still live. */
export function withoutReplicaOf(
  { shard, configuration }: Omit<Moving, 'move'>,
  node: NodeId,
  cluster: ClusterView,
): Pick<Step, 'shard' | 'configuration' | 'when'> {
  const staying = configuration.inSync
    .filter((member) => member.node !== node && isAlive(member, cluster))
    .map((member) => must(cluster.nodes.get(member.node), 'a node that is alive'))
  return {
    shard,
    configuration: withoutReplica(configuration, node),
    when: staying.map(whenAlive),
  }
}

function ended({ shard }: Moving, reason: string): Step {
  return { kind: 'advance', shard, reason: `the move ends: ${reason}`, move: 'delete', when: [] }
}

/** CM3. */
function givenUp(moving: Moving, cluster: ClusterView): Step | undefined {
  const why = reasonToGiveUp(moving, cluster)
  if (why === undefined) return undefined
  const { shard, configuration, move } = moving
  // An eligible target, or one that the last election named, holds acknowledged entries: it stays as a
  // replica too many, which is trimmed when enough others are in sync.
  const isNeeded = holdsAcknowledged(configuration, move.to)
  return {
    kind: 'advance',
    shard,
    reason: `the move to ${move.to} is given up: ${why}`,
    ...(isNeeded ? {} : { configuration: withoutReplica(configuration, move.to) }),
    move: 'delete',
    when: [],
  }
}

function reasonToGiveUp({ configuration, move }: Moving, cluster: ClusterView): string | undefined {
  const target = cluster.nodes.get(move.to)
  if (target === undefined || target.isAwayLong) return 'the node is away'
  if (target.condition === 'emptying') return 'the node is to be emptied'
  const holders = [...configuration.inSync, ...configuration.eligible]
  if (holders.every(({ node }) => cluster.nodes.get(node)?.condition === 'lost')) {
    return 'every replica that it could copy is lost'
  }
  const { from, cause } = move
  if (from === undefined || (cause !== 'replace' && cause !== 'drain')) return undefined
  const isFitAgain = cluster.nodes.get(from)?.condition === 'serving'
  return isFitAgain && isInSync(configuration, from) ? `${from} serves again` : undefined
}

function handedOver({ shard, configuration, move }: Moving, cluster: ClusterView): Decision {
  const to = successor(shard, configuration, { cluster, preferred: move.to })
  if (to === undefined) return { waits: 'no other replica that is in sync can lead' }
  return handOver(
    { shard, configuration, to },
    'advance',
    `${to.id} leads, so that ${move.from} can go`,
  )
}

function removed(moving: Moving, cluster: ClusterView): Decision {
  const { configuration, move } = moving
  const { from } = move
  if (from === undefined || !configuration.replicas.includes(from)) {
    return ended(moving, `${move.to} is in sync`)
  }
  if (!mayBeReplaced(moving, from, cluster)) {
    // When waiting alone does not bring enough of them, the shard needs another move first.
    const isFit = (id: NodeId): boolean => cluster.nodes.get(id)?.isUnfit === false
    const others = configuration.replicas.filter((id) => id !== from && isFit(id))
    if (others.length < configuration.minInSync) {
      return ended(moving, `${from} stays until more replicas are in sync`)
    }
    return { waits: `too few other replicas are in sync for ${from} to go` }
  }
  return {
    ...withoutReplicaOf(moving, from, cluster),
    kind: 'advance',
    reason: `${move.to} is in sync: ${from} goes`,
    move: 'delete',
  }
}
