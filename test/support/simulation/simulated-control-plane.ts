import type {
  InSyncChange,
  NodeId,
  ReplicaId,
  ShardConfiguration,
} from '../../../node/replication/core/configuration.ts'
import type { LogEnd, SeenReplica } from '../../../node/replication/core/fit-leaders.ts'
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
  readonly #fitLeaders: ReplicationModules['fitLeaders']
  readonly #registered = new Map<NodeId, Registration>()
  /** Where logs ended when somebody asked. */
  readonly #ends = new Map<NodeId, ReplicaId & { readonly end: LogEnd }>()
  /** Asks a replica where its log ends; `noteEnd` hears the answer. */
  askEnd: (node: NodeId) => void = () => undefined
  #configuration: ShardConfiguration
  isAway = false
  lostAnswerRatio = 0
  /** Leases end early or late by up to this. */
  leaseErrorMs = 0
  changes = 0
  /** Grows when ends of logs that were asked for before are too old to be compared. */
  round = 0

  constructor(
    time: VirtualTime,
    first: ShardConfiguration,
    modules: Pick<ReplicationModules, 'changedConfiguration' | 'fitLeaders'>,
  ) {
    this.#time = time
    this.#changed = modules.changedConfiguration
    this.#fitLeaders = modules.fitLeaders
    this.#configuration = first
  }

  /** Linearizable. */
  get configuration(): ShardConfiguration {
    return this.#configuration
  }

  keepAlive(replica: ReplicaId): void {
    if (this.isAway) return
    if (this.#registered.get(replica.node)?.incarnation !== replica.incarnation) this.#forgetEnds()
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

  noteEnd(replica: ReplicaId, end: LogEnd, round: number): void {
    if (round === this.round) this.#ends.set(replica.node, { ...replica, end })
  }

  #see({ node }: ReplicaId, alive: ReadonlySet<NodeId>): SeenReplica {
    const incarnation = alive.has(node) ? this.#registered.get(node)?.incarnation : undefined
    const asked = this.#ends.get(node)
    const end = asked?.incarnation === incarnation ? asked?.end : undefined
    return { incarnation, isDamaged: false, isGivenUp: false, end }
  }

  /** One that is fit, `preferred` before others; nobody when none is. */
  elect(preferred?: NodeId): void {
    const { inSync, eligible, minInSync, leader, epoch } = this.#configuration
    const alive = new Set([...this.#registered.keys()].filter((node) => this.#isAlive(node)))
    const fitness = this.#fitLeaders(this.#configuration, (replica) => this.#see(replica, alive))
    if (fitness.kind === 'ask') for (const node of fitness.nodes) this.askEnd(node)
    const nodes = fitness.kind === 'fit' ? fitness.nodes : []
    const candidates = nodes.map((node) => this.#registered.get(node))
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

  #forgetEnds(): void {
    this.#ends.clear()
    this.round += 1
  }

  #write(changed: Omit<ShardConfiguration, 'revision'>): void {
    this.#forgetEnds()
    this.changes += 1
    this.#configuration = { ...changed, revision: this.#configuration.revision + 1 }
  }
}
