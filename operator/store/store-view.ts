// What the store answers, as the state machines read it.

import type {
  ClusterNode,
  ClusterStatus,
  NodeList,
} from '../../clients/typescript/src/contract/store.v1.ts'
import type { Emptying, StoreNode, StoreView } from '../machines/observed/store-view.ts'

/** The answers of one node to one look, and when the later of them came. */
export interface StoreAnswers {
  readonly status: ClusterStatus
  readonly list: NodeList
  readonly readAtMs: number
}

export function storeViewOf({ status, list, readAtMs }: StoreAnswers): StoreView {
  const { shards } = status.cluster
  const unavailable = shards.unplaced + shards.leaderless + shards.below_minimum
  const problem = controllerProblemOf(status, list)
  return {
    readAtMs,
    // The answers are of two moments; what follows from both is as old as the older one.
    ageMs: Math.max(status.cluster.age_ms ?? 0, list.age_ms ?? 0),
    health: status.health,
    message: status.message,
    version: status.version,
    isControlled: problem === undefined,
    ...(problem !== undefined && { controllerProblem: problem }),
    // A shard is counted once, by its worst trouble.
    shards: {
      total: shards.total,
      underReplicated: unavailable + shards.under_replicated,
      unavailable,
    },
    nodes: list.nodes.map(storeNodeOf),
  }
}

/** Why nothing moves now; `undefined` if an elected controller moves what has to be moved. */
function controllerProblemOf({ cluster }: ClusterStatus, list: NodeList): string | undefined {
  if (cluster.mode === 'swarm') return undefined
  const problem = cluster.problem ?? list.problem
  if (problem !== undefined) return problem
  if (cluster.frozen === true) return 'the asked node has seen its control plane go back'
  if (cluster.controller === null) return 'no node is elected as the controller'
  const isOld = cluster.age_ms !== undefined || list.age_ms !== undefined
  return isOld ? 'no controller reports' : undefined
}

function storeNodeOf(node: ClusterNode): StoreNode {
  const { id, name, zone, state, condition, version, incarnation, replicas, leaders } = node
  return {
    id,
    ...(name !== undefined && { name }),
    zone,
    state,
    condition,
    ...(version !== undefined && { version }),
    ...(incarnation !== undefined && { incarnation }),
    replicas,
    leaders,
    safeToStop: node.safe_to_stop,
    ...(node.needed_for !== undefined && { neededFor: node.needed_for }),
    ...(node.emptying !== undefined && { emptying: emptyingOf(node.emptying) }),
    ...(node.operation_id !== undefined && { operation: node.operation_id }),
    ...(node.disk !== undefined && { disk: diskOf(node.disk) }),
    ...(node.registered_at !== undefined && { registeredAt: node.registered_at }),
  }
}

function diskOf({
  total_bytes: totalBytes,
  free_bytes: freeBytes,
}: NonNullable<ClusterNode['disk']>): NonNullable<StoreNode['disk']> {
  return { totalBytes, freeBytes }
}

function emptyingOf(emptying: NonNullable<ClusterNode['emptying']>): Emptying {
  const [first] = emptying.waiting
  return {
    done: emptying.done,
    replicasLeft: emptying.replicas_left,
    leadersLeft: emptying.leaders_left,
    moving: emptying.moving,
    waiting: emptying.waiting.length,
    ...(first !== undefined && { waitingFor: `${first.table}: ${first.reason}` }),
  }
}
