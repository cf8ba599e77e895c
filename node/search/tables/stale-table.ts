import type {
  IndexAnswer,
  IndexRequest,
  QueryableKind,
  QuestionOf,
} from '../../index/kinds/index-questions.ts'
import type { ShardSearchLimits } from '../../shard/following/index-position.ts'
import type { DocumentRecord } from '../../shard/format/document-record.ts'
import type { ShardReplica } from '../../shard/shard-replica.ts'
import type { Shard } from '../../shard/shard.ts'
import { must } from '../../../lib/assert.ts'
import { firstAnswer } from '../../reads/replica-choice.ts'
import type { StaleView } from '../../reads/stale-reads.ts'
import type { LedTable } from './near-tables.ts'
import type { QueriedShard, QueriedTable } from './queried-table.ts'

/** The table as one view shows it, for one query: all of a shard's questions go to one replica. */
export function staleTable(table: LedTable, view: StaleView, signal: AbortSignal): QueriedTable {
  const byShard = new Map(
    table.shards.map((shard) => [shard, new StaleShard(shard, view, signal)] as const),
  )
  return {
    ...table,
    shards: [...byShard.values()],
    shardOf: (key) => must(byShard.get(table.shardOf(key)), 'a shard of the table'),
    moves: () => byShard.values().reduce((sum, { moves }) => sum + moves, 0),
  }
}

class StaleShard implements QueriedShard {
  readonly #shard: Shard
  readonly #view: StaleView
  readonly #signal: AbortSignal
  /** Those that have not failed; the first one is asked. */
  #replicas: readonly ShardReplica[]
  moves = 0

  constructor(shard: Shard, view: StaleView, signal: AbortSignal) {
    this.#shard = shard
    this.#view = view
    this.#signal = signal
    this.#replicas = view.replicasOf(shard)
  }

  read(key: Buffer): Promise<DocumentRecord | undefined> {
    return this.#view.read(this.#shard, key, this.#signal)
  }

  search<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
    index: string,
    request: IndexRequest<Kind, Name>,
    limits: ShardSearchLimits,
  ): Promise<IndexAnswer<Kind, Name>> {
    const ask = async (replica: ShardReplica): Promise<IndexAnswer<Kind, Name>> => {
      if (replica !== this.#replicas[0]) this.#moveTo(replica)
      return replica.searchHere<Kind, Name>(index, request, { ...limits, atLeast: 0 })
    }
    return firstAnswer(this.#replicas, ask, limits.signal)
  }

  #moveTo(replica: ShardReplica): void {
    const at = this.#replicas.indexOf(replica)
    if (at <= 0) return
    this.#replicas = this.#replicas.slice(at)
    this.moves += 1
  }
}
