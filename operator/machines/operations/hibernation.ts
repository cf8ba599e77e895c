// A cluster sleeps: its pods go, all at once, and its volumes stay. That is not a scale-down: nothing is drained.
//
//   Hibernate: StoppingNodes ── no pod of a node ──> StoppingEtcd ── no pod of etcd ──> over: it sleeps
//   Resume:    StartingEtcd ── a quorum ──> StartingNodes ── all have joined ──> over
//
// Invariants:
//   HB1  What is remembered of the number of pods stays, so that as many start again.
//   HB2  The nodes stop before etcd and start after it.

import type { ClusterOperation } from '../../kinds/cluster/operation.ts'
import { remadeNodeSet, setReplicas } from '../objects/keeping.ts'
import { beginOperation, inPhase, phaseAgeMs } from '../pass/memory.ts'
import type { PoolView, SetView } from '../observed/kubernetes-view.ts'
import { etcdWithQuorum, hasJoined, move, ordinalsFrom, wait } from '../pass/pass.ts'
import type { Move, Pass } from '../pass/pass.ts'
import { mendsPods } from '../rollout/rollout.ts'

export function beginHibernate({ observed }: Pass): ClusterOperation {
  return beginOperation('Hibernate', 'StoppingNodes', observed)
}

export function beginResume({ observed, wanted }: Pass): ClusterOperation {
  const first = wanted.hasManagedEtcd ? 'StartingEtcd' : 'StartingNodes'
  return beginOperation('Resume', first, observed)
}

export function hibernate(pass: Pass, operation: ClusterOperation): Move {
  // The spec wants the cluster to serve again, before it was asleep.
  if (!pass.wanted.isHibernated) return move(pass, beginResume(pass))
  const { nodes, etcdPool, nowMs } = pass.observed
  if (operation.phase !== 'StoppingEtcd') {
    const stopping = stopPods(pass, operation, { pool: 'nodes', view: nodes })
    return stopping ?? move(pass, inPhase(operation, 'StoppingEtcd', nowMs))
  }
  const stopping =
    etcdPool === undefined ? undefined : stopPods(pass, operation, { pool: 'etcd', view: etcdPool })
  return stopping ?? fallAsleep(pass)
}

function fallAsleep(pass: Pass): Move {
  const here = { ...pass, memory: { ...pass.memory, isHibernated: true } }
  return move(here, undefined)
}

function stopPods(
  pass: Pass,
  operation: ClusterOperation,
  { pool, view }: { readonly pool: 'nodes' | 'etcd'; readonly view: PoolView },
): Move | undefined {
  const { set, pods } = view
  if (set !== undefined && set.replicas > 0) {
    return move(pass, operation, setReplicas(pool, set, 0))
  }
  if (pods.length === 0) return undefined
  // A set that was deleted without its pods would leave them running.
  if (set === undefined) {
    return move(pass, operation, { kind: 'create_set', pool, replicas: 0, partition: 0 })
  }
  return wait(pass, operation, 'WaitingForPods', `${pods.length} pods are stopping`)
}

export function resume(pass: Pass, operation: ClusterOperation): Move {
  if (pass.wanted.isHibernated) return move(pass, beginHibernate(pass))
  return operation.phase === 'StartingEtcd'
    ? resumeEtcd(pass, operation)
    : resumeNodes(pass, operation)
}

function resumeEtcd(pass: Pass, operation: ClusterOperation): Move {
  const { etcdPool, nowMs } = pass.observed
  const { etcdReplicas } = pass.memory
  const set = etcdPool?.set
  if (set === undefined) {
    const step = {
      kind: 'create_set',
      pool: 'etcd',
      replicas: etcdReplicas,
      partition: 0,
    } as const
    return move(pass, operation, step)
  }
  if (set.replicas < etcdReplicas) {
    return move(pass, operation, setReplicas('etcd', set, etcdReplicas))
  }
  return etcdWithQuorum(pass) === undefined
    ? wait(pass, operation, 'WaitingForEtcd', 'etcd has no quorum yet')
    : move(pass, inPhase(operation, 'StartingNodes', nowMs))
}

function resumeNodes(pass: Pass, operation: ClusterOperation): Move {
  const { set } = pass.observed.nodes
  const { replicas } = pass.memory
  if (set === undefined) return move(pass, operation, remadeNodeSet(pass))
  if (set.replicas < replicas) {
    return move(pass, operation, newTemplate(pass, set) ?? setReplicas('nodes', set, replicas))
  }
  const missing = ordinalsFrom(0, replicas).filter((ordinal) => !hasJoined(pass, ordinal))
  // Pods that cannot start must not keep out the template that mends them.
  if (missing.length > 0 && !mendsPods(pass)) {
    const isLate = phaseAgeMs(operation, pass.observed.nowMs) > pass.wanted.pods.timeoutMs
    const message = `${missing.length} nodes have not joined yet`
    return wait(pass, operation, isLate ? 'Stalled' : 'WaitingForPods', message)
  }
  const here = { ...pass, memory: { ...pass.memory, isHibernated: false } }
  return move(here, undefined)
}

/** While no pod runs a new template needs no gate. */
function newTemplate({ observed }: Pass, set: SetView) {
  const { nodes, desired } = observed
  const isOld = set.template.digest !== desired.template.digest || set.partition > 0
  if (!isOld || nodes.pods.length > 0) return undefined
  const { uid, resourceVersion } = set
  const version = { uid, resourceVersion }
  return { kind: 'write_template', pool: 'nodes', set: version, partition: 0 } as const
}
