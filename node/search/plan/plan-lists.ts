// What a query asks of which indexes of its table: one list of hits from each, and how they become one.
//
//   words alone, one index ──► its list is the answer
//   anything else          ──► lists are merged (query/fusion), perhaps scored anew by a reranker
//
// Whatever of a request depends on the table's indexes is refused here, by the name of the member.

import { ServiceError } from '../../../lib/errors.ts'
import { checkVector } from '../../query/request/vector-check.ts'
import { MERGE_DEFAULTS } from '../../query/request/merge-request.ts'
import { refuse } from '../../query/query-limits.ts'
import type { Query } from '../../query/query-tree.ts'
import type { QueryRequest } from '../../query/request/query-request.ts'
import { candidatesOf } from './chosen-vectors.ts'
import { checkAnalyses, checkMerged } from './merged-rules.ts'
import type { NearestList, QueryLists, TextList, VectorSource } from './query-lists.ts'
import type { QueriedTable, QueriedVectors } from '../tables/queried-table.ts'

const ONLY_NAME = 'full_text'

/**
 * Throws INVALID_ARGUMENT, or NOT_FOUND for an index that is not there. `chosen` is the index of vectors of a query
 * that names none; undefined: the only one that may be meant.
 */
export function planLists(table: QueriedTable, request: QueryRequest, chosen?: string): QueryLists {
  checkNames(table, request)
  checkAnalyses(request)
  const texts = planTexts(table, request)
  const [only, second] = texts
  const isMerged = request.vectors !== undefined || request.reranker !== undefined
  if (!isMerged && only !== undefined && second === undefined) {
    checkUnmerged(request)
    return { kind: 'words', list: only }
  }
  const config = request.merge ?? MERGE_DEFAULTS
  const lists = { texts, nearest: planNearest(table, request, chosen), config }
  const windowSize = checkMerged(request, lists)
  const textIndex = only?.index ?? chosenTexts(table, request)[0]
  if (textIndex === undefined && request.aggregations.size > 0) {
    refuse('aggregations', `table "${table.name}" has no full_text index, which counts them`)
  }
  return { kind: 'merged', lists: { ...lists, windowSize }, textIndex }
}

function checkNames(table: QueriedTable, { indexes, vectors }: QueryRequest): void {
  const unknown = indexes.find((name) => !isKnown(table, name))
  if (unknown !== undefined) throw unknownIndex(table, 'indexes', unknown)
  const idle = indexes.find((name) => vectors === undefined && !table.textIndexes.includes(name))
  if (idle !== undefined) refuse('indexes', needsVector(idle))
}

function checkUnmerged({ merge, pruner, aggregatesMatches, page }: QueryRequest): void {
  if (page.kind === 'merged') {
    refuse(`search_${page.direction}`, 'is of hits that were merged; begin again without a cursor')
  }
  if (merge !== undefined) refuse('merge_config', NOTHING_TO_MERGE)
  if (aggregatesMatches) refuse('aggregate_over', NOTHING_TO_MERGE)
  if (pruner?.isMultiIndex !== true) return
  refuse('pruner.require_multi_index', 'needs a second index in the query; leave it out')
}

const NOTHING_TO_MERGE = 'needs hits to merge: name several indexes, or search for vectors, too'

function isKnown({ textIndexes, vectorIndexes }: QueriedTable, name: string): boolean {
  return textIndexes.includes(name) || vectorIndexes.some((index) => index.name === name)
}

function namedTexts(table: QueriedTable, { indexes }: QueryRequest): readonly string[] {
  return indexes.filter((name) => table.textIndexes.includes(name))
}

/** The named indexes, or else the default one; empty for a table without a full-text index. */
function chosenTexts(table: QueriedTable, request: QueryRequest): readonly string[] {
  const named = namedTexts(table, request)
  return named.length > 0 ? named : table.textIndexes.slice(0, 1)
}

function planTexts(table: QueriedTable, request: QueryRequest): readonly TextList[] {
  const { fullText, vectors } = request
  const chosen = chosenTexts(table, request)
  if (fullText === undefined && vectors !== undefined) return textsOfMeaning(table, request)
  if (chosen.length === 0) throw noTextIndex(table)
  if (chosen.length > 1 && fullText === undefined) {
    refuse('indexes', 'several full_text indexes need full_text_search to score their hits')
  }
  return listsOf(table, chosen, fullText)
}

/** The text itself is looked for where a full-text index is named, or has to stand in for the vectors. */
function textsOfMeaning(table: QueriedTable, request: QueryRequest): readonly TextList[] {
  const { vectors, merge } = request
  const sought = vectors?.sought
  if (sought?.kind !== 'text') return []
  const isWanted = merge?.strategy === 'failover' || namedTexts(table, request).length > 0
  return isWanted ? listsOf(table, chosenTexts(table, request), anyWord(sought.text)) : []
}

function listsOf(
  { vectorIndexes }: QueriedTable,
  indexes: readonly string[],
  query: Query | undefined,
): readonly TextList[] {
  const isTaken = vectorIndexes.some(({ name }) => name === ONLY_NAME)
  const isShort = indexes.length === 1 && !isTaken
  return indexes.map((index) => ({ index, name: isShort ? ONLY_NAME : index, query }))
}

/** What people ask is plain text: the marks of query strings mean nothing in it. */
export function anyWord(text: string): Query {
  return {
    kind: 'match',
    field: undefined,
    text,
    operator: 'or',
    fuzziness: 0,
    prefixLength: 0,
    analyzer: undefined,
    boost: 1,
  }
}

function planNearest(
  table: QueriedTable,
  request: QueryRequest,
  chosen: string | undefined,
): readonly NearestList[] {
  const { vectors } = request
  if (vectors === undefined) return []
  for (const name of vectors.embeddings.keys()) vectorsNamed(table, name, `embeddings.${name}`)
  const named = request.indexes.filter((name) => !table.textIndexes.includes(name))
  const sent = [...vectors.embeddings.keys()].filter((name) => !named.includes(name))
  const names = [...named, ...sent]
  if (names.length === 0) names.push(chosen ?? onlyVectors(table, request))
  return names.map((name) => {
    const index = vectorsNamed(table, name, 'indexes')
    return { index, from: sourceOf(index, request) }
  })
}

function sourceOf(index: QueriedVectors, { vectors }: QueryRequest): VectorSource {
  const sent = vectors?.embeddings.get(index.name)
  if (sent !== undefined) {
    return { kind: 'sent', vector: checkVector(sent, index, `embeddings.${index.name}`) }
  }
  const sought = vectors?.sought
  if (sought === undefined) {
    return refuse('indexes', needsVector(index.name))
  }
  if (sought.kind === 'document' || index.isManaged) return sought
  return refuse(
    'semantic_search',
    `index "${index.name}" is external, so its vectors come from you: send that of the text in embeddings`,
  )
}

function needsVector(name: string): string {
  return `"${name}" has vectors: send one in embeddings, or a semantic_search or similar_to`
}

function vectorsNamed(table: QueriedTable, name: string, where: string): QueriedVectors {
  const index = table.vectorIndexes.find((one) => one.name === name)
  if (index !== undefined) return index
  if (!table.textIndexes.includes(name)) throw unknownIndex(table, where.split('.')[0] ?? '', name)
  return refuse(where.slice(0, 140), 'names a full_text index, which has no vectors')
}

/** The index for a query that names none. */
function onlyVectors(table: QueriedTable, request: QueryRequest): string {
  const { vectors } = request
  const member = vectors?.sought?.kind === 'document' ? 'similar_to' : 'semantic_search'
  const candidates = candidatesOf(table, request)
  const [first, ...others] = candidates
  if (first === undefined) {
    const problem = `${member}: table "${table.name}" has no embeddings index; add one to its indexes`
    throw new ServiceError('NOT_FOUND', problem)
  }
  if (others.length === 0) return first.name
  const names = candidates.map(({ name }) => name).join(', ')
  return refuse('indexes', `must name which of the embeddings indexes ${member} uses: ${names}`)
}

function noTextIndex({ name }: QueriedTable): ServiceError {
  const problem = `table "${name}" has no full_text index to search; add one to its indexes`
  return new ServiceError('NOT_FOUND', problem)
}

function unknownIndex(table: QueriedTable, where: string, name: string): ServiceError {
  const known = [...table.textIndexes, ...table.vectorIndexes.map((index) => index.name)]
  const there = known.length === 0 ? 'it has none' : `there are ${known.join(', ')}`
  return new ServiceError(
    'NOT_FOUND',
    `${where}: table "${table.name}" has no index "${name.slice(0, 128)}"; ${there}`,
  )
}
