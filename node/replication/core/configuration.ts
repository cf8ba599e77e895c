/** The name of a node in the cluster: the uuid of its data directory. */
export type NodeId = string

/** One life of a node over one data directory: the number grows with each start. */
export interface ReplicaId {
  readonly node: NodeId
  readonly incarnation: number
}

/** The epoch of a new shard. No leadership comes before it, so nobody can hold a grant of an earlier one. */
export const FIRST_EPOCH = 1

/**
 * What the control plane says of a shard. It changes by compare-and-swap alone, so every replica that
 * knows a revision knows the same.
 */
export interface ShardConfiguration {
  /** Grows with each change. */
  readonly revision: number
  /** Grows with each leadership. */
  readonly epoch: number
  readonly leader: ReplicaId | undefined
  /** Everybody who holds a copy or is to get one. */
  readonly replicas: readonly NodeId[]
  /** Holds every committed entry; only such a replica may lead. */
  readonly inSync: readonly ReplicaId[]
  /**
   * Left the in-sync set when that fell below `minInSync`. Nothing was committed since, so they hold
   * every committed entry as well and may lead while the set is too small.
   */
  readonly eligible: readonly ReplicaId[]
  readonly minInSync: number
  /** Names the change that made this revision, so that a lost answer can be told from a lost race. */
  readonly operation: string
}

/** A change that a leader asks of the control plane. It holds for one revision and its own epoch. */
export interface InSyncChange {
  readonly operation: string
  readonly epoch: number
  /** The revision that it replaces. */
  readonly revision: number
  /**
   * `resign`: the leader, `replica` itself, cannot serve and leaves the set, so that another one leads. `abdicate`: it lacks
   * what was committed, so nobody may lead for what it has.
   */
  readonly kind: 'add' | 'remove' | 'resign' | 'abdicate'
  readonly replica: ReplicaId
}

export function isBelowMinimum({ inSync, minInSync }: ShardConfiguration): boolean {
  return inSync.length < minInSync
}

export function inSyncMember({ inSync }: ShardConfiguration, node: NodeId): ReplicaId | undefined {
  return inSync.find((member) => member.node === node)
}

/**
 * The configuration after a leader's change, for the writer to the control plane. Undefined
 * when the change must not happen.
 *
 * - A removal that takes the set below its minimum makes the replica eligible.
 * - A resignation takes the leader out of the set. It needs another member, who can lead then.
 * - An abdication ends the leadership even if nobody can take it over. The leader leaves the set unless it is the only member, and
 *   is never eligible.
 * - An addition that brings the set to its minimum empties the eligible: from now on entries are
 *   committed that they lack.
 */
export function changedConfiguration(
  before: ShardConfiguration,
  change: InSyncChange,
): Omit<ShardConfiguration, 'revision'> | undefined {
  if (before.revision !== change.revision || before.epoch !== change.epoch) return undefined
  const { replica, operation } = change
  const others = before.inSync.filter(({ node }) => node !== replica.node)
  if (change.kind === 'add') {
    if (!before.replicas.includes(replica.node)) return undefined
    const inSync = [...others, replica]
    const eligible = inSync.length >= before.minInSync ? [] : withoutNode(before, replica.node)
    return { ...before, inSync, eligible, operation }
  }
  return withoutMember(before, change, others)
}

/** The configuration when a member is removed by its leader, or the leader goes. */
function withoutMember(
  before: ShardConfiguration,
  { kind, replica, operation }: InSyncChange,
  others: readonly ReplicaId[],
): Omit<ShardConfiguration, 'revision'> | undefined {
  if (kind !== 'remove' && !isLedBy(before, replica)) return undefined
  if (kind === 'abdicate') {
    const inSync = others.length === 0 ? before.inSync : others
    return { ...before, leader: undefined, inSync, operation }
  }
  if (others.length === 0) return undefined
  const leader = kind === 'resign' ? undefined : before.leader
  const isTooSmall = others.length < before.minInSync
  const eligible = isTooSmall ? [...withoutNode(before, replica.node), replica] : before.eligible
  return { ...before, leader, inSync: others, eligible, operation }
}

function isLedBy({ leader }: ShardConfiguration, { node, incarnation }: ReplicaId): boolean {
  return leader?.node === node && leader.incarnation === incarnation
}

function withoutNode({ eligible }: ShardConfiguration, node: NodeId): readonly ReplicaId[] {
  return eligible.filter((replica) => replica.node !== node)
}
