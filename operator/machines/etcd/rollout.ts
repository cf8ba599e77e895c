// A new template for the members of etcd: one at a time, the leader last.

import type { PodView, SetView } from '../observed/kubernetes-view.ts'
import type { EtcdView } from '../observed/etcd-view.ts'
import { etcdWithQuorum, isCaughtUp, move } from '../pass/pass.ts'
import type { Move, Pass } from '../pass/pass.ts'
import { areOthersWell, memberNamed } from './members.ts'

/** Members that have been ready for 10 s are taken for well: the first look after a restart may be too early. */
const SETTLED_MS = 10_000

export function rollEtcd(pass: Pass): Move | undefined {
  const { observed } = pass
  const set = observed.etcdPool?.set
  if (set === undefined || set.isDeleting) return undefined
  if (set.template.digest !== observed.desired.etcdTemplate.digest) {
    return move(pass, undefined, {
      kind: 'write_template',
      pool: 'etcd',
      set: versionOf(set),
      partition: set.replicas,
    })
  }
  if (!isCaughtUp(set)) return undefined
  const pods = observed.etcdPool?.pods ?? []
  const next = pods
    .filter((pod) => pod.revision !== set.updateRevision && pod.ordinal < set.replicas)
    .toSorted((one, other) => other.ordinal - one.ordinal)[0]
  if (next === undefined) {
    const isWhole = set.partition > 0 && pods.length >= set.replicas
    return isWhole ? setPartition(pass, set, 0) : undefined
  }
  return replacePod(pass, set, next)
}

function replacePod(pass: Pass, set: SetView, next: PodView): Move | undefined {
  const isBroken = next.problem !== undefined && !next.isReady
  if (isBroken) {
    if (set.partition > next.ordinal) return setPartition(pass, set, next.ordinal)
    if (next.isDeleting) return undefined
    return move(pass, undefined, { kind: 'delete_pod', name: next.name, uid: next.uid })
  }
  const etcd = etcdWithQuorum(pass)
  if (etcd === undefined || !areOthersWell(etcd) || !areSettled(pass, set)) return undefined
  if (set.partition <= next.ordinal) return undefined
  return moveLeader(pass, etcd, next) ?? setPartition(pass, set, next.ordinal)
}

function areSettled({ observed }: Pass, { replicas }: SetView): boolean {
  const pods = observed.etcdPool?.pods ?? []
  return (
    pods.length >= replicas &&
    pods.every(
      (pod) =>
        pod.isReady && !pod.isDeleting && observed.nowMs - pod.readyChangedAtMs >= SETTLED_MS,
    )
  )
}

function moveLeader(pass: Pass, etcd: EtcdView, next: PodView): Move | undefined {
  const member = memberNamed(etcd, next.name)
  const other = etcd.members.find(({ id }) => id !== member?.id)
  if (member === undefined || other === undefined || member.id !== etcd.leader) return undefined
  return move(pass, undefined, {
    kind: 'move_etcd_leader',
    fromMemberID: member.id,
    toMemberID: other.id,
  })
}

function setPartition(pass: Pass, set: SetView, partition: number): Move {
  const step = { kind: 'set_partition', pool: 'etcd', set: versionOf(set), partition } as const
  return move(pass, undefined, step)
}

function versionOf({ uid, resourceVersion }: SetView) {
  return { uid, resourceVersion }
}
