// What the members of an etcd answer, as the state machines read it.

import type { EtcdMember, EtcdView } from '../machines/observed/etcd-view.ts'
import type { ListedMember, MemberStatus, RaisedAlarm } from './admin-calls.ts'

/** A learner has caught up when it lacks at most 1000 entries, which the leader sends in about a second. */
const BEHIND_ENTRIES_MAX = 1000
/** Etcd refuses a promotion below this share of the leader's log. */
const CAUGHT_UP_RATIO_MIN = 0.9

/** The answers to one look. */
export interface EtcdAnswers {
  readonly readAtMs: number
  readonly statuses: readonly MemberStatus[]
  readonly members: readonly ListedMember[]
  /** What a majority has agreed on during the look; `undefined` if none did. */
  readonly agreed: Agreed | undefined
  /** What is known of the pods whether they answer or not. */
  readonly podByPeerURL: ReadonlyMap<string, string>
  /** For members that do not tell theirs. */
  readonly quotaBytes: number
}

/** What a member told that has applied a request which a majority has in its log. */
export interface Agreed {
  readonly leader: string
  readonly term: number
  readonly alarms: readonly RaisedAlarm[]
}

export function etcdViewOf(answers: EtcdAnswers): EtcdView {
  const { readAtMs, agreed, members } = answers
  return {
    readAtMs,
    hasQuorum: agreed !== undefined,
    ...(agreed !== undefined && { leader: agreed.leader }),
    members: members.map((member) => memberOf(answers, member)),
  }
}

function memberOf(answers: EtcdAnswers, listed: ListedMember): EtcdMember {
  const { id, clientURLs, isLearner } = listed
  const alarms = answers.agreed?.alarms.filter(({ memberID }) => memberID === id) ?? []
  return {
    id,
    name: nameOf(answers, listed),
    isLearner,
    // Members of a new cluster have their names before they start.
    hasStarted: clientURLs.length > 0,
    ...toldBy(
      answers.statuses.find((status) => status.id === id),
      answers,
    ),
    alarms: alarms.map(({ alarm }) => alarm),
  }
}

/** A member that was added has no name until it starts. */
function nameOf({ podByPeerURL }: EtcdAnswers, { name, peerURLs }: ListedMember): string {
  const [peerURL = ''] = peerURLs
  return name === '' ? (podByPeerURL.get(peerURL) ?? peerURL) : name
}

function toldBy(status: MemberStatus | undefined, answers: EtcdAnswers) {
  const { agreed, quotaBytes } = answers
  if (status === undefined) {
    return { isHealthy: false, isCaughtUp: false, dbBytes: 0, dbUsedBytes: 0, quotaBytes }
  }
  const { dbBytes, dbUsedBytes } = status
  return {
    isHealthy: follows(status, agreed),
    isCaughtUp: isCaughtUp(status, answers),
    dbBytes,
    dbUsedBytes,
    quotaBytes: status.quotaBytes ?? quotaBytes,
  }
}

/** One that is cut off names its leader of before for up to an election timeout; the term of a later one tells it. */
function follows({ leader, term }: MemberStatus, agreed: Agreed | undefined): boolean {
  return agreed !== undefined && leader === agreed.leader && term === agreed.term
}

function isCaughtUp(status: MemberStatus, { statuses, agreed }: EtcdAnswers): boolean {
  if (!follows(status, agreed)) return false
  const following = statuses.filter((one) => follows(one, agreed))
  // The leader's own: nobody has committed more than it.
  const committedIndex = Math.max(...following.map((one) => one.committedIndex))
  const { appliedIndex } = status
  const isNear = committedIndex - appliedIndex <= BEHIND_ENTRIES_MAX
  return isNear && appliedIndex >= committedIndex * CAUGHT_UP_RATIO_MIN
}
