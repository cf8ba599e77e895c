import type { Sliced } from '../../../../lib/sliced.ts'
import type { Query } from '../../../query/query-tree.ts'
import type { EngineQuery } from '../engine-query.ts'
import type { SearchSnapshot } from '../engine/search-snapshot.ts'
import type { FieldMapping } from '../mapping/field-mapping.ts'
import { withExactNumbers } from '../mapping/exact-numbers.ts'
import type { ResolutionRules } from '../mapping/query-context.ts'
import { resolveQuery } from '../mapping/resolve-query.ts'
import type { MatchRequest } from '../matching/segment-search.ts'
import { expandPhrases, hasFuzzyPhrase } from './expand-phrases.ts'
import type { TextConditions } from './text-search.ts'

const EVERYTHING: EngineQuery = { kind: 'all', boost: 1 }

/**
 * Conditions over the fields of a table, as the engine runs them in one snapshot. Throws
 * INVALID_ARGUMENT for what the fields of the index cannot answer.
 */
export class ConditionResolver {
  /** The parts of the conditions that can match nothing, with the reason. */
  readonly warnings = new Set<string>()
  readonly #index: SearchSnapshot
  readonly #mapping: FieldMapping
  readonly #rules: ResolutionRules | undefined
  #hasExpanded = false

  constructor(index: SearchSnapshot, mapping: FieldMapping, rules?: ResolutionRules) {
    this.#index = index
    this.#mapping = mapping
    this.#rules = rules
  }

  /** Whether the terms of the snapshot have become a part of the conditions. */
  get hasExpanded(): boolean {
    return this.#hasExpanded
  }

  /** A document that has expired by `nowMs` does not match. */
  *match(conditions: TextConditions, nowMs: number): Sliced<MatchRequest> {
    const { query } = conditions
    const filter = hasFilter(conditions) ? yield* this.#filterOf(conditions) : undefined
    const body = yield* this.resolve(query)
    return { nowMs, query: body, ...(filter === undefined ? {} : { filter }) }
  }

  /** The engine's query; without a query it matches every document. */
  *resolve(query: Query | undefined): Sliced<EngineQuery> {
    if (query === undefined) return EVERYTHING
    const resolved = yield* resolveQuery(query, this.#mapping, this.#rules)
    for (const warning of resolved.warnings) this.warnings.add(warning)
    const found = withExactNumbers(resolved.query, (name) => this.#index.hasField(name))
    if (!hasFuzzyPhrase(found)) return found
    this.#hasExpanded = true
    return yield* expandPhrases(found, this.#index)
  }

  *#filterOf({ filter, exclusion, keyPrefix }: TextConditions): Sliced<EngineQuery> {
    const filters = filter === undefined ? [] : [yield* this.resolve(filter)]
    if (keyPrefix !== undefined) filters.push({ kind: 'key-prefix', prefix: keyPrefix, boost: 1 })
    const mustNot = exclusion === undefined ? [] : [yield* this.resolve(exclusion)]
    const must = filters.length === 0 ? [EVERYTHING] : filters
    return { kind: 'boolean', must, should: [], minShould: 0, mustNot, filter: [], boost: 1 }
  }
}

function hasFilter({ filter, exclusion, keyPrefix }: TextConditions): boolean {
  return filter !== undefined || exclusion !== undefined || keyPrefix !== undefined
}
