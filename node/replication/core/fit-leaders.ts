// Who may be named as a shard's leader. The node that names a leader asks here, with what it knows of the replicas.
//
// Disks go back: a volume that is restored from a snapshot has an earlier state of all that lay on it. A replica that
// lives the life in which it came into the in-sync set has what it acknowledged, because no disk goes back while its
// files are open. One that has started since may not have it. So the ends of logs are compared, not lives alone.
//
// Invariants:
//   FL1  Of those who hold everything, one that lives on is fit before any that has started again.
//   FL2  When all have started again, two of them are compared, and the one whose log ends later is fit. At most
//        one disk has gone back, so the other has everything; an earlier end of a log in a later epoch is
//        the later one, as everything that was committed before an epoch is in its leader's log.
//        Both were asked when both lived: an older answer may be from before what the other one's disk has lost.
//   FL3  The only holder is fit without a comparison: nobody else was asked to keep what it acknowledged, or the
//        others' disks are known to have lost it, or gone for good.

import {
  isBelowMinimum,
  type NodeId,
  type ReplicaId,
  type ShardConfiguration,
} from './configuration.ts'
import type { LogPosition } from './log-index.ts'

/** Where a replica's log ends. */
export type LogEnd = Pick<LogPosition, 'sequence' | 'epoch'>

/** A replica's node, as far as it is known now. */
export interface SeenReplica {
  /** The life that its node lives; undefined while it is away. */
  readonly incarnation: number | undefined
  /** Its disk has lost what it acknowledged in the life that is named in the set. */
  readonly isDamaged: boolean
  /** Its node was taken out of the cluster for good, so nobody waits for it. */
  readonly isGivenUp: boolean
  /** Where its log ended when it was asked, after each of the others' lives had begun; undefined: not yet. */
  readonly end: LogEnd | undefined
}

export type Fitness =
  /** Each of these nodes may be named leader. */
  | { readonly kind: 'fit'; readonly nodes: readonly NodeId[] }
  /** These have to be asked where their logs end. */
  | { readonly kind: 'ask'; readonly nodes: readonly NodeId[] }
  /** This one has started again, and the others that it could be compared with are away. */
  | { readonly kind: 'alone'; readonly node: NodeId }
  | { readonly kind: 'nobody' }

/** The replicas of which each holds everything that was acknowledged, if its disk is what it was. */
export function holdersOf(configuration: ShardConfiguration): readonly ReplicaId[] {
  const { inSync, eligible } = configuration
  return isBelowMinimum(configuration) ? [...inSync, ...eligible] : inSync
}

/** Who may lead after this configuration. */
export function fitLeaders(
  configuration: ShardConfiguration,
  seen: (replica: ReplicaId) => SeenReplica,
): Fitness {
  const livesOn = (replica: ReplicaId): boolean => {
    const { incarnation, isDamaged } = seen(replica)
    return incarnation === replica.incarnation && !isDamaged
  }
  const holders = holdersOf(configuration)
  const inSync = configuration.inSync.filter(livesOn)
  const steady = inSync.length > 0 ? inSync : holders.filter(livesOn)
  if (steady.length > 0) return fit(steady) // FL1
  const present = holders.filter((replica) => {
    const { incarnation, isDamaged } = seen(replica)
    return incarnation !== undefined && !isDamaged
  })
  const [first] = present
  if (first === undefined) return { kind: 'nobody' }
  const awaited = holders.filter((replica) => {
    const { incarnation, isGivenUp } = seen(replica)
    return incarnation === undefined && !isGivenUp
  })
  if (present.length + awaited.length === 1) return fit(present) // FL3
  return compared(present, first, seen)
}

/** FL2. */
function compared(
  present: readonly ReplicaId[],
  first: ReplicaId,
  seen: (replica: ReplicaId) => SeenReplica,
): Fitness {
  const known = present.filter((replica) => seen(replica).end !== undefined)
  if (present.length === 1) return { kind: 'alone', node: first.node }
  if (known.length < 2) {
    const unknown = present.filter((replica) => !known.includes(replica))
    return { kind: 'ask', nodes: unknown.map(({ node }) => node) }
  }
  const isLast = (replica: ReplicaId): boolean =>
    known.every((other) => compareEnds(seen(replica).end, seen(other).end) >= 0)
  return fit(known.filter(isLast))
}

function fit(replicas: readonly ReplicaId[]): Fitness {
  return { kind: 'fit', nodes: replicas.map(({ node }) => node) }
}

/** Above zero if `one` ends later. */
function compareEnds(one: LogEnd | undefined, other: LogEnd | undefined): number {
  if (one === undefined || other === undefined) {
    return Number(other === undefined) - Number(one === undefined)
  }
  return one.epoch - other.epoch || one.sequence - other.sequence
}
