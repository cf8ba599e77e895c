// Which query a list of merged hits is of, as cursors into it say (merged-cursor.ts).

import { hash } from 'node:crypto'
import type { Sliced } from '../../../lib/sliced.ts'
import { MERGE_DEFAULTS } from './merge-request.ts'
import type { QueryRequest } from './query-request.ts'

const QUERY_DIGITS = 16
const LISTS_DIGITS = 8
/** A part that the request does not have. Most requests have few. */
const ABSENT = '[null]'

/** A digest of all of a request that decides which hits there are, in which order. The page is left out of the digest. */
export function* queryDigest(table: string, request: QueryRequest): Sliced<string> {
  const { indexes, fullText, filter, exclusion, vectors, merge, reranker, keyPrefix, pruner } =
    request
  const { windowSize: _, ...merging } = merge ?? MERGE_DEFAULTS
  const parts = [table, indexes, fullText, filter, exclusion, merging, reranker, keyPrefix, pruner]
  let text = ''
  for (const part of [...parts, ...Object.entries(vectors ?? {})]) {
    text += part === undefined ? ABSENT : JSON.stringify([part], plainly)
    yield
  }
  return hash('sha256', text).slice(0, QUERY_DIGITS)
}

/** A digest of the lists that were merged, by their names: with failover they may be others the next time. */
export function listsDigest(names: readonly string[]): string {
  const text = JSON.stringify(names.toSorted())
  return hash('sha256', text).slice(0, LISTS_DIGITS)
}

/** Vectors by a digest of their bytes, which takes a small part of the time that their digits would. */
function plainly(_: string, value: unknown): unknown {
  if (value instanceof Map) return [...value]
  if (ArrayBuffer.isView(value)) {
    const { buffer, byteOffset, byteLength } = value
    return hash('sha256', new Uint8Array(buffer, byteOffset, byteLength))
  }
  return value
}
