// The calls by which an etcd's members are shown and changed, with the field numbers of its rpc.proto (package
// etcdserverpb). Versions 3.4 to 3.6 have the same numbers; only `dbSizeQuota` is younger than 3.4.

import type { EtcdRequest } from '../../lib/etcd/etcd-request.ts'
import type { ProtoMessage } from '../../lib/etcd/proto-message.ts'
import { ProtoWriter } from '../../lib/etcd/proto-writer.ts'
import type { EtcdAlarm } from '../machines/observed/etcd-view.ts'

/** A call and how its answer is read, which throws CORRUPTION for bytes that are not a message. */
export interface AdminCall<Answer> {
  readonly request: EtcdRequest
  readonly read: (answer: ProtoMessage) => Answer
}

/** What a member says of itself. It needs no quorum for that, and a learner answers too. */
export interface MemberStatus {
  readonly id: string
  /** Whom it follows, which may be itself. `undefined` while it knows no leader. */
  readonly leader: string | undefined
  readonly term: number
  readonly committedIndex: number
  readonly appliedIndex: number
  readonly isLearner: boolean
  readonly dbBytes: number
  readonly dbUsedBytes: number
  /** Told from version 3.6 on. */
  readonly quotaBytes: number | undefined
}

export const STATUS: AdminCall<MemberStatus> = {
  request: { path: '/etcdserverpb.Maintenance/Status', body: Buffer.alloc(0) },
  read: (answer) => {
    const leader = answer.bigint(4)
    const quotaBytes = answer.number(12)
    return {
      id: idText(answer.message(1).bigint(2)),
      leader: leader === 0n ? undefined : idText(leader),
      term: answer.number(6),
      committedIndex: answer.number(5),
      appliedIndex: answer.number(7),
      isLearner: answer.flag(10),
      dbBytes: answer.number(3),
      dbUsedBytes: answer.number(9),
      quotaBytes: quotaBytes === 0 ? undefined : quotaBytes,
    }
  },
}

/** A member as the others know it. */
export interface ListedMember {
  readonly id: string
  /** Empty until it starts for the first time. */
  readonly name: string
  readonly peerURLs: readonly string[]
  /** None until it starts for the first time. */
  readonly clientURLs: readonly string[]
  readonly isLearner: boolean
}

/** As far as the asked member has applied the log. A learner refuses it. */
export const MEMBER_LIST: AdminCall<readonly ListedMember[]> = {
  request: { path: '/etcdserverpb.Cluster/MemberList', body: Buffer.alloc(0) },
  read: (answer) =>
    answer.messages(2).map((member) => ({
      id: idText(member.bigint(1)),
      name: member.text(2),
      peerURLs: member.texts(3),
      clientURLs: member.texts(4),
      isLearner: member.flag(5),
    })),
}

/** One alarm of one member. */
export interface RaisedAlarm {
  readonly memberID: string
  readonly alarm: EtcdAlarm
}

const ALARM_PATH = '/etcdserverpb.Maintenance/Alarm'
const ALARMS: Readonly<Record<number, EtcdAlarm>> = { 1: 'NoSpace', 2: 'Corrupt' }
const NO_SPACE = 1
const DEACTIVATE = 2

/** All alarms of all members. Etcd answers when a majority has the question in its log, and the asked member applied it. */
export const ALARM_LIST: AdminCall<readonly RaisedAlarm[]> = {
  request: { path: ALARM_PATH, body: Buffer.alloc(0) },
  read: (answer) =>
    answer.messages(2).flatMap((raised) => {
      const alarm = ALARMS[raised.number(2)]
      return alarm === undefined ? [] : [{ memberID: idText(raised.bigint(1)), alarm }]
    }),
}

export function memberAdd(peerURL: string): AdminCall<void> {
  return change('Cluster/MemberAdd', new ProtoWriter().text(1, peerURL).integer(2, 1))
}

export function memberPromote(id: bigint): AdminCall<void> {
  return change('Cluster/MemberPromote', new ProtoWriter().integer(1, id))
}

export function memberRemove(id: bigint): AdminCall<void> {
  return change('Cluster/MemberRemove', new ProtoWriter().integer(1, id))
}

export function moveLeader(toID: bigint): AdminCall<void> {
  return change('Maintenance/MoveLeader', new ProtoWriter().integer(1, toID))
}

export const DEFRAGMENT: AdminCall<void> = change('Maintenance/Defragment', new ProtoWriter())

export function disarmNoSpace(id: bigint): AdminCall<void> {
  const body = new ProtoWriter().integer(1, DEACTIVATE).integer(2, id).integer(3, NO_SPACE)
  return change('Maintenance/Alarm', body)
}

function change(name: string, body: ProtoWriter): AdminCall<void> {
  return {
    request: { path: `/etcdserverpb.${name}`, body: body.finish() },
    read: () => undefined,
  }
}

/** As etcdctl shows ids. */
function idText(id: bigint): string {
  return id.toString(16)
}
