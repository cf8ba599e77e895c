import type { Condition } from '../../../coordination/coordination.ts'
import type {
  NodeId,
  ReplicaId,
  ShardConfiguration,
} from '../../../replication/core/configuration.ts'
import type { LogEnd } from '../../../replication/core/fit-leaders.ts'
import type { ShardPath } from '../records/cluster-codec.ts'
import type { MoveRecord } from '../records/move-record.ts'
import { seedOf } from './tie-break.ts'

/** Where the log of a replica ended, as its node said in this life. */
export interface ReplicaEnd extends LogEnd {
  readonly incarnation: number
}

/** A shard's two keys at one moment. */
export interface ShardRecords {
  readonly configuration: ShardConfiguration | undefined
  readonly move: MoveRecord | undefined
  /** The revision of the move's key; 0 when it is absent. */
  readonly moveRevision: number
}

/** A change that was handed to the shell and has no outcome yet. */
export interface PlannedRecords extends ShardRecords {
  readonly changes: { readonly configuration: boolean; readonly move: boolean }
  readonly operation: string
  readonly sinceMs: number
}

const NOTHING: ShardRecords = { configuration: undefined, move: undefined, moveRevision: 0 }

/** A shard as the controller knows it. Decisions see what is planned as if it had happened. */
export class ShardView {
  readonly path: ShardPath
  readonly tableId: string
  readonly seed: number
  /** True in the store as long as the catalog keeps the shard unchanged; undefined if the catalog has no such shard. */
  exists: Condition | undefined
  /** The catalog's key, which has to be absent when the shard's keys are deleted. */
  catalogKey: string | undefined
  known: ShardRecords = NOTHING
  planned: PlannedRecords | undefined
  /** The newest revisions known of the two keys, deletions among them: what is older is ignored. */
  configurationSeen = 0
  moveSeen = 0
  /** The size of one replica, as its leader says; undefined until it does. */
  bytes: number | undefined
  /** No change is planned before. */
  pausedUntilMs = 0
  /**
   * Where the logs of replicas ended when they were asked, with the life in which that was. All were asked since the
   * configuration or the life of a replica's node changed last (FL2): `endsRound` grows with each such change.
   */
  readonly ends = new Map<NodeId, ReplicaEnd>()
  endsRound = 0
  /** Why nothing can be done for it now although something should be. */
  waits: string | undefined

  constructor(path: ShardPath) {
    this.path = path
    this.tableId = path.split('/')[0] ?? ''
    this.seed = seedOf(path)
  }

  get configuration(): ShardConfiguration | undefined {
    return (this.planned ?? this.known).configuration
  }

  get move(): MoveRecord | undefined {
    return (this.planned ?? this.known).move
  }

  /** The move that counts for the limits. One whose end has no outcome yet may still be there. */
  get countedMove(): MoveRecord | undefined {
    return this.planned?.move ?? this.known.move
  }

  forgetEnds(): void {
    this.ends.clear()
    this.endsRound += 1
  }

  get isForgotten(): boolean {
    const { configuration, move } = this.known
    const isEmpty = configuration === undefined && move === undefined
    return isEmpty && this.exists === undefined && this.planned === undefined
  }
}

export function isInSync({ inSync }: ShardConfiguration, node: NodeId): boolean {
  return inSync.some((member) => member.node === node)
}

/** Whether it has, or may have, entries that were acknowledged. */
export function holdsAcknowledged(configuration: ShardConfiguration, node: NodeId): boolean {
  const isIt = (replica: ReplicaId): boolean => replica.node === node
  return configuration.inSync.some(isIt) || configuration.eligible.some(isIt)
}
