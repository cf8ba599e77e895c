// What operators ask for of nodes. Each request is answered by a change of the node's record, or refused with the reason;
// what follows from it (moves, transfers) is the controller's.
//
// Invariants, of requests that name an operation:
//   CN1  What one operation has begun, another one neither changes nor ends.
//   CN2  An operation that was ended begins nothing again: its requests may arrive late and more than once.
//   CN3  A request that asks for what is so already writes nothing.

import type { Commit } from '../../coordination/coordination.ts'
import type { NodeId } from '../../replication/core/configuration.ts'
import type { Refusal } from './operator-requests.ts'
import { encodeNode, nodeKey } from './records/cluster-codec.ts'
import type { NodeRecord, NodeState } from './records/node-record.ts'
import type { NodeView } from './view/node-view.ts'

/** What somebody wants of a node. */
export interface NodeWish {
  readonly kind: 'drain' | 'undrain' | 'decommission' | 'forget'
  readonly node: NodeId
  /** The operation of which this is a part, in the words of the caller; undefined: of none. */
  readonly operationId?: string | undefined
}

/** A wish, and the name of the change that fulfils it. */
export interface NodeRequest extends NodeWish {
  readonly operation: string
}

/** A wish that can be fulfilled. */
export interface AcceptedWish {
  /** The node's record when it is. */
  readonly record: NodeRecord
  /** Holds for the record that was seen. Undefined: it is so already. */
  readonly commit: Commit | undefined
}

/** What a node's state is after each request that was accepted. */
const STATE_AFTER: Readonly<Record<NodeWish['kind'], NodeState>> = {
  drain: 'draining',
  undrain: 'serving',
  decommission: 'decommissioned',
  forget: 'forgotten',
}

/** In which states a node may be asked for each. */
const STATES_BEFORE: Readonly<Record<NodeWish['kind'], readonly NodeState[]>> = {
  drain: ['serving', 'draining'],
  undrain: ['serving', 'draining'],
  decommission: ['serving', 'draining', 'decommissioned'],
  forget: ['decommissioned', 'forgotten'],
}

/** The nodes' records, as far as a request needs them. */
interface StoredNodes {
  readonly nodes: ReadonlyMap<NodeId, Pick<NodeView, 'stored'>>
}

export function requestOfNode(cluster: StoredNodes, request: NodeRequest): AcceptedWish | Refusal {
  const { kind, node: id } = request
  const stored = cluster.nodes.get(id)?.stored
  if (stored === undefined) return { refused: `no node ${id} has joined the cluster` }
  const before = stored.record
  if (!STATES_BEFORE[kind].includes(before.state)) {
    const wayOut =
      kind === 'forget' ? 'decommission it first' : 'start it over an empty data directory'
    return { refused: `${id} is ${before.state}; ${wayOut}` }
  }
  const refused = otherOperation(before, request)
  if (refused !== undefined) return { refused }
  const after = recordAfter(before, request)
  if (encodeNode(after).equals(encodeNode(before))) return { record: before, commit: undefined }
  const record: NodeRecord = { ...after, operation: request.operation }
  const commit: Commit = {
    when: [{ key: nodeKey(id), modRevision: stored.revision }],
    changes: [{ type: 'put', key: nodeKey(id), value: encodeNode(record) }],
  }
  return { record, commit }
}

/** CN1, CN2. */
function otherOperation(
  { id, state, operationId: current, endedOperationId }: NodeRecord,
  { kind, operationId: asking }: NodeWish,
): string | undefined {
  if (asking === undefined) return undefined
  const isEmptied = state === 'draining' || state === 'decommissioned'
  const what = `${id} is ${state}`
  if (kind === 'undrain') {
    if (!isEmptied || current === asking) return undefined
    return current === undefined
      ? `${what} by an operation without an id, and not by ${asking}`
      : `${what} by the operation ${current}, and not by ${asking}`
  }
  if (asking === endedOperationId) return `the operation ${asking} was ended by an undrain of ${id}`
  if (!isEmptied || current === undefined || current === asking) return undefined
  return `${what} by the operation ${current}, and not by ${asking}`
}

function recordAfter(before: NodeRecord, { kind, operationId }: NodeWish): NodeRecord {
  const { operationId: current, ...kept } = before
  const state = STATE_AFTER[kind]
  if (kind !== 'undrain') return { ...kept, state, operationId: operationId ?? current }
  return { ...kept, state, endedOperationId: operationId ?? current ?? before.endedOperationId }
}
