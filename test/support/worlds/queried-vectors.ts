// Queries of a table of two shards with words and vectors: "words" and "notes", "vec" and "mean".

import { ManualClock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { EventLoopTurns } from '../../../node/search/tables/event-loop-turns.ts'
import type {
  QueriedShard,
  QueriedTable,
  QueriedVectors,
} from '../../../node/search/tables/queried-table.ts'
import type { QueryModels } from '../../../node/search/models/query-models.ts'
import type { QueryResult } from '../../../node/search/run/query-result.ts'
import { queryTable } from '../../../node/search/table-query.ts'
import type { JsonObject } from '../../../node/document/exact-json.ts'
import { parseQueryRequest } from '../../../node/query/request/query-request.ts'
import { VectorShard, type FakeDocuments } from '../fakes/vector-shard.ts'

export const clock = new ManualClock()
export const VEC: QueriedVectors = {
  name: 'vec',
  sparse: false,
  dimension: 2,
  metric: 'l2_squared',
  isManaged: false,
}
export const MANAGED: QueriedVectors = { ...VEC, name: 'mean', isManaged: true }

export const LEFT: FakeDocuments = {
  a1: { json: { title: 'the sea', n: 1 }, vectors: { vec: [0, 0], mean: [5, 0] } },
  a2: { json: { title: 'sea sea sea', n: 5 }, vectors: { vec: [9, 0], mean: [4, 0] } },
  a3: { json: { title: 'a road', n: 7 }, vectors: { vec: [1, 0] } },
}
const RIGHT: FakeDocuments = {
  b1: {
    json: { title: 'the sea and roads', n: 3 },
    vectors: {
      vec: [
        { vector: [30, 0], start: 0, end: 7 },
        { vector: [2, 0], start: 8, end: 17 },
      ],
      mean: [3, 0],
    },
  },
  b2: { json: { title: 'roads', n: 4 }, vectors: { vec: [4, 0] } },
}

/** What differs from a table of two shards that are well. */
export interface AskedWorld {
  readonly shards?: readonly QueriedShard[]
  readonly models?: QueryModels
  readonly table?: Partial<QueriedTable>
}

export function bothShards(): readonly VectorShard[] {
  return [new VectorShard(LEFT), new VectorShard(RIGHT)]
}

/** The shard of a key is chosen by its first character, from "a" on. */
export function ask(
  body: JsonObject,
  { shards = bothShards(), models, table }: AskedWorld = {},
): Promise<QueryResult> {
  const [first = new VectorShard({})] = shards
  const shardOf = (key: Buffer) => shards[(key[0] ?? 97) - 97] ?? first
  const queried: QueriedTable = {
    name: 'books',
    schema: undefined,
    textIndexes: ['words', 'notes'],
    vectorIndexes: [VEC, MANAGED],
    shards,
    shardOf,
    vectorsOf: async (index, key) => {
      const shard = shardOf(key)
      return shard instanceof VectorShard ? shard.vectorsOf(index, key) : undefined
    },
    ...table,
  }
  const parts = { clock, turns: new EventLoopTurns(), models }
  const signal = new AbortController().signal
  return queryTable(parts, queried, { request: parseQueryRequest(body), signal })
}

/** The hits with names that read well. */
export function hitsOf({ hits }: QueryResult) {
  return hits.hits.map(
    ({
      _id: id,
      _index_scores: scores,
      _matched: matched,
      _sort: sort,
      _source: source,
      _highlight: highlight,
    }) => ({ id, scores, matched, sort, source: source.toString(), highlight }),
  )
}

export const idsOf = ({ hits }: QueryResult): readonly string[] =>
  hits.hits.map(({ _id: id }) => id)
export const scoresOf = ({ hits }: QueryResult): readonly number[] =>
  hits.hits.map(({ _score: score }) => Number(score.toFixed(6)))

/** Refuses all questions to one index. */
export function failing(shard: QueriedShard, index: string, error: Error): QueriedShard {
  return {
    read: (key) => shard.read(key),
    search: async (name, asked, limits) => {
      if (name === index) throw error
      return shard.search(name, asked, limits)
    },
  }
}

export const NEAR_ORIGIN = { vec: [0, 0] }
export const DOWN = new ServiceError('UNAVAILABLE', 'the index is being built')
export const SEA = { query: 'title:sea' }
