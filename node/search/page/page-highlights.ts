// Asks the index worker of each found document's shard to mark the words of the query.

import type { Highlights, TextHighlightRequest } from '../../index/text/search/text-search.ts'
import type { QueryRequest } from '../../query/request/query-request.ts'

/** A document of the page, as it is stored. */
export interface FoundDocument {
  readonly key: Buffer
  readonly json: Buffer
}

/** Undefined where no word is marked. */
export type MarkDocuments = (
  documents: readonly FoundDocument[],
) => Promise<readonly (Highlights | undefined)[]>

/** One entry for each document, undefined where no word is marked; undefined if the shard failed. */
type AskShard<Shard> = (
  shard: Shard,
  request: TextHighlightRequest,
) => Promise<readonly (Highlights | undefined)[] | undefined>

/** Undefined if the query asks for no highlights, or looks for no words. */
export function buildMarkDocuments<Shard>(
  { highlight, fullText }: Pick<QueryRequest, 'highlight' | 'fullText'>,
  shards: { readonly shardOf: (key: Buffer) => Shard; readonly ask: AskShard<Shard> },
): MarkDocuments | undefined {
  const query = fullText
  if (highlight === undefined || query === undefined) return undefined
  return async (documents) => {
    const byShard = new Map<Shard, number[]>()
    for (const [at, { key }] of documents.entries()) {
      const shard = shards.shardOf(key)
      byShard.set(shard, [...(byShard.get(shard) ?? []), at])
    }
    const marked: (Highlights | undefined)[] = documents.map(() => undefined)
    const markIn = async ([shard, places]: [Shard, readonly number[]]): Promise<void> => {
      const texts = places.map((at) => Uint8Array.from(documents[at]?.json ?? []))
      const answer = await shards.ask(shard, { query, highlight, documents: texts })
      for (const [i, at] of places.entries()) marked[at] = answer?.[i]
    }
    await Promise.all([...byShard].map(markIn))
    return marked
  }
}
