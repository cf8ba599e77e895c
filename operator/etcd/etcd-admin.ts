// An etcd that the operator runs, as it sees and steers it.
//
//   look:  each member's status ── a request that a majority commits ── the list of members, as it was then
//
// That request lists the alarms, and its answer is what a quorum is here: etcd gives it when a majority has the request in its
// log and the asked member has applied it. Statuses alone would not do: a member that is cut off names its leader until its
// election timeout, and a leader whose disk hangs still leads. A linearizable read would not do, as no disk takes part in it,
// and version 3.4 lists members without one. The price is one entry of the log in each look.
//
// Invariants:
//   EA1  What a look with a quorum tells of the membership and of alarms is at least as new as the look's beginning.
//   EA2  A request that changes something is sent once. The caller decides anew after another look.
//   EA3  What is about one member is sent to the process that says that it is this member, not to the pod of its name.

import { assert, must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import type { EtcdTls } from '../../lib/etcd/etcd-endpoints.ts'
import type { EtcdMember } from '../../lib/etcd/etcd-member.ts'
import type { EtcdView } from '../machines/observed/etcd-view.ts'
import {
  ALARM_LIST,
  DEFRAGMENT,
  disarmNoSpace,
  MEMBER_LIST,
  memberAdd,
  memberPromote,
  memberRemove,
  moveLeader,
} from './admin-calls.ts'
import type { AdminCall, ListedMember } from './admin-calls.ts'
import { AskedMembers, byFollowers, isLeader, unlessRefused } from './asked-members.ts'
import type { AnsweringMember, EtcdMemberPlace } from './asked-members.ts'
import { EtcdRefusal } from './etcd-refusal.ts'
import { etcdViewOf } from './etcd-view.ts'
import type { Agreed } from './etcd-view.ts'

/** With 1.5 s for all statuses at once and 0.5 s for a list, two members that do not answer make a look of 5 s. */
const AGREE_TIMEOUT_MS = 1500
const AGREE_TRIES_MAX = 2
const LIST_TIMEOUT_MS = 500
/** Etcd itself gives a change 7 s. */
const CHANGE_TIMEOUT_MS = 10_000
/** A database of 8 GiB, the largest quota, on a slow disk. */
const DEFRAGMENT_TIMEOUT_MS = 120_000

/**
 * Contract:
 * - `look` answers within 5 s. It answers `unreachable` if no voter answered in time, and never rejects for what etcd does.
 * - The other methods resolve when etcd has done what was asked, and also if it is so already: the member is listed, votes, is
 *   gone, does not lead, or has not raised `NoSpace`. They reject with an EtcdRefusal.
 * - `addMember` adds a learner with the peer URL of the pod.
 * - `disarmAlarm` is about `NoSpace`. `Corrupt` is for people.
 * - An aborted signal ends every method with its reason, and leaves open what became of the request.
 */
export interface EtcdAdmin extends AsyncDisposable {
  look(signal: AbortSignal): Promise<EtcdView | 'unreachable'>
  addMember(podName: string, signal: AbortSignal): Promise<void>
  promoteMember(id: string, signal: AbortSignal): Promise<void>
  removeMember(id: string, signal: AbortSignal): Promise<void>
  moveLeader(of: LeaderMove, signal: AbortSignal): Promise<void>
  defragment(id: string, signal: AbortSignal): Promise<void>
  disarmAlarm(id: string, signal: AbortSignal): Promise<void>
}

/** Who leads, and who is to lead. */
export interface LeaderMove {
  readonly fromMemberID: string
  readonly toMemberID: string
}

/** How the members of one etcd are reached. */
export interface GrpcEtcdAdminOptions {
  /** All that there may be. */
  readonly members: readonly EtcdMemberPlace[]
  readonly tls: EtcdTls
  /** What the members were started with. Versions before 3.6 do not tell it. */
  readonly quotaBytes: number
  readonly clock: Clock
}

/** What a look has learnt from a majority. */
interface Agreement {
  readonly agreed: Agreed
  readonly members: readonly ListedMember[]
}

/** Over gRPC. Connections are kept between calls. */
export class GrpcEtcdAdmin implements EtcdAdmin {
  readonly #places: readonly EtcdMemberPlace[]
  readonly #asked: AskedMembers
  readonly #quotaBytes: number
  readonly #clock: Clock

  /** Throws INVALID_ARGUMENT for wrong URLs and files. */
  constructor({ members, tls, quotaBytes, clock }: GrpcEtcdAdminOptions) {
    this.#places = members
    this.#asked = new AskedMembers(members, tls, clock)
    this.#quotaBytes = quotaBytes
    this.#clock = clock
  }

  /** Later calls go by these files. Throws INVALID_ARGUMENT for wrong ones, and those of before stay. */
  renew(tls: EtcdTls): void {
    this.#asked.renew(tls)
  }

  async look(signal: AbortSignal): Promise<EtcdView | 'unreachable'> {
    const answering = await this.#asked.statuses(signal)
    const readAtMs = this.#clock.nowMs()
    const agreement = await this.#agree(answering, signal)
    const members = agreement?.members ?? (await this.#lastKnownMembers(answering, signal))
    if (members === undefined) return 'unreachable'
    return etcdViewOf({
      readAtMs,
      statuses: answering.map(({ status }) => status),
      members,
      agreed: agreement?.agreed,
      podByPeerURL: new Map(this.#places.map(({ peerURL, podName }) => [peerURL, podName])),
      quotaBytes: this.#quotaBytes,
    })
  }

  async addMember(podName: string, signal: AbortSignal): Promise<void> {
    const place = this.#places.find((one) => one.podName === podName)
    const { peerURL } = must(place, `the place of ${podName}`)
    const adding = this.#change(memberAdd(peerURL), signal)
    // The id is made of the peer URL and the second in which it is added.
    await doneIf(/Peer URLs already exists|member ID already exist/, adding)
  }

  async promoteMember(id: string, signal: AbortSignal): Promise<void> {
    const promoting = this.#change(memberPromote(numberOf(id)), signal)
    // Etcd says of one that is behind: "a learner member which is in sync with leader".
    await doneIf(/can only promote a learner member$/, promoting)
  }

  async removeMember(id: string, signal: AbortSignal): Promise<void> {
    await doneIf(/member not found/, this.#change(memberRemove(numberOf(id)), signal))
  }

  async moveLeader({ fromMemberID, toMemberID }: LeaderMove, signal: AbortSignal): Promise<void> {
    const from = await this.#memberWithID(fromMemberID, signal)
    const wait = { timeoutMs: CHANGE_TIMEOUT_MS, signal }
    const moving = this.#asked.call(from, moveLeader(numberOf(toMemberID)), wait)
    await doneIf(/etcdserver: not leader/, moving)
  }

  async defragment(id: string, signal: AbortSignal): Promise<void> {
    const member = await this.#memberWithID(id, signal)
    await this.#asked.call(member, DEFRAGMENT, { timeoutMs: DEFRAGMENT_TIMEOUT_MS, signal })
  }

  async disarmAlarm(id: string, signal: AbortSignal): Promise<void> {
    await this.#change(disarmNoSpace(numberOf(id)), signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.resolve(this.#asked.close())
  }

  /** EA1. `undefined` if no majority has answered in time. */
  async #agree(
    answering: readonly AnsweringMember[],
    signal: AbortSignal,
  ): Promise<Agreement | undefined> {
    for (const { member, status } of byFollowers(answering).slice(0, AGREE_TRIES_MAX)) {
      const { leader, term } = status
      if (leader === undefined) continue
      const untilMs = this.#clock.monotonicMs() + AGREE_TIMEOUT_MS
      const wait = () => ({ timeoutMs: untilMs - this.#clock.monotonicMs(), signal })
      const alarms = await unlessRefused(this.#asked.call(member, ALARM_LIST, wait()))
      if (alarms === undefined) continue
      const members = await unlessRefused(this.#asked.call(member, MEMBER_LIST, wait()))
      if (members !== undefined) return { agreed: { leader, term, alarms }, members }
    }
    return undefined
  }

  /** For people: nothing may be done then. The voter that has applied most knows best. */
  async #lastKnownMembers(
    answering: readonly AnsweringMember[],
    signal: AbortSignal,
  ): Promise<readonly ListedMember[] | undefined> {
    const [latest] = answering
      .filter(({ status }) => !status.isLearner)
      .toSorted((one, other) => other.status.appliedIndex - one.status.appliedIndex)
    if (latest === undefined) return undefined
    const wait = { timeoutMs: LIST_TIMEOUT_MS, signal }
    return unlessRefused(this.#asked.call(latest.member, MEMBER_LIST, wait))
  }

  /** EA2. By the leader: it judges by its own connections whether the members may change now, and need not forward it. */
  async #change(call: AdminCall<void>, signal: AbortSignal): Promise<void> {
    const [first] = byFollowers(await this.#asked.statuses(signal))
    if (first === undefined || !isLeader(first.status)) {
      throw new EtcdRefusal('again', 'the leader of etcd does not answer')
    }
    await this.#asked.call(first.member, call, { timeoutMs: CHANGE_TIMEOUT_MS, signal })
  }

  /** EA3. */
  async #memberWithID(id: string, signal: AbortSignal): Promise<EtcdMember> {
    const answering = await this.#asked.statuses(signal)
    const found = answering.find(({ status }) => status.id === id)
    if (found !== undefined) return found.member
    throw new EtcdRefusal('again', `the member ${id} of etcd does not answer`)
  }
}

/** Resolves too if etcd says in these words that nothing is left to do. */
async function doneIf(words: RegExp, changing: Promise<void>): Promise<void> {
  try {
    await changing
  } catch (error) {
    if (!(error instanceof EtcdRefusal && words.test(error.message))) throw error
  }
}

/** The caller has the id from a look, so it is a number. */
function numberOf(id: string): bigint {
  assert(/^[0-9a-f]{1,16}$/.test(id), `the id of a member of etcd, not ${id}`)
  return BigInt(`0x${id}`)
}
