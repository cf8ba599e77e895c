// The room that etcd's members need: defragmented one at a time, the leader last, and alarms that are over are disarmed.

import type { EtcdMember, EtcdView } from '../observed/etcd-view.ts'
import { etcdWithQuorum, move } from '../pass/pass.ts'
import type { Move, Pass } from '../pass/pass.ts'
import { areOthersWell } from './members.ts'

/** Smaller databases are not worth the pause. */
const DEFRAGMENT_BYTES_MIN = 100 * 1024 * 1024
/** A database of which less is in use is defragmented. */
const USED_RATIO_MIN = 0.5
/** After an alarm less is worth a pause: the members refuse writes until there is room. */
const USED_RATIO_MIN_AT_ALARM = 0.9
/** An alarm is disarmed when the database leaves a tenth of the quota free: with less it would come back at once. */
const QUOTA_RATIO_MAX = 0.9

export function tendEtcd(pass: Pass): Move | undefined {
  const etcd = etcdWithQuorum(pass)
  if (etcd === undefined || pass.observed.etcdPool === undefined) return undefined
  if (!areOthersWell(etcd)) return undefined
  const hasAlarm = etcd.members.some(({ alarms }) => alarms.includes('NoSpace'))
  const sparse = sparsest(etcd, hasAlarm)
  if (sparse !== undefined) {
    return move(pass, undefined, { kind: 'defragment_etcd_member', memberID: sparse.id })
  }
  if (!hasAlarm || !hasRoom(etcd)) return undefined
  const alarmed = etcd.members.find(({ alarms }) => alarms.includes('NoSpace'))
  if (alarmed === undefined) return undefined
  return move(pass, undefined, { kind: 'disarm_etcd_alarm', memberID: alarmed.id })
}

/** The leader last: while it is defragmented all writes wait. */
function sparsest({ members, leader }: EtcdView, hasAlarm: boolean): EtcdMember | undefined {
  const isSparse = ({ dbBytes, dbUsedBytes }: EtcdMember) =>
    hasAlarm
      ? dbUsedBytes < dbBytes * USED_RATIO_MIN_AT_ALARM
      : dbBytes >= DEFRAGMENT_BYTES_MIN && dbUsedBytes < dbBytes * USED_RATIO_MIN
  const sparse = members.filter(isSparse)
  return sparse.find(({ id }) => id !== leader) ?? sparse[0]
}

function hasRoom({ members }: EtcdView): boolean {
  return members.every(({ dbBytes, quotaBytes }) => dbBytes <= quotaBytes * QUOTA_RATIO_MAX)
}
