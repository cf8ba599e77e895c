// Asks the index worker of each found document's shard to mark the words of the query.

import { TEXT_INDEX } from '../../index/kinds/text-descriptor.ts'
import type { Highlights } from '../../index/text/search/text-search.ts'
import type { Query } from '../../query/query-tree.ts'
import type { QueryRun } from '../run/query-run.ts'
import type { ShardFanOut } from '../run/shard-fan-out.ts'
import type { QueriedShard } from '../tables/queried-table.ts'

/** A document of the page, as it is stored. */
export interface FoundDocument {
  readonly key: Buffer
  readonly json: Buffer
}

/** Undefined where no word is marked. */
export type MarkDocuments = (
  documents: readonly FoundDocument[],
) => Promise<readonly (Highlights | undefined)[]>

/** The words of the query, and the full-text index that knows them in documents. */
interface MarkedWords {
  readonly index: string | undefined
  readonly query: Query | undefined
}

/** Undefined if the query asks for no highlights or looks for no words, or the table has no full-text index. */
export function buildMarkDocuments(
  run: QueryRun,
  { index, query }: MarkedWords,
  fanOut: ShardFanOut<QueriedShard>,
): MarkDocuments | undefined {
  const { table, request } = run
  const { highlight } = request
  if (index === undefined || highlight === undefined || query === undefined) return undefined
  return async (documents) => {
    const marked: (Highlights | undefined)[] = documents.map(() => undefined)
    const numbered = documents.map(({ key, json }, at) => ({ key, json, at }))
    const byShard = Map.groupBy(numbered, ({ key }) => table.shardOf(key))
    const asking = [...byShard].map(async ([shard, some]) => {
      const texts = some.map(({ json }) => Uint8Array.from(json))
      const marks = { query, highlight, documents: texts }
      const asked = { kind: TEXT_INDEX.kind, question: 'highlight', request: marks } as const
      const answer = await fanOut.attempt(shard, () => run.ask(shard, index, asked))
      for (const [i, { at }] of some.entries()) marked[at] = answer?.[i]
    })
    await Promise.all(asking)
    return marked
  }
}
