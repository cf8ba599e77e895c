import type { NodeId } from '../../../replication/core/configuration.ts'
import { seedOf } from './tie-break.ts'
import type { NodeRecord, NodeRegistration } from '../records/node-record.ts'
import type { ControllerSettings } from './controller-settings.ts'
import type { ShardView } from './shard-view.ts'

/** A record with the revision of the commit that wrote it, for the conditions of changes. */
export interface Stored<Record> {
  readonly record: Record
  readonly revision: number
}

/**
 * What a node can be used for:
 *
 *   serving   registered; takes replicas and leaderships
 *   leaving   registered and shutting down: keeps its replicas, gives its leaderships away
 *   emptying  draining or decommissioned, registered: gives both away
 *   away      not registered, for a short time: keeps its replicas
 *   lost      away for too long, decommissioned and away, or never joined: its replicas are replaced
 */
export type NodeCondition = 'serving' | 'leaving' | 'emptying' | 'away' | 'lost'

/** A figure of a disk is not told after 60 s. Nodes tell theirs every 10 s, so five may get lost. */
const DISK_AGE_MAX_MS = 60_000

/** The file system of a node's data directory, as the node has said. */
export interface NodeDisk {
  readonly totalBytes: number
  /** What the node may still write. */
  readonly freeBytes: number
}

/** A node as the controller knows it, with what it holds. */
export class NodeView {
  readonly id: NodeId
  /** For `tieBreak`. */
  readonly seed: number
  stored: Stored<NodeRecord> | undefined
  live: Stored<NodeRegistration> | undefined
  /** The newest revisions observed of the two keys, deletions among them. */
  storedSeen = 0
  liveSeen = 0
  /** Since when it is registered, or away: the controller's clock, and its own observations. */
  sinceMs: number
  condition: NodeCondition = 'lost'
  /** It has been serving for long enough to be trusted with what balancing brings. */
  isSettled = false
  /** Until then it is given no leaderships: the controller's clock. */
  heldUntilMs = 0
  isHeld = false
  /** Moves to it are given up, because it has been away too long. */
  isAwayLong = false
  readonly replicas = new Set<ShardView>()
  readonly led = new Set<ShardView>()
  /** Moves that take a replica from it, bring it one, and are fed by a leader on it. */
  outgoing = 0
  incoming = 0
  feeding = 0
  incomingBytes = 0
  /** Undefined: it has not said for DISK_AGE_MAX_MS. */
  disk: NodeDisk | undefined
  #diskToldMs = -Infinity

  constructor(id: NodeId, nowMs: number) {
    this.id = id
    this.seed = seedOf(id)
    this.sinceMs = nowMs
  }

  get zone(): string {
    return this.stored?.record.zone ?? ''
  }

  /** The replicas that it will hold when all moves have ended. */
  get load(): number {
    return this.replicas.size - this.outgoing
  }

  /** It joined, and was not sent away for good. */
  get isMember(): boolean {
    return this.stored !== undefined && !this.#isOut
  }

  get isLive(): boolean {
    return this.live !== undefined
  }

  /** Sent away for good. */
  get #isOut(): boolean {
    const state = this.stored?.record.state
    return state === 'decommissioned' || state === 'forgotten'
  }

  get isPlaceable(): boolean {
    return this.condition === 'serving'
  }

  /** Whether the node is to lead. A node with a hold leads only where no other node can. */
  get takesLeaders(): boolean {
    return this.isPlaceable && !this.isHeld
  }

  /** Being registered in etcd is not being there for other nodes: those must reach it. */
  get takesReplicas(): boolean {
    return this.isPlaceable && this.live?.record.unreached === undefined
  }

  /** Whether its replicas have to go elsewhere. */
  get isUnfit(): boolean {
    return this.condition === 'lost' || this.condition === 'emptying'
  }

  /** What it says of its disk. No decision looks at it. */
  tellDisk(disk: NodeDisk, nowMs: number): void {
    this.disk = disk
    this.#diskToldMs = nowMs
  }

  /** Answers whether it can be used otherwise than before. */
  assess(nowMs: number, settings: ControllerSettings): boolean {
    const { condition, isSettled, isAwayLong, isHeld } = this
    const knownMs = nowMs - this.sinceMs
    this.condition = this.#conditionAfter(knownMs, settings)
    this.isSettled = this.condition === 'serving' && knownMs >= settings.settleMs
    this.isAwayLong = !this.isLive && knownMs >= settings.targetAwayMaxMs
    this.isHeld = nowMs < this.heldUntilMs
    if (nowMs - this.#diskToldMs > DISK_AGE_MAX_MS) this.disk = undefined
    const isOther = this.condition !== condition || this.isSettled !== isSettled
    return isOther || this.isAwayLong !== isAwayLong || this.isHeld !== isHeld
  }

  #conditionAfter(knownMs: number, { replaceAfterMs }: ControllerSettings): NodeCondition {
    const state = this.stored?.record.state
    if (state === undefined) return 'lost'
    if (this.live === undefined) {
      return this.#isOut || knownMs >= replaceAfterMs ? 'lost' : 'away'
    }
    if (state !== 'serving') return 'emptying'
    return this.live.record.isLeaving ? 'leaving' : 'serving'
  }
}
