// The members of an etcd as they are asked: one connection to each place, and which of them answer.

import { must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { prodWhenLate } from '../../lib/deadline.ts'
import { credentialsAt, membersAt } from '../../lib/etcd/etcd-endpoints.ts'
import type { EtcdTls } from '../../lib/etcd/etcd-endpoints.ts'
import type { EtcdMember } from '../../lib/etcd/etcd-member.ts'
import { STATUS } from './admin-calls.ts'
import type { AdminCall, MemberStatus } from './admin-calls.ts'
import { EtcdRefusal, refusalOf } from './etcd-refusal.ts'

const STATUS_TIMEOUT_MS = 1500

/** Where a member of the pool is, whether it runs or not. */
export interface EtcdMemberPlace {
  readonly podName: string
  readonly clientURL: string
  readonly peerURL: string
}

/** A member that has told its status. */
export interface AnsweringMember {
  readonly member: EtcdMember
  readonly status: MemberStatus
}

/** How long a call may take, and what ends it early. */
export interface Wait {
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Connections are kept between calls. */
export class AskedMembers {
  readonly #endpoints: readonly string[]
  readonly #members: readonly EtcdMember[]
  readonly #clock: Clock
  readonly #closing = new AbortController()

  /** Throws INVALID_ARGUMENT for wrong URLs and files. */
  constructor(places: readonly EtcdMemberPlace[], tls: EtcdTls, clock: Clock) {
    this.#endpoints = places.map(({ clientURL }) => clientURL)
    this.#members = membersAt({ endpoints: this.#endpoints, tls })
    this.#clock = clock
  }

  renew(tls: EtcdTls): void {
    const renewed = credentialsAt({ endpoints: this.#endpoints, tls })
    for (const [at, member] of this.#members.entries()) {
      member.renew(must(renewed[at], 'credentials for each place'))
    }
  }

  close(): void {
    this.#closing.abort(new Error('the connections to etcd are closed'))
    for (const member of this.#members) member.reset()
  }

  /** Those that tell theirs in time, all asked at once. */
  async statuses(signal: AbortSignal): Promise<readonly AnsweringMember[]> {
    const asking = this.#members.map(async (member) => {
      const wait = { timeoutMs: STATUS_TIMEOUT_MS, signal }
      const status = await unlessRefused(this.call(member, STATUS, wait))
      return status === undefined ? [] : [{ member, status }]
    })
    return (await Promise.all(asking)).flat()
  }

  /** Sends it once. Rejects with an EtcdRefusal, or the signal's reason. */
  async call<Answer>(
    member: EtcdMember,
    { request, read }: AdminCall<Answer>,
    { timeoutMs, signal }: Wait,
  ): Promise<Answer> {
    signal.throwIfAborted()
    const late = new AbortController()
    const ending = AbortSignal.any([late.signal, signal, this.#closing.signal])
    const onLate = (): void => {
      late.abort(new Error(`no answer within ${Math.round(timeoutMs)} ms`))
    }
    try {
      const calling = member.call(request, { token: undefined }, ending)
      return read(await prodWhenLate(calling, { clock: this.#clock, ms: timeoutMs, onLate }))
    } catch (error) {
      signal.throwIfAborted()
      const refusal = refusalOf(error)
      // The pod may have another address by now, and grpc-js looks for it only every 30 s while it keeps a connection.
      if (refusal.kind === 'unanswered') member.reset()
      throw refusal
    }
  }
}

/**
 * Voters that know a leader: first those whose leader most members follow, at equality those of the later term, and of them
 * the leader itself. One that was cut off and does not know it stands last.
 */
export function byFollowers(answering: readonly AnsweringMember[]): readonly AnsweringMember[] {
  const followers = ({ leader, term }: MemberStatus) =>
    answering.filter(({ status }) => status.leader === leader && status.term === term).length
  return answering
    .filter(({ status }) => status.leader !== undefined && !status.isLearner)
    .toSorted(
      ({ status: one }, { status: other }) =>
        followers(other) - followers(one) ||
        other.term - one.term ||
        Number(isLeader(other)) - Number(isLeader(one)),
    )
}

/** In its own eyes. */
export function isLeader({ id, leader }: MemberStatus): boolean {
  return id === leader
}

export async function unlessRefused<Answer>(calling: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await calling
  } catch (error) {
    if (error instanceof EtcdRefusal) return undefined
    throw error
  }
}
