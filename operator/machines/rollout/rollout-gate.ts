// Whether the next pod may be stopped. Everything is judged from answers of this pass.
//
// Invariants:
//   GT1  Nothing is known is not well: an answer that is absent or old keeps the gate closed.
//   GT2  A pod that is broken and stale takes nothing away by being stopped: only the facts about its set must be fresh.
//        One whose server is ready is not broken, whatever its sidecar is: its node may have the only copy of something.
//   GT3  A new template whose inference server does not serve in one pod goes to no other one.

import type { PodView, SetView } from '../observed/kubernetes-view.ts'
import type { StoreNode, StoreView } from '../observed/store-view.ts'
import { inferenceFailure } from '../pass/inference.ts'
import { etcdWithQuorum, freshStore, isAway, isCaughtUp, presentNode } from '../pass/pass.ts'
import type { Pass, Waiting } from '../pass/pass.ts'

/** How long a pod may be not ready before it counts as broken without a reason of Kubernetes. */
const BROKEN_AFTER_MS = 10 * 60_000

/** What the gate is closed for; `undefined` when it is open. */
export function closedGate(pass: Pass, set: SetView, next: PodView): Waiting | undefined {
  if (!isCaughtUp(set)) {
    return { reason: 'WaitingForFreshState', message: 'the StatefulSet has a newer generation' }
  }
  if (isStaleAndBroken(pass, set, next)) return undefined
  return closedForPods(pass, set, next) ?? closedForEtcd(pass) ?? closedForStore(pass, set, next)
}

/** It cannot become ready on the revision that it has, so that nothing is lost by the next one. */
export function isStaleAndBroken(pass: Pass, set: SetView, pod: PodView): boolean {
  return pod.isServing !== true && isStaleAndIll(pass, set, pod)
}

/** Its own revision keeps it from becoming ready, so that nobody waits for it; its node may serve all the same. */
export function isStaleAndIll(pass: Pass, set: SetView, pod: PodView): boolean {
  if (pod.revision === set.updateRevision || pod.isReady || pod.isDeleting) return false
  const isOld = pass.observed.nowMs - pod.readyChangedAtMs > BROKEN_AFTER_MS
  const ofSidecar = pod.isServing === true ? pod.inference?.problem : undefined
  return (pod.problem ?? ofSidecar) !== undefined || isOld
}

function closedForPods(pass: Pass, set: SetView, next: PodView): Waiting | undefined {
  const others = pass.observed.nodes.pods.filter(({ ordinal }) => ordinal !== next.ordinal)
  const missing = set.replicas - 1 - others.length
  const down = others.filter((pod) => !isReadyOrReplaceable(pass, set, pod))
  const broken = down.find((pod) => pod.problem !== undefined && !pod.isReady)
  if (broken?.problem !== undefined) {
    return { reason: 'Stalled', message: `${broken.name}: ${broken.problem.message}` }
  }
  if (next.isDeleting || missing + down.length >= unavailableMax(pass, set)) {
    const names = [next, ...down].filter(({ isReady }) => !isReady).map(({ name }) => name)
    const message = names.length > 0 ? `not ready: ${names.join(', ')}` : 'pods are missing'
    return { reason: 'WaitingForPods', message }
  }
  return undefined
}

function isReadyOrReplaceable(pass: Pass, set: SetView, pod: PodView): boolean {
  return (pod.isReady && !pod.isDeleting) || isStaleAndIll(pass, set, pod)
}

/** At most as many as leave a majority ready; one where there is no majority to keep. */
function unavailableMax({ wanted }: Pass, { replicas }: SetView): number {
  return Math.max(1, Math.min(wanted.pods.unavailableMax, Math.floor((replicas - 1) / 2)))
}

/** Without a quorum a node that starts cannot join. */
function closedForEtcd(pass: Pass): Waiting | undefined {
  if (!pass.wanted.hasManagedEtcd) return undefined
  const etcd = etcdWithQuorum(pass)
  if (etcd?.members.every(({ isHealthy }) => isHealthy) === true) return undefined
  return { reason: 'WaitingForEtcd', message: 'a member of etcd is missing' }
}

function closedForStore(pass: Pass, set: SetView, next: PodView): Waiting | undefined {
  const store = freshStore(pass)
  if (store === undefined) {
    return { reason: 'WaitingForHealth', message: 'the store does not answer' }
  }
  if (pass.observed.cluster.overrides.skipsHealthGate) return undefined
  const closed =
    closedForHealth(pass, store) ??
    closedForNodes(pass, store, next) ??
    closedForInference(pass, set, next)
  return closed === undefined ? undefined : (deadEnd(pass, set, next, closed) ?? closed)
}

/**
 * The store needs what a pod has that comes after the next one, and cannot start before its turn: nothing opens the gate by
 * itself. People may know that the next pod can be stopped all the same.
 */
function deadEnd(pass: Pass, set: SetView, next: PodView, closed: Waiting): Waiting | undefined {
  // A drain comes to its end, or people end it.
  if (closed.reason === 'WaitingForDrain') return undefined
  const broken = pass.observed.nodes.pods.find(
    (pod) =>
      pod.ordinal < next.ordinal && pod.problem !== undefined && isStaleAndBroken(pass, set, pod),
  )
  if (broken === undefined) return undefined
  const message = `${closed.message}, and ${broken.name} cannot start before ${next.name} has restarted`
  return { reason: 'Stalled', message }
}

function closedForHealth({ wanted }: Pass, store: StoreView): Waiting | undefined {
  if (wanted.isSingleNode) return undefined
  if (store.shards.unavailable > 0 || store.shards.underReplicated > 0) {
    return { reason: 'WaitingForReplicas', message: 'shards have too few replicas in sync' }
  }
  const isEnough =
    store.health === 'healthy' || (!wanted.requiresHealth && store.health === 'degraded')
  if (isEnough) return undefined
  return { reason: 'WaitingForHealth', message: store.message ?? `the store is ${store.health}` }
}

function closedForNodes(pass: Pass, store: StoreView, next: PodView): Waiting | undefined {
  if (pass.wanted.isSingleNode) return undefined
  const emptying = store.nodes.find(({ state }) => state === 'draining')
  if (emptying !== undefined) {
    return { reason: 'WaitingForDrain', message: `${nameOf(emptying)} is being drained` }
  }
  const away = store.nodes.filter((node) => node.state === 'serving' && isAway(node))
  if (away.length >= pass.wanted.pods.unavailableMax) {
    return { reason: 'WaitingForPods', message: `away: ${away.map(nameOf).join(', ')}` }
  }
  const node = presentNode(pass, next.name)
  if (node === undefined) return undefined
  if (node.safeToStop) return undefined
  return { reason: 'WaitingForReplicas', message: `${next.name}: ${node.neededFor ?? 'is needed'}` }
}

/** A new template that breaks one inference server would break all; the store itself serves without them. */
function closedForInference(pass: Pass, set: SetView, next: PodView): Waiting | undefined {
  const { nodes, nowMs } = pass.observed
  const pod = nodes.pods.find(
    ({ ordinal, revision, inference }) =>
      ordinal !== next.ordinal &&
      revision === set.updateRevision &&
      inference !== undefined &&
      inference.state !== 'Ready',
  )
  if (pod === undefined) return undefined
  const failure = inferenceFailure(pod, nowMs)
  if (failure !== undefined) return { reason: 'Stalled', message: failure }
  return { reason: 'WaitingForHealth', message: `${pod.name}: its inference server loads models` }
}

function nameOf({ id, name }: StoreNode): string {
  return name ?? id
}
