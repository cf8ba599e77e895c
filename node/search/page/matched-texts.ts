// The texts of the parts of documents that indexes of vectors found.

import type { QueryHit } from '../run/query-result.ts'
import type { QueryRun } from '../run/query-run.ts'

/** Texts that are read at once: each brings all texts of its document along. */
const READ_AT_ONCE = 8

/** The hits, with the texts of their parts where indexes keep them. They are charged as documents are. */
export async function withMatchedTexts(
  { table, signal, memory }: Pick<QueryRun, 'table' | 'signal' | 'memory'>,
  hits: readonly QueryHit[],
): Promise<readonly QueryHit[]> {
  const { chunkTextOf } = table
  if (chunkTextOf === undefined) return hits
  const withText = async (hit: QueryHit): Promise<QueryHit> => {
    const { _id: id, _matched: matched } = hit
    if (matched === undefined) return hit
    const { index, chunk } = matched
    const text = await chunkTextOf({ index, chunk, key: Buffer.from(id) }, signal)
    if (text === undefined) return hit
    memory?.add(text.length)
    return { ...hit, _matched: { ...matched, text } }
  }
  const filled: QueryHit[] = []
  for (let from = 0; from < hits.length; from += READ_AT_ONCE) {
    filled.push(...(await Promise.all(hits.slice(from, from + READ_AT_ONCE).map(withText))))
  }
  return filled
}
