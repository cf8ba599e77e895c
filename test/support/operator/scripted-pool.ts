// The operator's admin over three scripted members of an etcd, which are well until a test says otherwise.

import { ManualClock } from '../../../lib/clock.ts'
import { GrpcEtcdAdmin } from '../../../operator/etcd/etcd-admin.ts'
import { alarmAnswer, listAnswer, ScriptedMember, statusAnswer } from '../fakes/scripted-members.ts'
import type { ScriptedListing, ScriptedStatus } from '../fakes/scripted-members.ts'
import { until } from '../until.ts'

export const MEMBER_IDS = [0xa1, 0xb2, 0xc3] as const
export const LEADER_ID = 0xa1
export const TERM = 5
/** What the members were started with, which they do not tell. */
export const QUOTA_BYTES = 4096
/** So much passes at each turn of the event loop's clock, so that members that answer do so in time. */
const STEP_MS = 50

/** The member of `books-etcd-<ordinal>` as the others list it, once it has started. */
export function listed(ordinal: number, id: number): ScriptedListing {
  const name = `books-etcd-${ordinal}`
  return { id, name, peerURL: peerURLOf(name), clientURL: `https://${name}:2379` }
}

export function peerURLOf(podName: string): string {
  return `https://${podName}.books-etcd.shop.svc:2380`
}

export function wellStatus(id: number): ScriptedStatus {
  return { id, leader: LEADER_ID, term: TERM, committedIndex: 100, dbBytes: 900, dbUsedBytes: 600 }
}

export class ScriptedPool implements AsyncDisposable {
  readonly members: readonly ScriptedMember[]
  readonly clock = new ManualClock()
  readonly admin: GrpcEtcdAdmin

  private constructor(members: readonly ScriptedMember[]) {
    this.members = members
    this.admin = new GrpcEtcdAdmin({
      members: members.map(({ clientURL }, ordinal) => ({
        podName: `books-etcd-${ordinal}`,
        clientURL,
        peerURL: peerURLOf(`books-etcd-${ordinal}`),
      })),
      tls: {},
      quotaBytes: QUOTA_BYTES,
      clock: this.clock,
    })
  }

  static async start(): Promise<ScriptedPool> {
    const pool = new ScriptedPool(await Promise.all(MEMBER_IDS.map(() => ScriptedMember.start())))
    for (const at of MEMBER_IDS.keys()) pool.tells(at, {})
    pool.each('Cluster/MemberList', listAnswer(MEMBER_IDS.map((id, at) => listed(at, id))))
    pool.each('Maintenance/Alarm', alarmAnswer([]))
    return pool
  }

  /** The same answer of all members. */
  each(...answer: Parameters<ScriptedMember['on']>): void {
    for (const member of this.members) member.on(...answer)
  }

  /** Changes what the member of this ordinal tells. */
  tells(ordinal: number, status: Partial<ScriptedStatus>): void {
    const [id = 0] = MEMBER_IDS.slice(ordinal)
    this.members[ordinal]?.on('Maintenance/Status', statusAnswer({ ...wellStatus(id), ...status }))
  }

  /** Settles as the work does. The clock moves until then, and each turn of it lets members answer. */
  async whileTimePasses<Value>(work: Promise<Value>): Promise<Value> {
    let isSettled = false
    const settle = (): void => {
      isSettled = true
    }
    work.then(settle, settle)
    await until(async () => {
      if (!isSettled) this.clock.advance(STEP_MS)
      return isSettled
    })
    return work
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.admin[Symbol.asyncDispose]()
    await Promise.all(this.members.map((member) => member[Symbol.asyncDispose]()))
  }
}
