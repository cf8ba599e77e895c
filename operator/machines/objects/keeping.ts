// The sets stay as they were asked to be, whatever people do to them by hand.
//
// Invariants:
//   KP1  More pods than were asked for are kept as soon as one of their nodes has joined: only a scale-down takes it away.
//   KP2  A set that is made again restarts no pod.

import type { OperationType } from '../../kinds/cluster/operation.ts'
import type { Pool, Step } from '../pass/decision.ts'
import type { Memory } from '../pass/memory.ts'
import type { PodView, PoolView, SetView } from '../observed/kubernetes-view.ts'
import { freshStore, isPresent, move, storeNodes } from '../pass/pass.ts'
import type { Move, Pass } from '../pass/pass.ts'

/** The memory with the pods that were added by hand and whose nodes have joined (KP1). */
export function withAddedPods(pass: Pass): Memory {
  const { memory, observed } = pass
  const set = observed.nodes.set
  if (set === undefined || set.replicas <= memory.replicas || !mayKeep(pass)) return memory
  const joined = observed.nodes.pods.filter(
    (pod) => pod.ordinal >= memory.replicas && pod.ordinal < set.replicas && isListed(pass, pod),
  )
  const highest = Math.max(-1, ...joined.map(({ ordinal }) => ordinal))
  return highest < memory.replicas ? memory : { ...memory, replicas: highest + 1 }
}

/** Sets that are absent are made again, and get the number of pods that is remembered. */
export function keepSets(pass: Pass): Move | undefined {
  if (!mayKeep(pass)) return undefined
  const { observed, memory } = pass
  const step =
    keepSet('etcd', observed.etcdPool, memory.etcdReplicas) ??
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
