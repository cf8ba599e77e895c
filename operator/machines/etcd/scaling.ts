// More or fewer members of etcd: etcd is asked first, then the set follows.
//
// Invariants:
//   ETS1  A pod of etcd is taken away only after etcd has removed its member.
//   ETS2  A member is removed only while all are healthy voters, and never the leader.

import { deleteClaim } from '../objects/claims.ts'
import { setReplicas } from '../objects/keeping.ts'
import type { EtcdMember, EtcdView } from '../observed/etcd-view.ts'
import type { PoolView, SetView } from '../observed/kubernetes-view.ts'
import { claimAt, etcdWithQuorum, isCaughtUp, move, podAt } from '../pass/pass.ts'
import type { Move, Pass } from '../pass/pass.ts'
import { areOthersWell, memberNamed } from './members.ts'

export function scaleEtcd(pass: Pass): Move | undefined {
  const { observed, memory } = pass
  const etcd = etcdWithQuorum(pass)
  const pool = observed.etcdPool
  const set = pool?.set
  if (etcd === undefined || pool === undefined || set === undefined) return undefined
  if (!isCaughtUp(set)) return undefined
  if (set.replicas > memory.etcdReplicas) return takePod(pass, etcd, set)
  const left = leftClaim(pass, pool)
  if (left !== undefined) return move(pass, undefined, left)
  return set.replicas < memory.etcdReplicas ? undefined : changeMembers(pass, etcd)
}

/** etcd first: the set follows what is remembered then. */
function changeMembers(pass: Pass, etcd: EtcdView): Move | undefined {
  const { memory, wanted } = pass
  const next = nameOf(pass, memory.etcdReplicas)
  if (!areOthersWell(etcd, next)) return undefined
  if (wanted.etcdReplicas > memory.etcdReplicas) return addMember(pass, etcd)
  const added = memberNamed(etcd, next)
  // The spec asked for this member and no longer does: its pod was never made.
  if (added !== undefined) return remove(pass, added)
  return wanted.etcdReplicas < memory.etcdReplicas ? removeMember(pass, etcd) : undefined
}

function remove(pass: Pass, { id }: EtcdMember): Move {
  return move(pass, undefined, { kind: 'remove_etcd_member', memberID: id })
}

function nameOf({ observed }: Pass, ordinal: number): string {
  return `${observed.cluster.name}-etcd-${ordinal}`
}

/** The pod starts as soon as etcd waits for it. */
function addMember(pass: Pass, etcd: EtcdView): Move {
  const { memory } = pass
  const name = nameOf(pass, memory.etcdReplicas)
  if (memberNamed(etcd, name) === undefined) {
    return move(pass, undefined, { kind: 'add_etcd_member', name })
  }
  return withReplicas(pass, memory.etcdReplicas + 1)
}

/** ETS2. */
function removeMember(pass: Pass, etcd: EtcdView): Move | undefined {
  const { memory } = pass
  const member = memberNamed(etcd, nameOf(pass, memory.etcdReplicas - 1))
  if (member === undefined) return withReplicas(pass, memory.etcdReplicas - 1)
  if (member.id === etcd.leader) {
    const other = etcd.members.find(({ id }) => id !== member.id)
    if (other === undefined) return undefined
    return move(pass, undefined, {
      kind: 'move_etcd_leader',
      fromMemberID: member.id,
      toMemberID: other.id,
    })
  }
  return remove(pass, member)
}

function withReplicas(pass: Pass, etcdReplicas: number): Move {
  return move({ ...pass, memory: { ...pass.memory, etcdReplicas } }, undefined)
}

/** ETS1. More pods than were asked for are kept while etcd lists their members. */
function takePod(pass: Pass, etcd: EtcdView, set: SetView): Move | undefined {
  const isMember = memberNamed(etcd, nameOf(pass, set.replicas - 1)) !== undefined
  if (isMember) return withReplicas(pass, set.replicas)
  return move(pass, undefined, setReplicas('etcd', set, set.replicas - 1))
}

/** The volume of a member that etcd has removed: nothing ever starts over it again. */
function leftClaim(pass: Pass, pool: PoolView) {
  const { observed, memory } = pass
  const etcd = etcdWithQuorum(pass)
  const claim = pool.claims.find(
    ({ ordinal, clusterUID, isDeleting }) =>
      ordinal >= memory.etcdReplicas && clusterUID === observed.cluster.uid && !isDeleting,
  )
  if (claim === undefined || claim !== claimAt(pool, claim.ordinal)) return undefined
  const isUsed = podAt(pool, claim.ordinal) !== undefined
  const isListed =
    etcd === undefined || memberNamed(etcd, nameOf(pass, claim.ordinal)) !== undefined
  return isUsed || isListed ? undefined : deleteClaim(claim)
}
