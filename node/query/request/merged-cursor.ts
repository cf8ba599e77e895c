// Cursors into merged hits: a place in the list that one query makes of one window. A hit carries its place as
// the two strings of its `_sort`:
//
//   n0.0325                                  its score
//   m<query><lists>.<window>.Ym9vay8x        digests of the query and of the lists that answered, 16 and 8
//                                            hexadecimal digits; the window; the document's key in base64url
//
// The list is made anew for each page, and while no document changes it is the same one. So a place says which list
// it is of: a cursor of another query, or of other lists, is refused.

import { KEY_BYTES_MAX } from '../../document/document-limits.ts'
import { QUERY_LIMIT_MAX, refuse } from '../query-limits.ts'

/** The list of one query. */
export interface MergedListId {
  /** What was asked for: see `queryDigest`. */
  readonly query: string
  /** Which lists were merged: see `listsDigest`. */
  readonly lists: string
  /** How many hits of each list count. */
  readonly windowSize: number
}

/** A place in the list of one query. */
export interface MergedPlace extends MergedListId {
  readonly score: number
  /** The document's key, UTF-8. */
  readonly key: Buffer
}

const PLACE = /^m([0-9a-f]{16})([0-9a-f]{8})\.(\d{1,5})\.([\w-]+)$/
const SCORE = /^n(-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Infinity))$/
const DAMAGED = 'not a cursor: hand back the _sort of a hit'

export function encodeMergedCursor(
  { query, lists, windowSize }: MergedListId,
  { key, score }: { readonly key: Uint8Array; readonly score: number },
): readonly string[] {
  const encoded = Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('base64url')
  return [`n${score}`, `m${query}${lists}.${windowSize}.${encoded}`]
}

/** Whether these are the strings of a cursor into merged hits. */
export function isMergedCursor(parts: readonly unknown[]): boolean {
  const last = parts.at(-1)
  return typeof last === 'string' && last.startsWith('m')
}

/** `where` is its place in the request, such as `search_after`. */
export function parseMergedCursor(parts: readonly unknown[], where: string): MergedPlace {
  const [score, place, ...others] = parts
  if (typeof score !== 'string' || typeof place !== 'string' || others.length > 0) {
    return refuse(where, 'must hold 2 strings, as the _sort of a merged hit does')
  }
  const number = SCORE.exec(score)?.[1]
  const list = listOf(place)
  if (number === undefined || list === undefined) return refuse(where, DAMAGED)
  return { ...list, score: Number(number) }
}

/** Undefined for anything that `encodeMergedCursor` did not write. */
function listOf(place: string): Omit<MergedPlace, 'score'> | undefined {
  const [, query, lists, window, encoded = ''] = PLACE.exec(place) ?? []
  if (query === undefined || lists === undefined) return undefined
  const key = Buffer.from(encoded, 'base64url')
  const windowSize = Number(window)
  const isWhole = key.toString('base64url') === encoded && key.length <= KEY_BYTES_MAX
  const isWindow = windowSize >= 1 && windowSize <= QUERY_LIMIT_MAX
  return isWhole && isWindow ? { query, lists, windowSize, key } : undefined
}
