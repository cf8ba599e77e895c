// Plans a field by its types: the index fields that hold its values.
//
// Text and HTML exclude each other. Both combine with keyword and search_as_you_type; every other
// type stands alone. An impossible combination is not indexed, and a query on the field gets the
// reason.

import { HTML_PREFIX } from '../analysis/analyzers.ts'
import { KEYWORD_SUFFIX, PREFIX_SUFFIX } from './field-names.ts'
import type { FieldType } from '../../../schema/field-types.ts'

export type IndexedKind = 'text' | 'keyword' | 'number' | 'date' | 'point' | 'shape' | 'boolean'

/** How the values of one document field become the values of one index field. */
export interface Target {
  readonly indexField: string
  readonly kind: IndexedKind
  /** Set for text only. */
  readonly analyzer: string | undefined
  readonly hasColumn: boolean
  /** Longer values are left out. */
  readonly lengthMax: number
}

export type FieldPlan =
  | {
      readonly kind: 'indexed'
      readonly targets: readonly Target[]
      /** The analyzer of its tokens in `_all`; undefined if `_all` has none of them. */
      readonly allAnalyzer: string | undefined
    }
  | { readonly kind: 'unindexed'; readonly reason: string }

/** The decided properties of a field. */
export interface FieldTraits {
  readonly types: readonly FieldType[]
  readonly analyzer: string | undefined
  readonly isInAll: boolean
  /** Limits the sub-fields that are inferred, because longer values are prose and not facets. */
  readonly keywordLengthMax: number
}

type Builder = (path: string, traits: FieldTraits) => readonly Target[]

const UNBOUNDED = Number.MAX_SAFE_INTEGER
const ALONE: Partial<Record<FieldType, Builder>> = {
  numeric: (path) => [columned(path, 'number')],
  boolean: (path) => [columned(path, 'boolean')],
  datetime: (path) => [columned(path, 'date')],
  geopoint: (path) => [columned(path, 'point')],
  geoshape: (path) => [columned(path, 'shape')],
  link: (path, { keywordLengthMax }) => [keyword(path, keywordLengthMax)],
}
const TEXT_LIKE: ReadonlySet<FieldType> = new Set(['text', 'html', 'keyword', 'search_as_you_type'])

export function planField(path: string, traits: FieldTraits): FieldPlan {
  const types = [...new Set(traits.types)]
  const [first] = types
  if (first === undefined) return unindexed('has no type')
  if (types.every((type) => TEXT_LIKE.has(type))) return planText(path, types, traits)
  if (types.length > 1) return unindexed(`cannot have the types ${types.join(', ')} at once`)
  const targets = ALONE[first]?.(path, traits)
  if (targets === undefined) return unindexed(`is of type ${first}, which is not searched by text`)
  const allAnalyzer = first === 'link' && traits.isInAll ? 'standard' : undefined
  return { kind: 'indexed', targets, allAnalyzer }
}

export function unindexed(reason: string): FieldPlan {
  return { kind: 'unindexed', reason }
}

function planText(path: string, types: readonly FieldType[], traits: FieldTraits): FieldPlan {
  const isHtml = types.includes('html')
  if (isHtml && types.includes('text')) return unindexed('cannot be both text and html')
  const allAnalyzer = isHtml ? 'html' : 'standard'
  const isKeywordOnly = types.length === 1 && types[0] === 'keyword'
  const targets = isKeywordOnly
    ? [keyword(path, traits.keywordLengthMax)]
    : [
        text(path, primaryAnalyzer(isHtml, traits.analyzer)),
        ...(types.includes('keyword')
          ? [keyword(path + KEYWORD_SUFFIX, traits.keywordLengthMax)]
          : []),
        ...(types.includes('search_as_you_type')
          ? [text(path + PREFIX_SUFFIX, 'search_as_you_type')]
          : []),
      ]
  return { kind: 'indexed', targets, allAnalyzer: traits.isInAll ? allAnalyzer : undefined }
}

/** The analyzer of a language reads the text of the HTML page. */
function primaryAnalyzer(isHtml: boolean, named: string | undefined): string {
  if (!isHtml) return named ?? 'standard'
  return named === undefined || named === 'html' ? 'html' : `${HTML_PREFIX}${named}`
}

function text(indexField: string, analyzer: string): Target {
  return { indexField, kind: 'text', analyzer, hasColumn: false, lengthMax: UNBOUNDED }
}

function keyword(indexField: string, lengthMax: number): Target {
  return { indexField, kind: 'keyword', analyzer: undefined, hasColumn: true, lengthMax }
}

function columned(indexField: string, kind: IndexedKind): Target {
  return { indexField, kind, analyzer: undefined, hasColumn: true, lengthMax: UNBOUNDED }
}
