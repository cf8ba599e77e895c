// Parses and checks the body of a query. A member that needs an unavailable kind of index is
// refused. What depends on the indexes of the table is checked when the query is planned.

import { KEY_BYTES_MAX } from '../../document/document-limits.ts'
import { describeKind } from '../../document/exact-json.ts'
import { parseFieldPath } from '../../document/field-path.ts'
import { isJsonArray, isJsonObject, memberOf } from '../../document/json-object.ts'
import { parseProjection } from '../../document/projection.ts'
import { parseDurationMs } from '../../schema/duration.ts'
import { parseAggregations } from './aggregation-request.ts'
import { parseAnalyses } from './analyses-request.ts'
import { parseMergeConfig } from './merge-request.ts'
import { parseCanonicalQuery } from '../language/parse-canonical-query.ts'
import { parseQuery } from '../language/parse-query.ts'
import { parsePruner } from './pruner-request.ts'
import {
  checkMembers,
  choiceOf,
  flagOf,
  integerOf,
  listOf,
  optionalTextOf,
  parseText,
  shown,
  textOf,
} from '../language/query-clause.ts'
import { isMergedCursor, parseMergedCursor, type MergedPlace } from './merged-cursor.ts'
import { parseCursor } from './query-cursor.ts'
import { parseReranker } from './reranker-request.ts'
import { parseVectors } from './vector-request.ts'
import { buildClauseBudget, QUERY_LIMIT_MAX, refuse } from '../query-limits.ts'
import type { JsonObject, JsonValue } from '../../document/exact-json.ts'
import type { Projection } from '../../document/projection.ts'
import type { Aggregations } from './aggregation-request.ts'
import type { AnalysesRequest } from './analyses-request.ts'
import type { MergeConfig } from './merge-request.ts'
import type { Clause } from '../language/query-clause.ts'
import type { Pruner } from './pruner-request.ts'
import type { SortKey, SortPosition } from './query-cursor.ts'
import type { RerankerRequest } from './reranker-request.ts'
import type { VectorRequest } from './vector-request.ts'
import type { Query } from '../query-tree.ts'

const QUERY_LIMIT_DEFAULT = 10
const QUERY_TIMEOUT_MS_DEFAULT = 30_000
const QUERY_TIMEOUT_MS_MAX = 600_000

const ORDER_KEYS_MAX = 16
const FIELDS_MAX = 1000
const INDEXES_MAX = 100
const MARK_LENGTH_MAX = 100

/** Which words are looked at: with `auto`, those that no document has. */
export type SuggestChoice = boolean | 'auto'

/** A checked query. Without `fullText`, `filter`, `exclusion` and `vectors`, every document is a hit. */
export interface QueryRequest {
  readonly table: string | undefined
  /** The names of the indexes to search, of any kind, each once. Empty: those that the query needs. */
  readonly indexes: readonly string[]
  /** Selects and scores. */
  readonly fullText: Query | undefined
  /** Selects without scoring. */
  readonly filter: Query | undefined
  /** Excludes the documents that match. */
  readonly exclusion: Query | undefined
  /** Finds what is near; undefined for a query of words alone. */
  readonly vectors: VectorRequest | undefined
  /** How the hits of several indexes become one list; undefined: by default. */
  readonly merge: MergeConfig | undefined
  readonly reranker: RerankerRequest | undefined
  readonly analyses: AnalysesRequest | undefined
  /** Selects the keys that begin with these bytes. */
  readonly keyPrefix: Buffer | undefined
  /** By descending score unless the client gave another order. Ties are ordered by key. */
  readonly order: readonly SortKey[]
  readonly page: QueryPage
  readonly pruner: Pruner | undefined
  /** The client wants the total without hits. */
  readonly countOnly: boolean
  readonly projection: Projection | undefined
  readonly highlight: HighlightRequest | undefined
  readonly aggregations: Aggregations
  /** Whether aggregations of merged hits count all matches of the words as well. */
  readonly aggregatesMatches: boolean
  readonly profile: boolean
  /** The client wants to know which words may be mistyped. */
  readonly suggest: SuggestChoice
  /** The text of `full_text_search` if it is a query string. */
  readonly queryString: string | undefined
  readonly timeoutMs: number
}

export type QueryPage =
  | { readonly kind: 'offset'; readonly offset: number; readonly limit: number }
  | { readonly kind: 'after'; readonly position: SortPosition; readonly limit: number }
  | { readonly kind: 'before'; readonly position: SortPosition; readonly limit: number }
  | MergedPage

/** A page of merged hits, beside one of them. */
export interface MergedPage {
  readonly kind: 'merged'
  readonly direction: 'after' | 'before'
  readonly place: MergedPlace
  readonly limit: number
}

/** Which fields to highlight, and the marks around each match. */
export interface HighlightRequest {
  /** Undefined means the fields that the query searches. */
  readonly fields: readonly string[] | undefined
  readonly pre: string
  readonly post: string
}

const MEMBERS = [
  'table',
  'full_text_search',
  'query',
  'semantic_search',
  'embedding_template',
  'embeddings',
  'similar_to',
  'indexes',
  'search_effort',
  'oversampling',
  'distance_under',
  'distance_over',
  'merge_config',
  'filter_query',
  'exclusion_query',
  'filter_prefix',
  'order_by',
  'limit',
  'offset',
  'search_after',
  'search_before',
  'count',
  'fields',
  'highlight',
  'aggregations',
  'aggregate_over',
  'analyses',
  'pruner',
  'reranker',
  'document_renderer',
  'profile',
  'suggest',
  'timeout',
]

const GRAPH = 'a graph index'
/** What a member needs and no table offers yet. */
const UNAVAILABLE: Readonly<Record<string, string>> = {
  graph_searches: GRAPH,
  expand_strategy: GRAPH,
  join: 'joins between tables',
  foreign_sources: 'foreign tables',
}

const BY_SCORE: readonly SortKey[] = [{ field: '_score', isDescending: true }]

export function parseQueryRequest(value: JsonValue): QueryRequest {
  if (!isJsonObject(value)) return refuse('query', `must be an object, not ${describeKind(value)}`)
  checkAvailable(value)
  const body: Clause = { members: value, where: '', depth: 1, budget: buildClauseBudget() }
  checkMembers({ ...body, where: 'query' }, MEMBERS)
  const order = parseOrder(value)
  const projection = parseFields(body)
  return {
    table: optionalTextOf(body, 'table'),
    indexes: parseIndexNames(body),
    fullText: parseFullText(value),
    filter: queryOf(value, 'filter_query'),
    exclusion: queryOf(value, 'exclusion_query'),
    vectors: parseVectors(body),
    merge: parseMergeConfig(body),
    reranker: parseReranker(body),
    analyses: parseAnalyses(body, projection),
    keyPrefix: parseKeyPrefix(memberOf(value, 'filter_prefix')),
    order,
    page: parsePage(body, order),
    pruner: parsePruner(body),
    countOnly: parseCountOnly(body),
    projection,
    highlight: parseHighlight(body),
    aggregations: parseAggregations(memberOf(value, 'aggregations') ?? {}, 'aggregations'),
    aggregatesMatches: choiceOf(body, 'aggregate_over', ['hits', 'matches']) === 'matches',
    profile: flagOf(body, 'profile', false),
    suggest: suggestOf(body),
    queryString: queryStringOf(value),
    timeoutMs: parseTimeoutMs(memberOf(value, 'timeout')),
  }
}

function suggestOf({ members }: Clause): SuggestChoice {
  const choice = memberOf(members, 'suggest') ?? false
  if (choice === 'auto' || typeof choice === 'boolean') return choice
  return refuse('suggest', 'must be true, false or "auto"')
}

function checkAvailable(members: JsonObject): void {
  for (const name of Object.keys(members)) {
    const need = Object.hasOwn(UNAVAILABLE, name) ? UNAVAILABLE[name] : undefined
    if (need !== undefined) refuse(name, `needs ${need}, which is not available here; leave it out`)
  }
}

function parseIndexNames(body: Clause): readonly string[] {
  if (!Object.hasOwn(body.members, 'indexes')) return []
  const names = listOf(body, 'indexes', { what: 'index name', max: INDEXES_MAX })
  return [...new Set(names.map((one, index) => parseText(one, `indexes[${index}]`)))]
}

function parseFullText(members: JsonObject): Query | undefined {
  const canonical = memberOf(members, 'query')
  if (canonical === undefined) return queryOf(members, 'full_text_search')
  if (Object.hasOwn(members, 'full_text_search')) {
    refuse('query', 'cannot stand beside full_text_search; leave one of them out')
  }
  return parseCanonicalQuery(canonical, 'query')
}

/** Undefined for other queries. */
function queryStringOf(members: JsonObject): string | undefined {
  const search = memberOf(members, 'full_text_search')
  const text = isJsonObject(search) ? memberOf(search, 'query') : undefined
  return typeof text === 'string' ? text : undefined
}

function queryOf(members: JsonObject, name: string): Query | undefined {
  const value = memberOf(members, name)
  return value === undefined ? undefined : parseQuery(value, name)
}

/** Base64, because a key prefix may end within a character. The empty string means no prefix. */
function parseKeyPrefix(value: JsonValue | undefined): Buffer | undefined {
  if (value === undefined || value === '') return undefined
  const text = parseText(value, 'filter_prefix', 2 * KEY_BYTES_MAX)
  const bytes = Buffer.from(text, 'base64')
  const padded = bytes.toString('base64')
  if (text !== padded && text !== padded.replaceAll('=', '')) {
    refuse('filter_prefix', 'must be the first bytes of the keys in base64: "Yjo=" for b:')
  }
  if (!beginsText(bytes)) {
    refuse('filter_prefix', 'must be UTF-8 in base64, as keys are; for b: write "Yjo="')
  }
  if (bytes.length <= KEY_BYTES_MAX) return bytes
  return refuse('filter_prefix', `may have at most ${KEY_BYTES_MAX} bytes, as keys do`)
}

/** Whether a UTF-8 text can begin with the bytes. The last character may be cut. */
function beginsText(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
    return true
  } catch {
    return false
  }
}

/** Parses `[{field, desc}]`, or `{field: desc}` as older clients write it. */
function parseOrder(members: JsonObject): readonly SortKey[] {
  const value = memberOf(members, 'order_by')
  if (value === undefined) return BY_SCORE
  const keys = isJsonObject(value) ? parseLegacyOrder(value) : parseOrderList(value)
  if (keys.length > ORDER_KEYS_MAX) refuse('order_by', `may hold at most ${ORDER_KEYS_MAX} fields`)
  const fields = keys.map(({ field }) => field)
  const repeated = fields.find((field, index) => fields.indexOf(field) !== index)
  if (repeated !== undefined) refuse('order_by', `${shown(repeated)} is used twice`)
  return keys.length === 0 ? BY_SCORE : keys
}

function parseLegacyOrder(order: JsonObject): readonly SortKey[] {
  return Object.entries(order).map(([name, isDescending]) => {
    const where = `order_by.${name}`
    if (typeof isDescending !== 'boolean') return refuse(where, 'must be true to descend, or false')
    return { field: parseFieldPath(name, where).text, isDescending }
  })
}

function parseOrderList(order: JsonValue): readonly SortKey[] {
  if (!isJsonArray(order)) return refuse('order_by', 'must be an array of {"field", "desc"}')
  return order.map((members, index) => {
    const where = `order_by[${index}]`
    if (!isJsonObject(members)) return refuse(where, 'must be an object: {"field", "desc"}')
    const clause: Clause = { members, where, depth: 1, budget: buildClauseBudget() }
    checkMembers(clause, ['field', 'desc'])
    const field = parseFieldPath(textOf(clause, 'field'), `${where}.field`).text
    return { field, isDescending: flagOf(clause, 'desc', false) }
  })
}

function parsePage(body: Clause, order: readonly SortKey[]): QueryPage {
  const { members } = body
  const limit = integerOf(body, 'limit', { min: 0, max: QUERY_LIMIT_MAX }) ?? QUERY_LIMIT_DEFAULT
  const offset = integerOf(body, 'offset', { min: 0, max: Number.MAX_SAFE_INTEGER })
  const after = memberOf(members, 'search_after')
  const before = memberOf(members, 'search_before')
  if (after !== undefined && before !== undefined) {
    refuse('search_before', 'cannot stand beside search_after; leave one of them out')
  }
  const cursor = after ?? before
  if (cursor === undefined) {
    checkWindow(offset ?? 0, limit)
    return { kind: 'offset', offset: offset ?? 0, limit }
  }
  const direction = after === undefined ? 'before' : 'after'
  const name = `search_${direction}`
  if (offset !== undefined) refuse('offset', `cannot stand beside ${name}; leave one of them out`)
  return pageBeside(cursor, order, { direction, limit })
}

function pageBeside(
  cursor: JsonValue,
  order: readonly SortKey[],
  { direction, limit }: Pick<MergedPage, 'direction' | 'limit'>,
): QueryPage {
  const name = `search_${direction}`
  if (isJsonArray(cursor) && isMergedCursor(cursor)) {
    return { kind: 'merged', direction, place: parseMergedCursor(cursor, name), limit }
  }
  const position = parseCursor(cursor, order, name)
  return { kind: direction, position, limit }
}

function checkWindow(offset: number, limit: number): void {
  if (offset + limit <= QUERY_LIMIT_MAX) return
  refuse(
    'offset',
    `offset and limit together may be at most ${QUERY_LIMIT_MAX}; use search_after for later pages`,
  )
}

function parseCountOnly(body: Clause): boolean {
  const countOnly = flagOf(body, 'count', false)
  if (!countOnly) return false
  const paging = ['offset', 'search_after', 'search_before', 'order_by', 'highlight']
  const found = paging.find((name) => Object.hasOwn(body.members, name))
  if (found !== undefined) refuse(found, 'has no meaning with count, which returns no hits')
  return true
}

function parseFields(body: Clause): Projection | undefined {
  if (!Object.hasOwn(body.members, 'fields')) return undefined
  const fields = listOf(body, 'fields', { what: 'field', max: FIELDS_MAX })
  return parseProjection(fields.map((field, index) => parseText(field, `fields[${index}]`)))
}

function parseHighlight(body: Clause): HighlightRequest | undefined {
  const members = memberOf(body.members, 'highlight')
  if (members === undefined) return undefined
  if (!isJsonObject(members)) return refuse('highlight', 'must be an object')
  const clause: Clause = { ...body, members, where: 'highlight' }
  checkMembers(clause, ['fields', 'pre', 'post'])
  return {
    fields: parseHighlightFields(clause),
    pre: optionalTextOf(clause, 'pre', MARK_LENGTH_MAX) ?? '<em>',
    post: optionalTextOf(clause, 'post', MARK_LENGTH_MAX) ?? '</em>',
  }
}

function parseHighlightFields(clause: Clause): readonly string[] | undefined {
  if (!Object.hasOwn(clause.members, 'fields')) return undefined
  return listOf(clause, 'fields', { what: 'field', max: FIELDS_MAX }).map((field, index) => {
    const where = `highlight.fields[${index}]`
    return parseFieldPath(parseText(field, where), where).text
  })
}

/** Parses a duration such as `500ms` or `5s`. */
function parseTimeoutMs(value: JsonValue | undefined): number {
  if (value === undefined) return QUERY_TIMEOUT_MS_DEFAULT
  const timeoutMs = parseDurationMs(parseText(value, 'timeout'), 'timeout')
  if (timeoutMs <= QUERY_TIMEOUT_MS_MAX) return timeoutMs
  return refuse('timeout', `may be at most ${QUERY_TIMEOUT_MS_MAX}ms`)
}
