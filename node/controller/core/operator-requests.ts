// What operators ask for of shards. Each request is answered by a step, or refused with the reason; what follows from
// it is the controller's.

import type { NodeId } from '../../replication/core/configuration.ts'
import { handOver, isAlive } from './decisions/elections.ts'
import { startMove } from './decisions/move-steps.ts'
import { hasRoom } from './decisions/replica-placement.ts'
import { isFeedingEnough } from './decisions/repairs.ts'
import type { Step } from './decisions/step.ts'
import type { ShardPath } from './records/cluster-codec.ts'
import type { ClusterView } from './view/cluster-view.ts'
import type { NodeView } from './view/node-view.ts'
import { isInSync, type ShardView } from './view/shard-view.ts'

/** Nothing has changed, for this reason. */
export interface Refusal {
  readonly refused: string
}

/** A move that an operator asks for. It keeps the limits that all moves keep. */
export function requestMove(
  cluster: ClusterView,
  request: { readonly path: ShardPath; readonly from: NodeId; readonly to: NodeId },
): Step | Refusal {
  const { from, to } = request
  const shard = freeShard(cluster, request.path)
  if ('refused' in shard) return shard
  const { configuration } = shard
  const target = cluster.nodes.get(to)
  if (configuration === undefined) return { refused: `${request.path} has no replicas yet` }
  if (!configuration.replicas.includes(from)) return { refused: `${from} holds no replica of it` }
  if (configuration.replicas.includes(to)) return { refused: `${to} holds a replica of it already` }
  if (target?.takesReplicas !== true) return { refused: `${to} does not take replicas now` }
  const refused = moveRefusal(cluster, shard, target)
  if (refused !== undefined) return { refused }
  const move = { cause: 'request' as const, from }
  const reason = `an operator asked for a move from ${from} to ${to}`
  return startMove(shard, configuration, { to: target, move }, { kind: 'request', reason })
}

/** A planned transfer of a leadership, to a replica that is in sync. */
export function requestTransfer(
  cluster: ClusterView,
  { path, to }: { readonly path: ShardPath; readonly to: NodeId },
): Step | Refusal {
  const shard = freeShard(cluster, path)
  if ('refused' in shard) return shard
  const { configuration } = shard
  const target = cluster.nodes.get(to)
  if (configuration === undefined || target === undefined || !isInSync(configuration, to)) {
    return { refused: `${to} has no replica in sync of it` }
  }
  if (configuration.leader?.node === to) return { refused: `${to} leads it already` }
  if (!target.takesLeaders) return { refused: `${to} does not take leaderships now` }
  const member = configuration.inSync.find(({ node }) => node === to)
  if (member === undefined || !isAlive(member, cluster)) {
    return { refused: `${to} has restarted and is not in sync again` }
  }
  return handOver({ shard, configuration, to: target }, 'request', `an operator chose ${to}`)
}

function moveRefusal(cluster: ClusterView, shard: ShardView, target: NodeView): string | undefined {
  const leader = shard.configuration?.leader
  if (leader === undefined || !isAlive(leader, cluster)) return 'it has no leader to copy from'
  const isBusy = !hasRoom(target, shard, cluster) || !cluster.hasRoomToMove(shard)
  return isBusy || isFeedingEnough(leader.node, cluster) ? 'enough moves are under way' : undefined
}

function freeShard(cluster: ClusterView, path: ShardPath): ShardView | Refusal {
  const shard = cluster.shards.get(path)
  if (shard?.exists === undefined) return { refused: `there is no shard ${path}` }
  if (shard.planned !== undefined || shard.move !== undefined) {
    return { refused: `${path} is changing or moving; try again after that` }
  }
  return shard
}
