/** The name of a node in the cluster: the uuid of its data directory. */
export type NodeId = string

/** One life of a node over one data directory: the number grows with each start. */
export interface ReplicaId {
  readonly node: NodeId
  readonly incarnation: number
}

/** The first epoch of a new shard. No leadership comes before it, so nobody can hold a grant of an earlier one. */
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
  readonly kind: 'add' | 'remove'
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
  if (others.length === 0) return undefined
  const isTooSmall = others.length < before.minInSync
  const eligible = isTooSmall ? [...withoutNode(before, replica.node), replica] : before.eligible
  return { ...before, inSync: others, eligible, operation }
}

function withoutNode({ eligible }: ShardConfiguration, node: NodeId): readonly ReplicaId[] {
  return eligible.filter((replica) => replica.node !== node)
}
