// What operators ask for of nodes. Each request is answered by a change of the node's record, or refused with the reason;
// what follows from it (moves, transfers) is the controller's.
//
// Invariants, of requests that name an operation:
//   CN1  What one operation has begun, another one neither changes nor ends.
//   CN2  The operation that was ended last begins nothing again: its requests may arrive late and more than once.
//   CN3  A request that asks for what is so already writes nothing.

import type { Commit } from '../../coordination/coordination.ts'
import type { NodeId } from '../../replication/core/configuration.ts'
import type { Refusal } from './operator-requests.ts'
import { encodeNode, nodeKey } from './records/cluster-codec.ts'
import { holdLeftMs, type NodeRecord, type NodeState } from './records/node-record.ts'
import type { NodeView } from './view/node-view.ts'

/** What somebody wants of a node, and the operation of which that is a part, in the words of the caller. */
export type NodeSteering =
  | {
      readonly kind: 'drain' | 'undrain' | 'decommission'
      readonly operationId?: string | undefined
    }
  /** Its leaderships go to other nodes, and it gets no new ones for `holdMs`. */
  | {
      readonly kind: 'hand_over'
      readonly operationId?: string | undefined
      readonly holdMs: number
    }

export type NodeWish = { readonly node: NodeId } & (
  NodeSteering | { readonly kind: 'forget'; readonly operationId?: undefined }
)

/** A wish, when it was asked for by the wall clock, and the name of the change that fulfils it. */
export type NodeRequest = NodeWish & { readonly operation: string; readonly nowMs: number }

/** A wish that can be fulfilled. */
export interface AcceptedWish {
  /** The node's record when it is. */
  readonly record: NodeRecord
  /** Holds for the record that was seen. Undefined: it is so already. */
  readonly commit: Commit | undefined
}

/** What a node's state is after each request that was accepted. */
const STATE_AFTER: Readonly<Record<'drain' | 'decommission' | 'forget', NodeState>> = {
  drain: 'draining',
  decommission: 'decommissioned',
  forget: 'forgotten',
}

/** In which states a node may be asked for each. */
const STATES_BEFORE: Readonly<Record<NodeWish['kind'], readonly NodeState[]>> = {
  drain: ['serving', 'draining'],
  undrain: ['serving', 'draining'],
  decommission: ['serving', 'draining', 'decommissioned'],
  hand_over: ['serving', 'draining'],
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
function otherOperation(before: NodeRecord, request: NodeRequest): string | undefined {
  const { kind, operationId: asking } = request
  if (asking === undefined) return undefined
  const { id, endedOperationId } = before
  if (asking === endedOperationId) {
    if (kind === 'undrain') return undefined
    return `the operation ${asking} was ended by an undrain of ${id}`
  }
  const running = runningOn(before, request.nowMs)
  if (kind === 'undrain') {
    const [first] = running
    const isOwn = running.some(({ operationId }) => operationId === asking)
    return first === undefined || isOwn ? undefined : named(before, first, asking)
  }
  const isAnother = ({ what, operationId }: Running): boolean =>
    (what === 'hold') === (kind === 'hand_over') &&
    operationId !== undefined &&
    operationId !== asking
  const other = running.find(isAnother)
  return other && named(before, other, asking)
}

/** Something that was begun on the node, and by which operation. */
interface Running {
  readonly what: 'emptying' | 'hold'
  readonly operationId: string | undefined
}

function runningOn(record: NodeRecord, nowMs: number): readonly Running[] {
  const { state, operationId, hold } = record
  const isEmptied = state === 'draining' || state === 'decommissioned'
  const isHeld = hold !== undefined && holdLeftMs(record, nowMs) > 0
  return [
    ...(isEmptied ? [{ what: 'emptying', operationId } as const] : []),
    ...(isHeld ? [{ what: 'hold', operationId: hold.operationId } as const] : []),
  ]
}

function named({ id, state }: NodeRecord, { what, operationId }: Running, asking: string): string {
  const is = what === 'hold' ? 'held' : state
  const by =
    operationId === undefined ? 'an operation without an id' : `the operation ${operationId}`
  return `${id} is ${is} by ${by}, and not by ${asking}`
}

function recordAfter(before: NodeRecord, request: NodeRequest): NodeRecord {
  const { kind, operationId: asking } = request
  if (kind === 'undrain') return undrained(before, request)
  if (kind === 'hand_over') return held(before, request)
  return { ...before, state: STATE_AFTER[kind], operationId: asking ?? before.operationId }
}

/** Without the drain and the hold that the caller may end. */
function undrained(before: NodeRecord, { operationId: asking, nowMs }: NodeRequest): NodeRecord {
  const isEnded = ({ operationId }: Running): boolean =>
    asking === undefined || operationId === asking
  const running = runningOn(before, nowMs)
  const ended = running.filter(isEnded)
  const stays = new Set(running.filter((one) => !isEnded(one)).map(({ what }) => what))
  const endedIds = ended.flatMap(({ operationId }) => operationId ?? [])
  const { operationId, hold, ...kept } = before
  return {
    ...kept,
    ...(stays.has('emptying') ? { operationId } : { state: 'serving' }),
    ...(stays.has('hold') ? { hold } : {}),
    endedOperationId: asking ?? endedIds[0] ?? before.endedOperationId,
  }
}

/** CN3: asked again by its operation, a hold ends when it would have. */
function held(
  before: NodeRecord,
  { operationId: asking, holdMs, nowMs }: Extract<NodeRequest, { readonly kind: 'hand_over' }>,
): NodeRecord {
  const current = holdLeftMs(before, nowMs) > 0 ? before.hold : undefined
  if (asking !== undefined && current?.operationId === asking) return before
  const operationId = asking ?? current?.operationId
  return { ...before, hold: { untilMs: Math.round(nowMs) + holdMs, ms: holdMs, operationId } }
}
