// Searches by a replica that is nearer than the leader, and that show no less than the leader's would.
//
//   leader ──position──► near index reads up to it, answers ──shows more than the position?──► leader, again
//
// Invariants:
//   NT1  An answer shows all that a search of the leader would have shown when the query began: its index had read
//        the position that the leader told after that.
//   NT2  A later search shows all that the answer shows: the leader's index had read that, too, before the answer
//        is used.
//   NT3  All questions of a query to one shard go to one replica. If it is left, the leader answers all of them.

import type { Clock } from '../../../lib/clock.ts'
import { isServiceError, ServiceError } from '../../../lib/errors.ts'
import type {
  IndexAnswer,
  IndexRequest,
  QueryableKind,
  QuestionOf,
} from '../../index/kinds/index-questions.ts'
import type { DocumentRecord } from '../../shard/format/document-record.ts'
import type {
  IndexPosition,
  ShardSearchLimits,
  ToldPosition,
} from '../../shard/following/index-position.ts'
import type { ShardReplica } from '../../shard/shard-replica.ts'
import type { Shard } from '../../shard/shard.ts'
import type { ShardId } from '../../shard/shard-id.ts'
import type { QueriedShard, QueriedTable } from './queried-table.ts'

/** The replica of a shard that is nearer than the leader; undefined if the leader is as near. */
export type FindNear = (id: ShardId) => ShardReplica | undefined

/** A replica that was left is not asked for this multiple of the time that it cost: it is behind, or its node is gone. */
const LEFT_RATIO = 10

/** A table whose shards are known by their leaders. */
export interface LedTable extends QueriedTable {
  readonly shards: readonly Shard[]
  shardOf(key: Buffer): Shard
}

/** Where near replicas are found. */
export interface NearTablesOptions {
  readonly nearOf: FindNear
  readonly clock: Clock
}

/** Tables as queries see them, with near replicas in the places of leaders. */
export class NearTables {
  readonly #with: NearTablesOptions
  /** The end of the time in which the near replica is not asked. Monotonic. */
  readonly #leftUntilMs = new Map<ShardId, number>()

  constructor(options: NearTablesOptions) {
    this.#with = options
  }

  /** For one query. */
  of(table: LedTable): QueriedTable {
    const near = new Map<QueriedShard, NearShard>()
    for (const shard of table.shards) {
      const replica = this.#nearOf(shard.id)
      if (replica === undefined) continue
      const onLeft = (costMs: number): void => this.#left(shard.id, costMs)
      near.set(shard, new NearShard({ shard, replica, onLeft, clock: this.#with.clock }))
    }
    if (near.size === 0) return table
    return {
      ...table,
      shards: table.shards.map((shard) => near.get(shard) ?? shard),
      shardOf: (key) => {
        const shard = table.shardOf(key)
        return near.get(shard) ?? shard
      },
      moves: () => near.values().reduce((sum, { moves }) => sum + moves, 0),
    }
  }

  #nearOf(id: ShardId): ShardReplica | undefined {
    const leftUntilMs = this.#leftUntilMs.get(id)
    if (leftUntilMs !== undefined) {
      if (this.#with.clock.monotonicMs() < leftUntilMs) return undefined
      this.#leftUntilMs.delete(id)
    }
    return this.#with.nearOf(id)
  }

  #left(id: ShardId, costMs: number): void {
    this.#leftUntilMs.set(id, this.#with.clock.monotonicMs() + LEFT_RATIO * costMs)
  }
}

/** The positions of the leader's index before and after an answer, and how much that shows. */
interface Confirmation {
  readonly from: IndexPosition
  readonly now: IndexPosition
  readonly shownThrough: number
}

interface NearShardOptions {
  readonly shard: Shard
  readonly replica: ShardReplica
  /** The replica was left after `costMs`: the leader answers from now on. */
  readonly onLeft: (costMs: number) => void
  readonly clock: Clock
}

/** One shard for one query (NT1, NT2, NT3). */
class NearShard implements QueriedShard {
  readonly #shard: Shard
  readonly #onLeft: (costMs: number) => void
  readonly #clock: Clock
  #replica: ShardReplica | undefined
  /** By the names of the indexes that the query has asked. */
  readonly #positions = new Map<string, Promise<ToldPosition>>()
  #hasAnswered = false
  moves = 0

  constructor({ shard, replica, onLeft, clock }: NearShardOptions) {
    this.#shard = shard
    this.#replica = replica
    this.#onLeft = onLeft
    this.#clock = clock
  }

  read(key: Buffer): DocumentRecord | undefined | Promise<DocumentRecord | undefined> {
    return this.#shard.read(key)
  }

  async search<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
    index: string,
    request: IndexRequest<Kind, Name>,
    limits: ShardSearchLimits,
  ): Promise<IndexAnswer<Kind, Name>> {
    const replica = this.#replica
    if (replica !== undefined) {
      const sinceMs = this.#clock.monotonicMs()
      try {
        return await this.#searchNear<Kind, Name>(replica, { index, request }, limits)
      } catch (error) {
        if (limits.signal.aborted || !isServiceError(error)) throw error
        this.#leave(this.#clock.monotonicMs() - sinceMs)
      }
    }
    return this.#shard.search<Kind, Name>(index, request, limits)
  }

  async #searchNear<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
    replica: ShardReplica,
    { index, request }: { readonly index: string; readonly request: IndexRequest<Kind, Name> },
    limits: ShardSearchLimits,
  ): Promise<IndexAnswer<Kind, Name>> {
    const from = await this.#positionOf(index, limits)
    const fromLimits = { ...limits, from }
    const placed = await replica.searchFrom<Kind, Name>(index, request, fromLimits)
    const { answer, shownThrough } = placed
    if (shownThrough > from.sequence) {
      const atLeast = shownThrough
      const now = await this.#shard.indexPosition(index, { ...limits, atLeast })
      confirm({ from, now, shownThrough })
      this.#positions.set(index, Promise.resolve(now))
    }
    if (this.#replica !== replica) throw new ServiceError('UNAVAILABLE', 'the replica was left')
    this.#hasAnswered = true
    if (from.behind > 0) limits.onBehind?.(from.behind)
    return answer
  }

  #positionOf(index: string, limits: ShardSearchLimits): Promise<ToldPosition> {
    const known = this.#positions.get(index)
    if (known !== undefined) return known
    const position = this.#shard.indexPosition(index, { ...limits, atLeast: 0 })
    this.#positions.set(index, position)
    return position
  }

  #leave(costMs: number): void {
    if (this.#replica === undefined) return
    this.#replica = undefined
    this.#onLeft(costMs)
    if (this.#hasAnswered) this.moves += 1
  }
}

/** NT2. */
function confirm({ from, now, shownThrough }: Confirmation): void {
  if (now.version !== from.version || now.sequence < shownThrough) {
    throw new ServiceError('UNAVAILABLE', 'the replica is ahead of the index of its leader')
  }
}
