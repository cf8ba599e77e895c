// Resolves a checked query into one that the engine can run. Fields become index fields, text
// becomes tokens, and a pattern becomes a matcher of terms.
//
// A field that no document has is not an error, because another shard may have it. Its part of the
// query matches nothing, with a warning. A field that exists but cannot answer is refused.

import type { Sliced } from '../../../../lib/sliced.ts'
import { NOTHING, QueryContext, UnfitFieldError, type ResolutionRules } from './query-context.ts'
import { resolveAnyOf } from './resolve-any-of.ts'
import { resolveGeo } from './resolve-geo.ts'
import { doubleRange, numberRange, textRange } from './resolve-range.ts'
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

/** A query that the engine can run. */
export interface ResolvedQuery {
  readonly query: EngineQuery
  /** For the client: the parts of the query that can match nothing, with the reason. */
  readonly warnings: readonly string[]
}

/** Throws INVALID_ARGUMENT for a query that its field cannot answer. */
export function* resolveQuery(
  query: Query,
  mapping: FieldMapping,
  rules?: ResolutionRules,
): Sliced<ResolvedQuery> {
  const context = new QueryContext(mapping, rules)
  const resolved =
    query.kind === 'boolean' ? yield* resolveBoolean(query, context) : resolveLeaf(query, context)
  if (context.takePause()) yield
  return { query: resolved, warnings: context.warnings }
}

type BooleanQuery = QueryOf<'boolean'>
type LeafKind = Exclude<Query['kind'], 'boolean'>
type RangeQuery = QueryOf<'numbers' | 'dates' | 'terms' | 'untyped-range'>

/** A mapped type, by which the compiler sees that a resolver and its query are of the same kind. */
type LeafOf<Kind extends LeafKind> = {
  readonly [Each in Kind]: QueryOf<Each> & { readonly kind: Each }
}[Kind]
type Resolvers = {
  readonly [Kind in LeafKind]: (query: LeafOf<Kind>, context: QueryContext) => EngineQuery
}

const RESOLVERS: Resolvers = {
  all: ({ boost }) => ({ kind: 'all', boost }),
  none: () => NOTHING,
  ids: ({ ids, boost }) => ({ kind: 'keys', keys: ids.map(keyOf), boost }),
  match: resolveMatch,
  phrase: resolvePhrase,
  'phrase-terms': resolvePhraseTerms,
  simple: resolveSimple,
  'multi-match': resolveMultiMatch,
  exists: resolveExists,
  term: resolveTerm,
  fuzzy: resolveFuzzy,
  prefix: resolvePrefix,
  wildcard: resolveWildcard,
  regexp: resolveRegexp,
  'any-of': resolveAnyOf,
  bool: resolveBool,
  ip: resolveNetwork,
  numbers: resolveRange,
  dates: resolveRange,
  terms: resolveRange,
  'untyped-range': resolveRange,
  'geo-box': resolveGeo,
  'geo-distance': resolveGeo,
  'geo-polygon': resolveGeo,
  'geo-shape': resolveGeo,
}

function resolveLeaf<Kind extends LeafKind>(
  query: LeafOf<Kind>,
  context: QueryContext,
): EngineQuery {
  if (context.rules.unfit !== 'unmatched') return RESOLVERS[query.kind](query, context)
  try {
    return RESOLVERS[query.kind](query, context)
  } catch (error) {
    // A range of texts on a text has no document that it could mean.
    if (error instanceof UnfitFieldError && query.kind !== 'terms') return NOTHING
    throw error
  }
}

function resolveRange(query: RangeQuery, context: QueryContext): EngineQuery {
  const field = context.field(query.field)
  if (field === undefined) return NOTHING
  const about = { field, name: query.field ?? field.indexField, boost: query.boost }
  if (query.kind === 'numbers' && query.exact !== undefined) {
    return numberRange({ ...about, bounds: query.exact })
  }
  return query.kind === 'numbers' || query.kind === 'dates'
    ? doubleRange({ ...about, bounds: query.bounds })
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

function keyOf(id: string): Uint8Array {
  return new TextEncoder().encode(id)
}
