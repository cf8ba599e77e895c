// The sets stay as they were asked to be, whatever people do to them by hand.
//
// Invariants:
//   KP1  More pods than were asked for are kept as soon as one of their nodes has joined: only a scale-down takes it away.
//   KP2  A set that is made again restarts no pod.

import type { OperationType } from '../../kinds/cluster/operation.ts'
import type { Pool, Step } from '../pass/decision.ts'
import type { Memory } from '../pass/memory.ts'
import type { ClaimView, PodView, PoolView, SetView } from '../observed/kubernetes-view.ts'
import {
  freshStore,
  isAway,
  isDrained,
  isPresent,
  move,
  podNameOf,
  storeNodes,
} from '../pass/pass.ts'
import type { Move, Pass } from '../pass/pass.ts'

/** The memory with the pods that were added by hand and whose nodes have joined (KP1), also if they were taken away again. */
export function withAddedPods(pass: Pass): Memory {
  const { memory, observed } = pass
  const { set, pods, claims } = observed.nodes
  if (set === undefined || set.isDeleting || !mayKeep(pass)) return memory
  const joined = pods.filter((pod) => pod.ordinal < set.replicas && isListed(pass, pod))
  const stranded = claims.filter((claim) => isStranded(pass, claim))
  const highest = Math.max(-1, ...[...joined, ...stranded].map(({ ordinal }) => ordinal))
  return highest < memory.replicas ? memory : { ...memory, replicas: highest + 1 }
}

/** The volume of a node that counts in the store, and that nobody has drained: its pod was taken away by hand. */
function isStranded(pass: Pass, claim: ClaimView): boolean {
  if (claim.isDeleting || isDrained(claim)) return false
  const name = podNameOf(pass, claim.ordinal)
  return storeNodes(pass).some(
    (node) =>
      node.name === name && isAway(node) && (node.state === 'serving' || node.state === 'draining'),
  )
}

/** Sets that are absent are made again, and get the number of pods that is remembered. */
export function keepSets(pass: Pass): Move | undefined {
  if (!mayKeep(pass)) return undefined
  const { observed, memory } = pass
  const step =
    keepSet('etcd', observed.etcdPool, memory.etcdReplicas) ??
    (observed.nodes.set === undefined ? remadeNodeSet(pass) : undefined) ??
    keepSet('nodes', observed.nodes, memory.replicas) ??
    withoutStrangers(pass)
  return step === undefined ? undefined : move(pass, memory.operation, step)
}

/** The machines of these move the sets by themselves. */
function mayKeep({ memory: { operation, isHibernated, replicas } }: Pass): boolean {
  if (replicas === 0 || isHibernated) return false
  if (operation === undefined) return true
  if (operation.type === 'ScaleDown') return operation.phase !== 'Shrinking'
  return !MOVE_SETS.includes(operation.type)
}

const MOVE_SETS: readonly OperationType[] = ['Hibernate', 'Resume', 'Resize', 'Create', 'Delete']

function keepSet(pool: Pool, view: PoolView | undefined, replicas: number): Step | undefined {
  if (view === undefined || replicas === 0) return undefined
  const { set, pods } = view
  if (set === undefined) {
    return { kind: 'create_set', pool, replicas, partition: pods.length > 0 ? replicas : 0 }
  }
  if (set.isDeleting || set.replicas >= replicas) return undefined
  return setReplicas(pool, set, replicas)
}

/**
 * The set of the nodes, which is absent, with `atLeast` pods. It takes every pod that is there: those that were added by hand
 * may have joined since the store was last asked (KP1, KP2).
 */
export function remadeNodeSet({ observed: { nodes }, memory }: Pass, atLeast?: number): Step {
  const ordinals = nodes.pods.filter(({ isDeleting }) => !isDeleting).map(({ ordinal }) => ordinal)
  const most = Math.max(-1, ...ordinals) + 1
  const replicas = Math.max(atLeast ?? memory.replicas, most)
  const partition = nodes.pods.length > 0 ? replicas : 0
  return { kind: 'create_set', pool: 'nodes', replicas, partition }
}

/**
 * Pods that were added by hand and whose nodes have not joined hold nothing. A set that a cache shows as it was before
 * a shrink looks the same: its resourceVersion refuses the write then.
 */
function withoutStrangers(pass: Pass): Step | undefined {
  const { nodes } = pass.observed
  const { replicas } = pass.memory
  const { set } = nodes
  if (set === undefined || set.isDeleting || set.replicas <= replicas) return undefined
  const extra = nodes.pods.filter(({ ordinal }) => ordinal >= replicas)
  const isKnown = extra.some((pod) => pod.isReady || isListed(pass, pod))
  if (isKnown || freshStore(pass) === undefined) return undefined
  return setReplicas('nodes', set, replicas)
}

function isListed(pass: Pass, { name }: PodView): boolean {
  return storeNodes(pass).some((node) => node.name === name && isPresent(node))
}

export function setReplicas(pool: Pool, set: SetView, replicas: number): Step {
  const { uid, resourceVersion } = set
  return { kind: 'set_replicas', pool, set: { uid, resourceVersion }, replicas }
}
