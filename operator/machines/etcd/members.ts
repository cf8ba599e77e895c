// The members of a managed etcd: which of them has which volume, and how one that lost its volume is replaced.
//
//   voter ── its claim is replaced ──> removed ── added as a learner ── caught up ──> voter with another id
//
// Invariants:
//   ETM1  Without a quorum nothing is done: what is lost then is for people to decide.
//   ETM2  One change at a time: nothing is added, removed or restarted while another member is not healthy or a learner.
//   ETM3  A member gets a vote only after its volume was recorded, so that the loss of the volume is seen.
//   ETM4  A claim is deleted only if etcd lists neither the id that was recorded with it nor its pod's name.

import { deleteClaim } from '../objects/claims.ts'
import type { Step } from '../pass/decision.ts'
import type { EtcdMemberRecord, Memory } from '../pass/memory.ts'
import type { EtcdMember, EtcdView } from '../observed/etcd-view.ts'
import type { PodView, PoolView } from '../observed/kubernetes-view.ts'
import { claimAt, etcdWithQuorum, move } from '../pass/pass.ts'
import type { Move, Pass } from '../pass/pass.ts'

/** The memory with the members that answer, and the volumes that they have. */
export function withEtcdMembers(pass: Pass): Memory {
  const etcd = etcdWithQuorum(pass)
  const pool = pass.observed.etcdPool
  if (etcd === undefined || pool === undefined) return pass.memory
  const { etcdMembers } = pass.memory
  const recorded = pool.pods
    .filter(({ ordinal }) => ordinal < pass.memory.etcdReplicas)
    .flatMap((pod) => recordOf(pool, etcd, pod))
  const names = new Set(recorded.map(({ name }) => name))
  const kept = etcdMembers.filter(({ name }) => !names.has(name) && isInUse(pass, name))
  const all = [...kept, ...recorded].toSorted((one, other) => one.name.localeCompare(other.name))
  return isSame(all, etcdMembers) ? pass.memory : { ...pass.memory, etcdMembers: all }
}

/** A volume is recorded with its member while that one is healthy: then it is the volume that the member runs over. */
function recordOf(pool: PoolView, etcd: EtcdView, pod: PodView): EtcdMemberRecord[] {
  const claim = claimAt(pool, pod.ordinal)
  const member = memberNamed(etcd, pod.name)
  if (claim === undefined || claim.isDeleting || member === undefined) return []
  if (!member.isHealthy || !pod.isReady || pod.isDeleting) return []
  return [{ name: pod.name, id: member.id, claimUID: claim.uid }]
}

function isInUse({ memory, observed }: Pass, name: string): boolean {
  return Number(name.slice(`${observed.cluster.name}-etcd-`.length)) < memory.etcdReplicas
}

function isSame(ones: readonly EtcdMemberRecord[], others: readonly EtcdMemberRecord[]): boolean {
  return ones.map(keyOf).join() === others.map(keyOf).join()
}

function keyOf({ name, id, claimUID }: EtcdMemberRecord): string {
  return `${name} ${id} ${claimUID}`
}

export function memberNamed(etcd: EtcdView, name: string): EtcdMember | undefined {
  return etcd.members.find((member) => member.name === name)
}

/** Every member but these is a healthy voter (ETM2). */
export function areOthersWell({ members }: EtcdView, ...names: readonly string[]): boolean {
  return members.every(
    ({ name, isHealthy, isLearner }) => names.includes(name) || (isHealthy && !isLearner),
  )
}

/** Brings members back whose volumes are gone, one at a time. */
export function replaceEtcdMembers(pass: Pass): Move | undefined {
  const etcd = etcdWithQuorum(pass)
  const pool = pass.observed.etcdPool
  if (etcd === undefined || pool === undefined) return undefined
  for (const record of pass.memory.etcdMembers) {
    const step = replaceMember(pool, etcd, record)
    if (step !== undefined) return move(pass, pass.memory.operation, step)
  }
  return promoteLearner(pass, etcd)
}

function replaceMember(pool: PoolView, etcd: EtcdView, record: EtcdMemberRecord): Step | undefined {
  const { name, id, claimUID } = record
  const claim = pool.claims.find((one) => one.ordinal === ordinalOf(pool, name))
  if (claim === undefined || !areOthersWell(etcd, name)) return undefined
  const isListed = etcd.members.some((member) => member.id === id)
  const named = memberNamed(etcd, name)
  if (claim.uid === claimUID) {
    return isListed || named !== undefined ? undefined : startAnew(pool, name)
  }
  if (isListed) return { kind: 'remove_etcd_member', memberID: id }
  if (named === undefined) return { kind: 'add_etcd_member', name }
  return isLeftBehind(pool, named) ? { kind: 'remove_etcd_member', memberID: named.id } : undefined
}

/** A learner whose volume was lost before it was recorded: its pod cannot start as it. A learner has no vote to lose. */
function isLeftBehind({ pods }: PoolView, { name, isLearner, hasStarted, isHealthy }: EtcdMember) {
  const pod = pods.find((one) => one.name === name)
  return isLearner && hasStarted && !isHealthy && pod?.problem !== undefined
}

/** ETM4. A member that etcd has removed never starts again over its volume. */
function startAnew(pool: PoolView, name: string): Step | undefined {
  const ordinal = ordinalOf(pool, name)
  const claim = ordinal === undefined ? undefined : claimAt(pool, ordinal)
  if (claim !== undefined && !claim.isDeleting) return deleteClaim(claim)
  const pod = pool.pods.find((one) => one.name === name)
  if (pod === undefined || pod.isDeleting) return undefined
  return { kind: 'delete_pod', name, uid: pod.uid }
}

function ordinalOf({ pods }: PoolView, name: string): number | undefined {
  return pods.find((pod) => pod.name === name)?.ordinal
}

/** ETM3. */
function promoteLearner(pass: Pass, etcd: EtcdView): Move | undefined {
  const learner = etcd.members.find(({ isLearner }) => isLearner)
  if (learner === undefined || !learner.isCaughtUp || !areOthersWell(etcd, learner.name)) {
    return undefined
  }
  if (!pass.memory.etcdMembers.some(({ id }) => id === learner.id)) return undefined
  const step = { kind: 'promote_etcd_member', memberID: learner.id } as const
  return move(pass, pass.memory.operation, step)
}
