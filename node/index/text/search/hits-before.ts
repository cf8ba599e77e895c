// The last hits in front of a position: a page backwards.
//
// Scores are only known to a search, so that an order with scores is walked from its beginning in
// blocks until the position. Any other order is read from the columns of everything that matches.

import { must } from '../../../../lib/assert.ts'
import type { SortKey, SortValue } from '../../../query/query-cursor.ts'
import type { EngineQuery } from '../engine-query.ts'
import type { SearchHit, SearchRequest } from '../engine/search.ts'
import type { SortField } from '../engine/sorted-hits.ts'
import type { TextIndex } from '../engine/text-index.ts'
import type { Segment } from '../segment/segment.ts'
import { compareHits, type OrderedHit } from './hit-order.ts'
import type { TextHit, TextPosition } from './text-search.ts'

const BLOCK_HITS = 10_000

/** A search that begins with the first hit. */
type WholeSearch = Omit<SearchRequest, 'limit' | 'after'>

export interface BackwardsPage {
  readonly order: readonly SortKey[]
  readonly position: TextPosition
  readonly limit: number
}

/** `request` asks for the order from its beginning. */
export function hitsBefore(
  index: TextIndex,
  request: WholeSearch,
  page: BackwardsPage,
): readonly TextHit[] {
  if (page.limit === 0) return []
  const { sort } = request
  const hasScore = sort === undefined || sort.some(({ by }) => by === 'score')
  return hasScore ? walkBlocks(index, request, page) : readColumns(index, request, { sort, page })
}

function walkBlocks(
  index: TextIndex,
  request: WholeSearch,
  { order, position, limit }: BackwardsPage,
): readonly TextHit[] {
  const target: OrderedHit = { key: position.key, sortValues: position.values }
  let kept: readonly SearchHit[] = []
  for (;;) {
    const last = kept.at(-1)
    const after = last === undefined ? {} : { after: last }
    const { hits } = index.search({ ...request, limit: BLOCK_HITS, ...after })
    const inFront = hits.filter((hit) => compareHits(order, hit, target) < 0)
    kept = [...kept, ...inFront].slice(-limit)
    if (inFront.length < BLOCK_HITS) return kept
  }
}

function readColumns(
  index: TextIndex,
  request: WholeSearch,
  { sort, page }: { readonly sort: readonly SortField[]; readonly page: BackwardsPage },
): readonly TextHit[] {
  const { order, position, limit } = page
  const target: OrderedHit = { key: position.key, sortValues: position.values }
  let kept: OrderedHit[] = []
  const trim = (): void => {
    kept = kept.toSorted((a, b) => compareHits(order, a, b)).slice(-limit)
  }
  index.collect(request, ({ segment }, docs) => {
    const valuesOf = valueReader(segment, sort)
    for (const doc of docs) {
      const hit = { key: Buffer.from(segment.key(doc), 'latin1'), sortValues: valuesOf(doc) }
      if (compareHits(order, hit, target) >= 0) continue
      kept.push(hit)
      if (kept.length > 2 * limit + 64) trim()
    }
  })
  trim()
  return withScores(index, request, kept)
}

/** The columns say nothing of scores: the few hits of the page are searched again for theirs. */
function withScores(
  index: TextIndex,
  request: WholeSearch,
  page: readonly OrderedHit[],
): readonly TextHit[] {
  const keys: EngineQuery = { kind: 'keys', keys: page.map(({ key }) => key), boost: 1 }
  const filters = request.filter === undefined ? [keys] : [keys, request.filter]
  const both = { must: filters, should: [], minShould: 0, mustNot: [], filter: [] }
  const filter: EngineQuery = { kind: 'boolean', ...both, boost: 1 }
  const { hits } = index.search({ ...request, filter, limit: page.length, countTotal: false })
  const scores = new Map(hits.map(({ key, score }) => [Buffer.from(key).toString('latin1'), score]))
  return page.map((hit) => {
    const score = scores.get(Buffer.from(hit.key).toString('latin1'))
    return { ...hit, score: must(score, 'a score of a hit') }
  })
}

/** As the engine has them: the least value of a document ascending, the greatest descending. */
function valueReader(segment: Segment, sort: readonly SortField[]) {
  const readers = sort.map((field): ((doc: number) => SortValue) => {
    if (field.by !== 'column') return (doc) => segment.key(doc)
    const column = segment.field(field.field)?.column
    return (doc) => {
      const count = column?.count(doc) ?? 0
      if (column === undefined || count === 0) return undefined
      const value = column.value(doc, field.descending ? count - 1 : 0)
      return column.kind === 'keyword' ? column.termOf(value) : value
    }
  })
  return (doc: number): readonly SortValue[] => readers.map((read) => read(doc))
}
