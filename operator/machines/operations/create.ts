// The first start of a cluster, also over volumes that an earlier cluster of its name has left.
//
//   StartingEtcd ── its members have a quorum ──> ClearingVolume ── volumes are adopted, marked ones deleted ──>
//   StartingNodes ── all have joined ──> over
//
// Invariants:
//   CRE1  A volume that was left and has no mark gets its node back: as many nodes start as there are such volumes, and a
//        scale-down takes away those that are too many.

import type { Step } from '../pass/decision.ts'
import type { ClusterOperation } from '../../kinds/cluster/operation.ts'
import { prepareClaims } from '../objects/claims.ts'
import { remadeNodeSet, setReplicas } from '../objects/keeping.ts'
import { beginOperation, inPhase, sinceMs } from '../pass/memory.ts'
import type { Memory } from '../pass/memory.ts'
import type { PodView, PoolView } from '../observed/kubernetes-view.ts'
import {
  etcdWithQuorum,
  hasJoined,
  isDrained,
  move,
  ordinalsFrom,
  podNameOf,
  wait,
} from '../pass/pass.ts'
import type { Move, Pass, PhaseTable, Waiting } from '../pass/pass.ts'

/** After this a first start is told to be in trouble. Nothing is taken back. */
const CREATE_TROUBLE_MS = 15 * 60_000

export function beginCreate({ observed, wanted }: Pass): ClusterOperation {
  return beginOperation(
    'Create',
    wanted.hasManagedEtcd ? 'StartingEtcd' : 'ClearingVolume',
    observed,
  )
}

export function create(pass: Pass, operation: ClusterOperation): Move {
  const machine = PHASES[operation.phase] ?? startNodes
  return machine(pass, operation)
}

const PHASES: PhaseTable = { StartingEtcd: startEtcd, ClearingVolume: adoptClaims }

function startEtcd(pass: Pass, operation: ClusterOperation): Move {
  const { observed, wanted } = pass
  const { etcdPool, nowMs } = observed
  if (etcdPool === undefined) return move(pass, inPhase(operation, 'ClearingVolume', nowMs))
  const replicas = Math.max(wanted.etcdReplicas, retained(etcdPool))
  const memory = { ...pass.memory, etcdReplicas: etcdPool.set?.replicas ?? replicas }
  const here: Pass = { ...pass, memory }
  if (etcdPool.set === undefined) {
    const step: Step = { kind: 'create_set', pool: 'etcd', replicas, partition: 0 }
    return move(here, operation, step)
  }
  if (etcdWithQuorum(pass) !== undefined) {
    return move(here, inPhase(operation, 'ClearingVolume', nowMs))
  }
  return awaitPods(here, operation, { reason: 'WaitingForEtcd', message: 'etcd has no quorum yet' })
}

function adoptClaims(pass: Pass, operation: ClusterOperation): Move {
  const { nowMs } = pass.observed
  const memory: Memory = { ...pass.memory, replicas: firstReplicas(pass) }
  const here: Pass = { ...pass, memory }
  const preparing = prepareClaims(pass, ordinalsFrom(0, memory.replicas))
  if (preparing === 'wait') {
    return wait(here, operation, 'WaitingForVolumes', 'drained volumes are being deleted')
  }
  if (preparing !== undefined) return move(here, operation, preparing)
  return move(here, inPhase(operation, 'StartingNodes', nowMs))
}

function startNodes(pass: Pass, operation: ClusterOperation): Move {
  const { observed, memory } = pass
  const { set } = observed.nodes
  if (set === undefined) return move(pass, operation, remadeNodeSet(pass))
  if (!set.isDeleting && set.replicas < memory.replicas) {
    return move(pass, operation, setReplicas('nodes', set, memory.replicas))
  }
  const missing = ordinalsFrom(0, memory.replicas).filter((ordinal) => !hasJoined(pass, ordinal))
  if (missing.length === 0) return move(pass, undefined)
  const names = missing.map((ordinal) => podNameOf(pass, ordinal)).join(', ')
  return awaitPods(pass, operation, {
    reason: 'WaitingForPods',
    message: `not joined yet: ${names}`,
  })
}

/** CRE1. A set that is there already, as after a status that was lost, is taken as it is. */
function firstReplicas({ observed: { nodes }, wanted }: Pass): number {
  return nodes.set?.replicas ?? Math.max(wanted.replicas, retained(nodes))
}

/** How many ordinals there must be for each unmarked claim to have its pod. */
function retained({ claims }: PoolView): number {
  const kept = claims.filter((claim) => !isDrained(claim) && !claim.isDeleting)
  return Math.max(0, ...kept.map(({ ordinal }) => ordinal + 1))
}

function awaitPods(pass: Pass, operation: ClusterOperation, { reason, message }: Waiting): Move {
  const { observed } = pass
  const worst = worstPod([...observed.nodes.pods, ...(observed.etcdPool?.pods ?? [])])
  const told = worst === undefined ? message : `${worst.name}: ${worst.problem?.message ?? message}`
  const isLate = sinceMs(operation.startedAt, observed.nowMs) > CREATE_TROUBLE_MS
  return wait(pass, operation, isLate ? 'Stalled' : reason, told)
}

/** The pod that has had a problem for the longest time. */
export function worstPod(pods: readonly PodView[]): PodView | undefined {
  return pods
    .filter(({ problem }) => problem !== undefined)
    .toSorted((one, other) => one.readyChangedAtMs - other.readyChangedAtMs)[0]
}
