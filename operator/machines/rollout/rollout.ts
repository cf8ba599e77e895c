// One pod after another gets the newest template: a new version, new options, new secrets, or a restart.
//
//   Prepare ── the template is written, and no pod restarts ──> Gate ── open at two looks ──>
//   LeadershipMove ── the node leads nothing, or has had its time ──> Step ── the pod is another one ──>
//   WaitReady ── ready for long enough ──> WaitRejoin ── the store has its node back ──> Gate of the next pod, or over
//   A newer template leads to Prepare from each of them.
//
// Invariants:
//   RO1  The partition is lowered by one pod, and only in a pass that has found the gate open.
//   RO2  A template is written with a partition that no pod is above.
//   RO3  No time that passes makes the walk leave a pod behind that is not ready.
//   RO4  A pod that cannot start on an old revision is replaced without waiting for it.

import type {
  ClusterOperation,
  OperationPhase,
  OperationType,
} from '../../kinds/cluster/operation.ts'
import { beginOperation, inPhase, isoTime, phaseAgeMs, sinceMs } from '../pass/memory.ts'
import type { PodView, SetView } from '../observed/kubernetes-view.ts'
import { isCaughtUp, move, podAt, presentNode, wait } from '../pass/pass.ts'
import type { Move, Pass, Waiting } from '../pass/pass.ts'
import { closedGate, isStaleAndBroken, isStaleAndIll } from './rollout-gate.ts'

/** A first look right after a restart may be too early: the second one comes 10 s later. */
const SECOND_LOOK_MS = 10_000
/** Leaderships that did not move within a minute move when the node stops. */
const LEADERSHIP_MOVE_MAX_MS = 60_000

/** Why pods have to be restarted; `undefined` if all are of the desired template. */
export function rolloutType({ observed }: Pass): OperationType | undefined {
  const { nodes, desired } = observed
  const { set } = nodes
  if (set === undefined || set.isDeleting) return undefined
  if (set.template.digest !== desired.template.digest) return typeOfChange(set, desired.template)
  if (!isCaughtUp(set)) return undefined
  const isBehind = nodes.pods.some(({ revision }) => revision !== set.updateRevision)
  return isBehind || set.partition > 0 ? 'ConfigChange' : undefined
}

/** A pod cannot become ready, and another template is desired: nothing else is worth waiting for. */
export function mendsPods(pass: Pass): boolean {
  const isBroken = pass.observed.nodes.pods.some(
    ({ problem, isReady }) => problem !== undefined && !isReady,
  )
  return isBroken && rolloutType(pass) !== undefined
}

function typeOfChange({ template }: SetView, desired: SetView['template']): OperationType {
  if (template.version !== desired.version || template.image !== desired.image) return 'Upgrade'
  return template.restartedAt === desired.restartedAt ? 'ConfigChange' : 'Restart'
}

export function beginRollout({ observed }: Pass, type: OperationType): ClusterOperation {
  const operation = beginOperation(type, 'Prepare', observed)
  return { ...operation, templateHash: observed.desired.template.digest }
}

export function rollout(pass: Pass, operation: ClusterOperation): Move {
  const { set } = pass.observed.nodes
  if (set === undefined || set.isDeleting) {
    return wait(pass, operation, 'WaitingForFreshState', 'the StatefulSet is being made')
  }
  if (set.template.digest !== pass.observed.desired.template.digest) {
    return prepare(pass, operation, set)
  }
  if (!isCaughtUp(set)) {
    return wait(pass, operation, 'WaitingForFreshState', 'the StatefulSet has a newer generation')
  }
  const machine = PHASES[operation.phase] ?? lookAtGate
  return machine(pass, operation, set)
}

const PHASES: Partial<
  Record<OperationPhase, (pass: Pass, operation: ClusterOperation, set: SetView) => Move>
> = {
  LeadershipMove: moveLeaderships,
  Step: step,
  WaitReady: awaitReady,
  WaitRejoin: awaitRejoined,
}

/** RO2. */
function prepare(pass: Pass, operation: ClusterOperation, set: SetView): Move {
  const { template } = pass.observed.desired
  const preparing = {
    ...inPhase(operation, 'Prepare', pass.observed.nowMs),
    templateHash: template.digest,
  }
  // The digest that the pods will have is in the status before it is written.
  if (operation.templateHash !== template.digest || operation.phase !== 'Prepare') {
    return move(pass, preparing)
  }
  const { uid, resourceVersion } = set
  return move(pass, preparing, {
    kind: 'write_template',
    pool: 'nodes',
    set: { uid, resourceVersion },
    partition: set.replicas,
  })
}

/** The highest pod that is of an older revision. */
function nextPod(pass: Pass, set: SetView): PodView | undefined {
  return pass.observed.nodes.pods
    .filter((pod) => pod.ordinal < set.replicas && pod.revision !== set.updateRevision)
    .toSorted((one, other) => other.ordinal - one.ordinal)[0]
}

function lookAtGate(pass: Pass, operation: ClusterOperation, set: SetView): Move {
  const { nowMs } = pass.observed
  const gate = inPhase(operation, 'Gate', nowMs)
  const next = nextPod(pass, set)
  if (next === undefined) return finish(pass, gate, set)
  if (!pass.wanted.rollsPods) {
    return wait(pass, gate, 'UpdatesPaused', 'spec.updateStrategy.type is Paused')
  }
  const isBroken = isStaleAndBroken(pass, set, next)
  // Without this, the controller of sets would take a pod that is above the partition although nobody asked the gate.
  if (set.partition <= next.ordinal && !isBroken) {
    return setPartition(pass, gate, set, next.ordinal + 1)
  }
  const closed = closedGate(pass, set, next)
  if (closed !== undefined) return waitAtGate(pass, gate, closed)
  if (isBroken) return goTo(pass, gate, 'Step', next)
  if (gate.gateOpenSince === undefined) {
    return move(pass, { ...gate, gateOpenSince: isoTime(nowMs) })
  }
  if (sinceMs(gate.gateOpenSince, nowMs) < SECOND_LOOK_MS) return move(pass, gate)
  return goTo(pass, gate, 'LeadershipMove', next)
}

function waitAtGate(pass: Pass, gate: ClusterOperation, closed: Waiting): Move {
  const { gateOpenSince: _, ...rest } = gate
  return wait(pass, rest, closed.reason, closed.message)
}

function goTo(
  pass: Pass,
  operation: ClusterOperation,
  phase: 'LeadershipMove' | 'Step',
  { ordinal }: PodView,
): Move {
  return move(pass, {
    ...inPhase(operation, phase, pass.observed.nowMs),
    targetOrdinal: ordinal,
  })
}

/** A partition above 0 would keep pods that are made again on a revision that is nobody's any more. */
function finish(pass: Pass, gate: ClusterOperation, set: SetView): Move {
  if (pass.observed.nodes.pods.length < set.replicas) {
    return wait(pass, gate, 'WaitingForPods', 'pods are missing')
  }
  return set.partition > 0 ? setPartition(pass, gate, set, 0) : move(pass, undefined)
}

function setPartition(
  pass: Pass,
  operation: ClusterOperation,
  { uid, resourceVersion }: SetView,
  partition: number,
): Move {
  const set = { uid, resourceVersion }
  return move(pass, operation, { kind: 'set_partition', pool: 'nodes', set, partition })
}

function moveLeaderships(pass: Pass, operation: ClusterOperation, set: SetView): Move {
  const { nowMs } = pass.observed
  const pod = podAt(pass.observed.nodes, operation.targetOrdinal ?? -1)
  if (pod === undefined) return move(pass, inPhase(operation, 'Gate', nowMs))
  const closed = closedGate(pass, set, pod)
  if (closed !== undefined) return waitAtGate(pass, inPhase(operation, 'Gate', nowMs), closed)
  const node = presentNode(pass, pod.name)
  const isLate = phaseAgeMs(operation, nowMs) > LEADERSHIP_MOVE_MAX_MS
  if (node === undefined || node.leaders === 0 || isLate || pass.wanted.isSingleNode) {
    return move(pass, inPhase(operation, 'Step', nowMs))
  }
  return move(pass, operation, { kind: 'hand_over', nodeID: node.id })
}

function step(pass: Pass, operation: ClusterOperation, set: SetView): Move {
  const { nowMs, nodes } = pass.observed
  const ordinal = operation.targetOrdinal ?? -1
  const pod = podAt(nodes, ordinal)
  if (pod !== undefined && pod.revision === set.updateRevision) {
    return move(pass, inPhase(operation, 'WaitReady', nowMs))
  }
  if (set.partition <= ordinal) return awaitNewPod(pass, operation, { set, pod })
  if (pod === undefined || nextPod(pass, set)?.ordinal !== ordinal) {
    return move(pass, inPhase(operation, 'Gate', nowMs))
  }
  const closed = closedGate(pass, set, pod)
  if (closed !== undefined) return waitAtGate(pass, inPhase(operation, 'Gate', nowMs), closed)
  return setPartition(pass, operation, set, ordinal)
}

/** Kubernetes stops the pod and makes the new one, but for one that is not ready, for which some versions wait (RO4). */
function awaitNewPod(
  pass: Pass,
  operation: ClusterOperation,
  { set, pod }: { readonly set: SetView; readonly pod: PodView | undefined },
): Move {
  const isIll = pod !== undefined && isStaleAndIll(pass, set, pod)
  if (isIll && closedGate(pass, set, pod) === undefined) {
    return move(pass, operation, { kind: 'delete_pod', name: pod.name, uid: pod.uid })
  }
  const message = `the new pod of ordinal ${operation.targetOrdinal ?? -1} is not there yet`
  return wait(pass, operation, lateness(pass, operation), message)
}

function awaitReady(pass: Pass, operation: ClusterOperation, set: SetView): Move {
  const { nowMs, nodes } = pass.observed
  const pod = podAt(nodes, operation.targetOrdinal ?? -1)
  if (pod !== undefined && pod.revision !== set.updateRevision) {
    return move(pass, inPhase(operation, 'Gate', nowMs))
  }
  if (pod === undefined) {
    return wait(pass, operation, lateness(pass, operation), 'the new pod is not there yet')
  }
  const isReady = pod.isReady && !pod.isDeleting
  if (isReady && nowMs - pod.readyChangedAtMs >= pass.wanted.pods.minReadyMs) {
    return move(pass, inPhase(operation, 'WaitRejoin', nowMs))
  }
  const message = `${pod.name}: ${pod.problem?.message ?? 'it is not ready yet'}`
  if (isReady) return wait(pass, operation, 'WaitingForPods', message)
  const isBroken = pod.problem !== undefined
  return wait(pass, operation, isBroken ? 'Stalled' : lateness(pass, operation), message)
}

/** RO3: what takes too long is told, and waited for. */
function lateness({ observed, wanted }: Pass, operation: ClusterOperation) {
  const isLate = phaseAgeMs(operation, observed.nowMs) > wanted.pods.timeoutMs
  return isLate ? 'Stalled' : 'WaitingForPods'
}

/** A pod is ready before its node has caught up, so that the store is asked. */
function awaitRejoined(pass: Pass, operation: ClusterOperation): Move {
  const { nowMs, nodes } = pass.observed
  const pod = podAt(nodes, operation.targetOrdinal ?? -1)
  if (pod === undefined || !pod.isReady || pod.isDeleting) {
    return move(pass, inPhase(operation, 'WaitReady', nowMs))
  }
  if (presentNode(pass, pod.name) !== undefined) {
    return move(pass, inPhase(operation, 'Gate', nowMs))
  }
  const message = `the node of ${pod.name} has not joined yet`
  return wait(pass, operation, lateness(pass, operation), message)
}

/** Whether another operation may take over: no pod is on its way, or the one that is cannot start. */
export function isAtSafePoint(pass: Pass, operation: ClusterOperation): boolean {
  if (!UNDERWAY.includes(operation.phase)) return true
  return podAt(pass.observed.nodes, operation.targetOrdinal ?? -1)?.problem !== undefined
}

const UNDERWAY: readonly OperationPhase[] = ['Step', 'WaitReady', 'WaitRejoin']
