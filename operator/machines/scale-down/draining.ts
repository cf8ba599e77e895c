import type { ClusterOperation, OperationTarget } from '../../kinds/cluster/operation.ts'
import { inPhase, isoTime, sinceMs } from '../pass/memory.ts'
import { etcdWithQuorum, freshStore, isAway, move, wait } from '../pass/pass.ts'
import type { Move, Pass, Waiting } from '../pass/pass.ts'
import {
  askedNode,
  hasNeverJoined,
  isDrainedFor,
  isForced,
  isSameIdentity,
} from './confirmation.ts'
import type { StoreNode, StoreView } from '../observed/store-view.ts'

/** How full the volumes of those that stay may be made by what they are given, in percent. */
const FULL_PERCENT = 85

export function drain(pass: Pass, operation: ClusterOperation): Move {
  const targets = operation.targets ?? []
  const store = freshStore(pass)
  if (store === undefined) {
    return wait(pass, operation, 'WaitingForHealth', 'the store does not answer')
  }
  const asked = targets.filter((target) => isAsked(pass, operation, target))
  if (asked.length === 0) {
    const blocked = blockedBefore(pass, store, targets)
    if (blocked !== undefined) return wait(pass, operation, blocked.reason, blocked.message)
  }
  const next = targets.find((target) => !asked.includes(target) && canBeDrained(pass, target))
  if (next?.nodeID !== undefined) {
    return move(pass, operation, { kind: 'drain', nodeID: next.nodeID, operation: operation.id })
  }
  return followDrain(pass, operation, targets.at(-1))
}

/** Whether the store has the drain, or a later state of the node. */
function isAsked(pass: Pass, { id }: ClusterOperation, target: OperationTarget): boolean {
  const node = askedNode(pass, target)
  if (node === undefined) return false
  return node.state === 'decommissioned' || (node.state === 'draining' && node.operation === id)
}

function canBeDrained(pass: Pass, target: OperationTarget): boolean {
  const node = askedNode(pass, target)
  return node !== undefined && node.state !== 'forgotten'
}

/** What forbids to begin. A drain that has begun is left to the store, which moves nothing that it cannot move. */
function blockedBefore(
  pass: Pass,
  store: StoreView,
  targets: readonly OperationTarget[],
): Waiting | undefined {
  if (pass.wanted.hasManagedEtcd && etcdWithQuorum(pass) === undefined) {
    return { reason: 'WaitingForEtcd', message: 'etcd has no quorum' }
  }
  const leaving = new Set(targets.map(({ nodeID }) => nodeID))
  const staying = store.nodes.filter(({ id, state }) => state === 'serving' && !leaving.has(id))
  const away = staying.find((node) => isAway(node))
  if (away !== undefined) {
    return { reason: 'Blocked', message: `${away.name ?? away.id} is away` }
  }
  if (store.shards.unavailable > 0) {
    return { reason: 'Blocked', message: 'shards take no writes' }
  }
  return hasRoom(store.nodes, staying)
    ? undefined
    : { reason: 'Blocked', message: 'the nodes that stay have too little room on their volumes' }
}

/** Only if every disk is known: the store itself refuses what does not fit. */
function hasRoom(all: readonly StoreNode[], staying: readonly StoreNode[]): boolean {
  const disks = all.flatMap(({ disk }) => (disk === undefined ? [] : [disk]))
  const left = staying.flatMap(({ disk }) => (disk === undefined ? [] : [disk]))
  if (disks.length < all.length || left.length === 0) return true
  const usedBytes = sum(disks.map(({ totalBytes, freeBytes }) => totalBytes - freeBytes))
  return usedBytes <= (sum(left.map(({ totalBytes }) => totalBytes)) * FULL_PERCENT) / 100
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

/** The node with the highest ordinal leaves first; others may be empty before it. */
function followDrain(
  pass: Pass,
  operation: ClusterOperation,
  highest: OperationTarget | undefined,
): Move {
  if (highest === undefined) return move(pass, undefined)
  const { nowMs } = pass.observed
  const node = askedNode(pass, highest)
  const next = inPhase(operation, 'Decommissioning', nowMs)
  const decommissioning = { ...next, targetOrdinal: highest.ordinal }
  if (node === undefined) return withoutNode(pass, operation, highest)
  const isReady = node.state === 'decommissioned' || isDrainedFor(node, operation)
  const mayGo = isReady || isForced(pass, highest, node)
  if (mayGo && isSameIdentity(pass, highest)) return move(pass, decommissioning)
  return awaitEmpty(pass, operation)
}

/** A pod whose node never joined holds nothing; an id that the store does not list says nothing. */
function withoutNode(pass: Pass, operation: ClusterOperation, target: OperationTarget): Move {
  if (hasNeverJoined(pass, target)) {
    const shrinking = inPhase(operation, 'Shrinking', pass.observed.nowMs)
    return move(pass, { ...shrinking, targetOrdinal: target.ordinal })
  }
  const message = `the store does not list the node of ordinal ${target.ordinal}`
  return wait(pass, operation, 'Blocked', message)
}

/** What moves resets the clock; without movement the drain is stalled, and continues whenever the store does. */
function awaitEmpty(pass: Pass, operation: ClusterOperation): Move {
  const { nowMs } = pass.observed
  const nodes = (operation.targets ?? []).flatMap((target) => askedNode(pass, target) ?? [])
  const remaining = sum(nodes.map(leftOn))
  const before = sum((operation.targets ?? []).map((target) => target.remaining ?? 0))
  const targets = (operation.targets ?? []).map((target) => {
    const node = askedNode(pass, target)
    return node === undefined ? target : { ...target, remaining: leftOn(node) }
  })
  const hasMoved = remaining !== before
  const lastProgressAt = hasMoved ? isoTime(nowMs) : operation.lastProgressAt
  const draining = { ...operation, targets, lastProgressAt }
  const { reason, message } = verdict(pass, nodes, sinceMs(lastProgressAt, nowMs))
  return wait(pass, draining, reason, message)
}

function leftOn({ emptying }: StoreNode): number {
  return emptying === undefined ? 0 : emptying.replicasLeft + emptying.leadersLeft
}

function verdict(pass: Pass, nodes: readonly StoreNode[], quietMs: number): Waiting {
  const stuck = nodes.find(({ emptying }) => (emptying?.waiting ?? 0) > 0 && emptying?.moving === 0)
  if (stuck !== undefined) {
    const why = stuck.emptying?.waitingFor ?? 'shards cannot leave'
    return { reason: 'Blocked', message: `${stuck.name ?? stuck.id}: ${why}` }
  }
  if (quietMs > pass.wanted.stallTimeoutMs) {
    return { reason: 'Stalled', message: 'nothing has moved for too long' }
  }
  const down = nodes.find((node) => isAway(node))
  return down === undefined
    ? { reason: 'WaitingForDrain', message: 'replicas are moving to other nodes' }
    : { reason: 'WaitingForDrain', message: `${down.name ?? down.id} is away` }
}
