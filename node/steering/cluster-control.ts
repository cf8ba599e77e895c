// What a node with a controller somewhere in its cluster can ask about it: the seam between the answers
// of the HTTP API and the control plane below.

import type { ShardQuery } from '../controller/core/cluster-report.ts'
import type { ClusterReport, NodeReport, ShardReport } from '../controller/core/reported-cluster.ts'
import type { NodeWish } from '../controller/core/node-requests.ts'
import type { Refusal } from '../controller/core/operator-requests.ts'
import type { KnownCounts } from '../cluster/known-counts.ts'
import type { ShardPath } from '../controller/core/records/cluster-codec.ts'
import type { NodeId } from '../replication/core/configuration.ts'

/**
 * The control plane as one node reaches it.
 *
 * Contract:
 * - `report` and `listShards` show the cluster as the control plane knows it, not older than a few
 *   seconds. They reject with UNAVAILABLE if it does not answer.
 * - Requests resolve with undefined when their change is stored, and with a refusal when nothing has changed.
 *   UNAVAILABLE means that the outcome is unknown or nothing happened; asking again is harmless.
 * - `controller`, `problem`, `known` and `knownNodes` answer at once, with what is known.
 */
export interface ClusterControl {
  /** The cluster's name. */
  readonly name: string
  /** The node that is elected; undefined while none is. */
  controller(): NodeId | undefined
  /** Why nothing can be changed now, such as a coordination store that does not answer or went back. */
  problem(): string | undefined
  /** The cluster as this node knows it, without asking anybody. */
  known(): KnownCounts
  /** The nodes as this one knows them, in any order. */
  knownNodes(): readonly NodeReport[]
  report(): Promise<ClusterReport>
  listShards(query: ShardQuery): Promise<readonly ShardReport[]>
  requestOfNode(wish: NodeWish): Promise<Refusal | undefined>
  requestMove(request: {
    readonly path: ShardPath
    readonly from: NodeId
    readonly to: NodeId
  }): Promise<Refusal | undefined>
  requestTransfer(request: {
    readonly path: ShardPath
    readonly to: NodeId
  }): Promise<Refusal | undefined>
}
