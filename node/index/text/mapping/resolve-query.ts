// Resolves a checked query into one that the engine can run. Fields become index fields, text
// becomes tokens, and a pattern becomes a matcher of terms.
//
// A field that no document has is not an error, because another shard may have it. Its part of the
// query matches nothing, with a warning. A field that exists but cannot answer is refused.

import { unreachable } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import { NOTHING, QueryContext } from './query-context.ts'
import { resolveGeo } from './resolve-geo.ts'
import { numberRange, textRange } from './resolve-range.ts'
import {
  resolveBool,
  resolveExists,
  resolveFuzzy,
  resolveNetwork,
  resolvePrefix,
  resolveRegexp,
  resolveTerm,
  resolveWildcard,
} from './resolve-terms.ts'
import { resolveSimple } from './resolve-simple.ts'
import {
  resolveMatch,
  resolveMultiMatch,
  resolvePhrase,
  resolvePhraseTerms,
} from './resolve-text.ts'
import type { EngineQuery } from '../engine-query.ts'
import type { Query, QueryOf } from '../../../query/query-tree.ts'
import type { FieldMapping } from './field-mapping.ts'
import type { GeoQuery } from '../../../query/geo-test.ts'

/** A query that the engine can run. */
export interface ResolvedQuery {
  readonly query: EngineQuery
  /** For the client: the parts of the query that can match nothing, with the reason. */
  readonly warnings: readonly string[]
}

/** Throws INVALID_ARGUMENT for a query that its field cannot answer. */
export function* resolveQuery(query: Query, mapping: FieldMapping): Sliced<ResolvedQuery> {
  const context = new QueryContext(mapping)
  const resolved =
    query.kind === 'boolean' ? yield* resolveBoolean(query, context) : resolveLeaf(query, context)
  if (context.takePause()) yield
  return { query: resolved, warnings: context.warnings }
}

type BooleanQuery = QueryOf<'boolean'>
type RangeQuery = QueryOf<'numbers' | 'dates' | 'terms' | 'untyped-range'>
type TermQuery = QueryOf<
  'exists' | 'term' | 'fuzzy' | 'prefix' | 'wildcard' | 'regexp' | 'bool' | 'ip'
>

const GEO_KINDS: ReadonlySet<string> = new Set<GeoQuery['kind']>([
  'geo-box',
  'geo-distance',
  'geo-polygon',
  'geo-shape',
])
const RANGE_KINDS: ReadonlySet<string> = new Set<RangeQuery['kind']>([
  'numbers',
  'dates',
  'terms',
  'untyped-range',
])
const TERM_KINDS: ReadonlySet<string> = new Set<TermQuery['kind']>([
  'exists',
  'term',
  'fuzzy',
  'prefix',
  'wildcard',
  'regexp',
  'bool',
  'ip',
])

function resolveLeaf(query: Exclude<Query, BooleanQuery>, context: QueryContext): EngineQuery {
  if (isGeo(query)) return resolveGeo(query, context)
  if (isRange(query)) return resolveRange(query, context)
  if (isAboutTerms(query)) return resolveTermQuery(query, context)
  switch (query.kind) {
    case 'all':
      return { kind: 'all', boost: query.boost }
    case 'none':
      return NOTHING
    case 'ids':
      return { kind: 'keys', keys: query.ids.map(keyOf), boost: query.boost }
    case 'match':
      return resolveMatch(query, context)
    case 'phrase':
      return resolvePhrase(query, context)
    case 'phrase-terms':
      return resolvePhraseTerms(query, context)
    case 'simple':
      return resolveSimple(query, context)
    case 'multi-match':
      return resolveMultiMatch(query, context)
    default:
      return unreachable(query)
  }
}

function resolveTermQuery(query: TermQuery, context: QueryContext): EngineQuery {
  switch (query.kind) {
    case 'exists':
      return resolveExists(query, context)
    case 'term':
      return resolveTerm(query, context)
    case 'fuzzy':
      return resolveFuzzy(query, context)
    case 'prefix':
      return resolvePrefix(query, context)
    case 'wildcard':
      return resolveWildcard(query, context)
    case 'regexp':
      return resolveRegexp(query, context)
    case 'bool':
      return resolveBool(query, context)
    case 'ip':
      return resolveNetwork(query, context)
    default:
      return unreachable(query)
  }
}

function resolveRange(query: RangeQuery, context: QueryContext): EngineQuery {
  const field = context.field(query.field)
  if (field === undefined) return NOTHING
  const about = { field, name: query.field ?? field.indexField, boost: query.boost }
  return query.kind === 'numbers' || query.kind === 'dates'
    ? numberRange({ ...about, bounds: query.bounds })
    : textRange({ ...about, bounds: query.bounds })
}

/** If a boolean query only excludes, every other document matches. */
function* resolveBoolean(query: BooleanQuery, context: QueryContext): Sliced<EngineQuery> {
  const isOnlyNegative =
    query.must.length === 0 && query.should.length === 0 && query.filter.length === 0
  return {
    kind: 'boolean',
    must: isOnlyNegative ? [{ kind: 'all', boost: 1 }] : yield* resolveAll(query.must, context),
    should: yield* resolveAll(query.should, context),
    minShould: query.minShould,
    mustNot: yield* resolveAll(query.mustNot, context),
    filter: yield* resolveAll(query.filter, context),
    boost: query.boost,
  }
}

function* resolveAll(
  parts: readonly Query[],
  context: QueryContext,
): Sliced<readonly EngineQuery[]> {
  const resolved: EngineQuery[] = []
  for (const part of parts) {
    if (part.kind === 'boolean') resolved.push(yield* resolveBoolean(part, context))
    else resolved.push(resolveLeaf(part, context))
    if (context.takePause()) yield
  }
  return resolved
}

function isGeo(query: Query): query is GeoQuery {
  return GEO_KINDS.has(query.kind)
}

function isRange(query: Query): query is RangeQuery {
  return RANGE_KINDS.has(query.kind)
}

function isAboutTerms(query: Query): query is TermQuery {
  return TERM_KINDS.has(query.kind)
}

function keyOf(id: string): Uint8Array {
  return new TextEncoder().encode(id)
}
