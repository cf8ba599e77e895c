import type {
  InSyncChange,
  NodeId,
  ReplicaId,
  ShardConfiguration,
} from '../../../node/replication/core/configuration.ts'
import type { ReplicationModules } from './replication-modules.ts'
import type { VirtualTime } from './virtual-time.ts'

export const LEASE_MS = 5000

/** What nodes tell the control plane of themselves under their lease. */
interface Registration extends ReplicaId {
  readonly seenMs: number
}

/**
 * A control plane with one shard's configuration, and the controller that elects its leaders. It can be
 * away, lose its answers, and let leases live too long or too short.
 */
export class SimulatedControlPlane {
  readonly #time: VirtualTime
  readonly #changed: ReplicationModules['changedConfiguration']
  readonly #registered = new Map<NodeId, Registration>()
  #configuration: ShardConfiguration
  isAway = false
  lostAnswerRatio = 0
  /** Leases end early or late by up to this. */
  leaseErrorMs = 0
  changes = 0

  constructor(
    time: VirtualTime,
    first: ShardConfiguration,
    { changedConfiguration }: Pick<ReplicationModules, 'changedConfiguration'>,
  ) {
    this.#time = time
    this.#changed = changedConfiguration
    this.#configuration = first
  }

  /** Linearizable. */
  get configuration(): ShardConfiguration {
    return this.#configuration
  }

  keepAlive(replica: ReplicaId): void {
    if (this.isAway) return
    this.#registered.set(replica.node, { ...replica, seenMs: this.#time.nowMs })
  }

  /** False when the answer is lost; the change may have happened. */
  change(change: InSyncChange): boolean {
    if (this.isAway) return false
    const changed = this.#changed(this.#configuration, change)
    if (changed !== undefined) this.#write(changed)
    return !this.#time.chance(this.lostAnswerRatio)
  }

  /** The controller's round: elects where the leader is gone or has restarted. */
  control(): void {
    if (this.isAway) return
    const { leader } = this.#configuration
    if (leader !== undefined && this.#isAlive(leader.node)) {
      if (this.#registered.get(leader.node)?.incarnation === leader.incarnation) return
    }
    this.elect()
  }

  /** A member of the in-sync set that lives, `preferred` before others; nobody when none lives. */
  elect(preferred?: NodeId): void {
    const { inSync, eligible, minInSync, leader, epoch } = this.#configuration
    const isFrozen = inSync.length < minInSync
    const candidates = [...inSync, ...(isFrozen ? eligible : [])]
      .map(({ node }) => this.#registered.get(node))
      .filter((found) => found !== undefined && this.#isAlive(found.node))
    const chosen = candidates.find((found) => found?.node === preferred) ?? candidates[0]
    if (chosen === undefined) {
      if (leader !== undefined) this.#write({ ...this.#configuration, leader: undefined })
      return
    }
    const next: ReplicaId = { node: chosen.node, incarnation: chosen.incarnation }
    const members = [...inSync.filter(({ node }) => node !== next.node), next]
    const isComplete = members.length >= minInSync
    this.#write({
      ...this.#configuration,
      epoch: epoch + 1,
      leader: next,
      inSync: members,
      // Entries are committed from now on that they lack.
      eligible: isComplete ? [] : eligible.filter(({ node }) => node !== next.node),
    })
  }

  /** A data directory is gone for good, and an empty one has come in its place. */
  replaceReplica(lost: NodeId, fresh: NodeId): void {
    this.#registered.delete(lost)
    const { replicas, inSync, eligible } = this.#configuration
    this.#write({
      ...this.#configuration,
      replicas: [...replicas.filter((node) => node !== lost), fresh],
      inSync: inSync.filter(({ node }) => node !== lost),
      eligible: eligible.filter(({ node }) => node !== lost),
    })
  }

  #isAlive(node: NodeId): boolean {
    const seenMs = this.#registered.get(node)?.seenMs ?? -Infinity
    const error = this.#time.between(-this.leaseErrorMs, this.leaseErrorMs)
    return this.#time.nowMs - seenMs < LEASE_MS + error
  }

  #write(changed: Omit<ShardConfiguration, 'revision'>): void {
    this.changes += 1
    this.#configuration = { ...changed, revision: this.#configuration.revision + 1 }
  }
}
