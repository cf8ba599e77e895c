// One pass as the machines see it, and the questions that several of them ask.

import type { Step } from './decision.ts'
import type { ReasonOf } from '../../kinds/cluster/conditions.ts'
import type { ClusterOperation, OperationPhase } from '../../kinds/cluster/operation.ts'
import type { Memory } from './memory.ts'
import type { EtcdView } from '../observed/etcd-view.ts'
import type { ClaimView, PodView, PoolView, SetView } from '../observed/kubernetes-view.ts'
import type { Observed } from '../observed/observed.ts'
import type { StoreNode, StoreView } from '../observed/store-view.ts'
import type { Wanted } from './wanted.ts'

/** One pass: what was read, what the spec asks for, and what is remembered. */
export interface Pass {
  readonly observed: Observed
  readonly wanted: Wanted
  readonly memory: Memory
}

/** What a machine makes of a pass: at most one step, and what is remembered. */
export interface Move {
  readonly step?: Step
  readonly memory: Memory
  /** Why the operation does not advance. */
  readonly waiting?: Waiting
}

/** Why an operation does not advance. */
export interface Waiting {
  readonly reason: ReasonOf<'Progressing'>
  /** For people. It does not change while nothing else does. */
  readonly message: string
}

/** What a machine does in each of its phases. Another phase, as of a later version, is its first one. */
export type PhaseTable = Partial<
  Record<OperationPhase, (pass: Pass, operation: ClusterOperation) => Move>
>

/** An answer of the store that is older tells nothing that may be acted upon. */
const ANSWER_AGE_MAX_MS = 10_000

/** The store's answer, if it is recent and an elected controller stands behind it. */
export function freshStore({ observed: { store, nowMs } }: Pass): StoreView | undefined {
  if (store === 'unreachable' || !store.isControlled) return undefined
  const ageMs = nowMs - store.readAtMs + store.ageMs
  return ageMs <= ANSWER_AGE_MAX_MS ? store : undefined
}

/** etcd's answer, if it is recent and has a quorum. Where others run etcd, the store's controller tells enough. */
export function etcdWithQuorum({ observed: { etcd, nowMs } }: Pass): EtcdView | undefined {
  if (etcd === 'unreachable' || !etcd.hasQuorum) return undefined
  return nowMs - etcd.readAtMs <= ANSWER_AGE_MAX_MS ? etcd : undefined
}

export function storeNodes({ observed: { store } }: Pass): readonly StoreNode[] {
  return store === 'unreachable' ? [] : store.nodes
}

export function nodeWithID(pass: Pass, id: string | undefined): StoreNode | undefined {
  return id === undefined ? undefined : storeNodes(pass).find((node) => node.id === id)
}

/** It takes part: it answers now, and nobody has taken it out of the cluster. */
export function isPresent({ state, condition }: StoreNode): boolean {
  const isOut = state === 'decommissioned' || state === 'forgotten' || state === 'unknown'
  return !isOut && condition !== 'away' && condition !== 'lost'
}

export function isAway({ condition }: StoreNode): boolean {
  return condition === 'away' || condition === 'lost'
}

/** The node that runs in the pod now. Another one of this name may be away: that of an earlier claim. */
export function presentNode(pass: Pass, podName: string): StoreNode | undefined {
  return storeNodes(pass)
    .filter((node) => node.name === podName && isPresent(node))
    .toSorted((one, other) => (one.registeredAt ?? '').localeCompare(other.registeredAt ?? ''))
    .at(-1)
}

export function podAt({ pods }: PoolView, ordinal: number): PodView | undefined {
  return pods.find((pod) => pod.ordinal === ordinal)
}

export function claimAt({ claims }: PoolView, ordinal: number): ClaimView | undefined {
  return claims.find((claim) => claim.ordinal === ordinal)
}

export function podNameOf({ observed: { cluster } }: Pass, ordinal: number): string {
  return `${cluster.name}-node-${ordinal}`
}

/** The ordinal of a pod of the nodes; undefined for another name. */
export function nodeOrdinal({ observed: { cluster } }: Pass, podName: string): number | undefined {
  const start = `${cluster.name}-node-`
  const digits = podName.startsWith(start) ? podName.slice(start.length) : ''
  return /^\d+$/.test(digits) ? Number(digits) : undefined
}

/** The controller of sets has seen what was written last, so that its counts and revisions are about that. */
export function isCaughtUp(set: SetView): boolean {
  return !set.isDeleting && set.observedGeneration >= set.generation
}

/** The claim has the mark of a node that was emptied and decommissioned, which must never start again. */
export function isDrained(claim: ClaimView | undefined): boolean {
  return claim?.drained !== undefined
}

export function ordinalsFrom(first: number, end: number): number[] {
  return Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index)
}

/** The pod is ready, and the store lists its node as one that takes part. */
export function hasJoined(pass: Pass, ordinal: number): boolean {
  const pod = podAt(pass.observed.nodes, ordinal)
  const isReady = pod !== undefined && pod.isReady && !pod.isDeleting
  return isReady && presentNode(pass, pod.name) !== undefined
}

/** What is remembered with the operation, or without any. */
function remember(pass: Pass, operation: ClusterOperation | undefined): Memory {
  const { operation: _, ...rest } = pass.memory
  return operation === undefined ? rest : { ...rest, operation }
}

/** The operation as it is to be remembered, and a step if there is one. */
export function move(pass: Pass, operation: ClusterOperation | undefined, step?: Step): Move {
  return { memory: remember(pass, operation), ...(step === undefined ? {} : { step }) }
}

/** The operation, which cannot advance now. */
export function wait(
  pass: Pass,
  operation: ClusterOperation,
  reason: Waiting['reason'],
  message: string,
): Move {
  return { memory: remember(pass, operation), waiting: { reason, message } }
}
