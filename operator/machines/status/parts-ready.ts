// Conditions of single parts: volumes, etcd, inference servers.

import type { ClaimView } from '../observed/kubernetes-view.ts'
import { inferenceFailure } from '../pass/inference.ts'
import type { Pass } from '../pass/pass.ts'
import { ordinalsFrom, podAt } from '../pass/pass.ts'
import { tell } from './ending.ts'
import type { Ending, Told } from './ending.ts'

export function storageReady({ pass }: Ending): Told<'StorageReady'> {
  const { observed, memory } = pass
  const { claimBytes, etcdClaimBytes } = observed.desired
  const claims = [
    ...inUse(observed.nodes.claims, memory.replicas, claimBytes),
    ...inUse(observed.etcdPool?.claims ?? [], memory.etcdReplicas, etcdClaimBytes),
  ]
  const small = claims.filter(({ claim, bytes }) => claim.capacityBytes < bytes)
  const [first] = small
  if (first === undefined) return tell('True', 'AtRequestedSize')
  const stuck = small.find(
    ({ claim, bytes }) =>
      !claim.isExpandable && claim.capacityBytes > 0 && claim.requestedBytes < bytes,
  )
  if (stuck !== undefined) {
    return tell('False', 'ExpansionUnsupported', `the class of ${stuck.claim.name} cannot expand`)
  }
  const failed = small.find(({ claim }) => claim.resize === 'Failed')
  if (failed !== undefined) {
    return tell('False', 'ExpansionFailed', failed.claim.resizeMessage ?? failed.claim.name)
  }
  const offline = small.find(({ claim }) => claim.resize === 'FileSystemResizePending')
  if (offline !== undefined) {
    return tell('False', 'FileSystemResizePending', `${offline.claim.name} grows with its next pod`)
  }
  const isUnbound = first.claim.capacityBytes === 0
  return tell('False', isUnbound ? 'ClaimsPending' : 'Resizing', first.claim.name)
}

function inUse(claims: readonly ClaimView[], replicas: number, bytes: number) {
  return claims.filter(({ ordinal }) => ordinal < replicas).map((claim) => ({ claim, bytes }))
}

export function etcdReady({ pass }: Ending): Told<'EtcdReady'> | undefined {
  const { observed, wanted, memory } = pass
  if (wanted.isSingleNode) return undefined
  if (!wanted.hasManagedEtcd) return tell('True', 'External')
  if (memory.isHibernated) return tell('False', 'Hibernated')
  const { etcd } = observed
  if (etcd === 'unreachable') {
    const isNew = memory.etcdMembers.length === 0
    return isNew ? tell('False', 'Starting') : tell('Unknown', 'Unreachable')
  }
  if (!etcd.hasQuorum) return tell('False', 'QuorumLost', 'less than a majority of members answer')
  return etcdMembersReady(pass, etcd.members)
}

function etcdMembersReady(
  { memory }: Pass,
  members: Exclude<Pass['observed']['etcd'], 'unreachable'>['members'],
): Told<'EtcdReady'> {
  const hasAlarm = (alarm: 'NoSpace' | 'Corrupt') =>
    members.some(({ alarms }) => alarms.includes(alarm))
  if (hasAlarm('Corrupt')) return tell('False', 'AlarmCorrupt', 'members differ: restore one')
  if (hasAlarm('NoSpace')) return tell('False', 'AlarmNoSpace', 'the database is at its quota')
  const well = members.filter(({ isHealthy, isLearner }) => isHealthy && !isLearner)
  if (well.length < memory.etcdReplicas || well.length < members.length) {
    return tell('False', 'MemberLost', `${well.length} of ${memory.etcdReplicas} members are well`)
  }
  return tell('True', 'AllMembersReady')
}

export function inferenceReady({ pass }: Ending): Told<'InferenceReady'> | undefined {
  const { observed, memory } = pass
  const { inference } = observed.cluster.spec
  if (inference.externalURL !== undefined) return tell('True', 'External')
  if (!inference.enabled) return tell('False', 'Disabled')
  if (memory.isHibernated) return tell('False', 'Hibernated')
  const pods = ordinalsFrom(0, memory.replicas).map((one) => podAt(observed.nodes, one))
  const broken = pods.find((pod) => pod?.inference?.problem !== undefined)
  if (broken?.inference?.problem !== undefined) {
    const { message } = broken.inference.problem
    return tell('False', 'SidecarCrashLooping', `${broken.name}: ${message}`)
  }
  const isWhole = pods.length > 0 && pods.every((pod) => pod?.inference?.state === 'Ready')
  if (isWhole) return tell('True', 'ModelsLoaded')
  const failure = pods.flatMap((pod) =>
    pod === undefined ? [] : (inferenceFailure(pod, observed.nowMs) ?? []),
  )[0]
  if (failure !== undefined) return tell('False', 'SidecarsNotReady', failure)
  return tell('False', 'ModelsLoading')
}
