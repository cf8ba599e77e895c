// Who leaves: the record of a scale-down, kept up with the spec and with pods and claims that are replaced meanwhile.

import type { ClusterOperation, OperationTarget } from '../../kinds/cluster/operation.ts'
import { isoTime } from '../pass/memory.ts'
import { claimAt, ordinalsFrom, podAt } from '../pass/pass.ts'
import type { Pass } from '../pass/pass.ts'

/** The targets as they are to be recorded now; the same list if nothing is new. */
export function refreshedTargets(
  pass: Pass,
  operation: ClusterOperation,
): readonly OperationTarget[] {
  const recorded = operation.targets ?? []
  const known = new Set(recorded.map(({ ordinal }) => ordinal))
  const { memory, wanted } = pass
  const added = ordinalsFrom(wanted.replicas, memory.replicas).filter((one) => !known.has(one))
  const kept = recorded
    .filter(({ ordinal }) => ordinal < memory.replicas)
    .map((target) => refreshed(pass, target))
  const isSame =
    added.length === 0 &&
    kept.length === recorded.length &&
    kept.every((target, index) => target === recorded[index])
  if (isSame) return recorded
  return [...kept, ...added.map((ordinal) => newTarget(pass, ordinal))].toSorted(
    (one, other) => one.ordinal - other.ordinal,
  )
}

function newTarget(pass: Pass, ordinal: number): OperationTarget {
  const at = isoTime(pass.observed.nowMs)
  return {
    ordinal,
    phase: 'Draining',
    ...identity(pass, ordinal),
    startedAt: at,
    lastProgressAt: at,
  }
}

/** A pod that was evicted keeps its claim and its node; a claim that was replaced brings another node. */
function refreshed(pass: Pass, target: OperationTarget): OperationTarget {
  const { nodeID, podUID, claimUID } = identity(pass, target.ordinal)
  const isSame =
    (nodeID === undefined || nodeID === target.nodeID) &&
    (podUID === undefined || podUID === target.podUID) &&
    (claimUID === undefined || claimUID === target.claimUID)
  if (isSame) return target
  return {
    ...target,
    ...(nodeID === undefined ? {} : { nodeID }),
    ...(podUID === undefined ? {} : { podUID }),
    ...(claimUID === undefined ? {} : { claimUID }),
  }
}

type Identity = Pick<OperationTarget, 'nodeID' | 'podUID' | 'claimUID'>

/** Node and claim belong together: a claim that was replaced is left out until its own node has joined. */
function identity({ observed, memory }: Pass, ordinal: number): Identity {
  const member = memory.members.find((one) => one.ordinal === ordinal)
  const podUID = podAt(observed.nodes, ordinal)?.uid
  const claimUID = claimAt(observed.nodes, ordinal)?.uid
  if (member !== undefined && claimUID !== undefined && member.claimUID !== claimUID) return {}
  return {
    ...(member === undefined ? {} : { nodeID: member.nodeID }),
    ...(podUID === undefined ? {} : { podUID }),
    ...(claimUID === undefined ? {} : { claimUID }),
  }
}
