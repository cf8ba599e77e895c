// The tree of a checked query. The JSON language and the query string both become this tree. Texts
// are not analysed yet, and field names are as the client wrote them.

import type { GeoPoint } from '../geo/geo-point.ts'
import type { Relation } from '../geo/shape-relation.ts'
import type { Shape } from '../geo/shape.ts'
import type { AnalyzerName } from '../schema/analyzer-names.ts'

/** The name of a field; undefined means the default field. */
export type FieldName = string | undefined

interface Scored {
  /** Multiplies the score. The default is 1. */
  readonly boost: number
}

/** A field of a search over several fields. */
export interface WeightedField {
  readonly name: string
  /** Multiplies the score of matches in this field. */
  readonly boost: number
}

/** The number of allowed edits. `auto` allows none below 3 characters, 1 up to 5, and 2 beyond. */
export type Fuzziness = 0 | 1 | 2 | 'auto'

/** The bounds of a range. An undefined bound is open. */
export interface QueryBounds<Value> {
  readonly min: Value | undefined
  readonly max: Value | undefined
  readonly inclusiveMin: boolean
  readonly inclusiveMax: boolean
}

/** A checked query of one of the kinds below. */
export type Query = Scored &
  (
    | { readonly kind: 'all' }
    | { readonly kind: 'none' }
    /** One exact token, without analysis. */
    | { readonly kind: 'term'; readonly field: FieldName; readonly term: string }
    | {
        readonly kind: 'match'
        readonly field: FieldName
        readonly text: string
        readonly operator: 'or' | 'and'
        readonly fuzziness: Fuzziness
        readonly prefixLength: number
        readonly analyzer: AnalyzerName | undefined
      }
    | {
        readonly kind: 'phrase'
        readonly field: FieldName
        readonly text: string
        /** How many positions the terms may move, all together. */
        readonly slop: number
        readonly fuzziness: Fuzziness
        readonly analyzer: AnalyzerName | undefined
      }
    /** Exact tokens: alternatives for each position. */
    | {
        readonly kind: 'phrase-terms'
        readonly field: FieldName
        readonly positions: readonly (readonly string[])[]
        readonly slop: number
      }
    | {
        readonly kind: 'fuzzy'
        readonly field: FieldName
        readonly term: string
        readonly fuzziness: Fuzziness
        readonly prefixLength: number
      }
    | { readonly kind: 'prefix'; readonly field: FieldName; readonly prefix: string }
    /** `*` matches any text, `?` one character; `\` escapes. */
    | { readonly kind: 'wildcard'; readonly field: FieldName; readonly pattern: string }
    | { readonly kind: 'regexp'; readonly field: FieldName; readonly pattern: string }
    | {
        readonly kind: 'numbers'
        readonly field: FieldName
        readonly bounds: QueryBounds<number>
        /** The bounds with all their digits, as decimals. Set if a double cannot carry one of them. */
        readonly exact?: QueryBounds<string>
      }
    | { readonly kind: 'terms'; readonly field: FieldName; readonly bounds: QueryBounds<string> }
    /** In milliseconds since 1970. */
    | { readonly kind: 'dates'; readonly field: FieldName; readonly bounds: QueryBounds<number> }
    /**
     * A comparison such as `field:>x`. Only the field's type tells whether x is a number, a date or
     * a term.
     */
    | {
        readonly kind: 'untyped-range'
        readonly field: FieldName
        readonly bounds: QueryBounds<string>
      }
    | { readonly kind: 'bool'; readonly field: FieldName; readonly value: boolean }
    /** CIDR notation that the parser has checked. */
    | { readonly kind: 'ip'; readonly field: FieldName; readonly cidr: string }
    /** Matches if a value of the field is one of these, each as exact as a term. All matches score the boost. */
    | { readonly kind: 'any-of'; readonly field: FieldName; readonly values: readonly string[] }
    /** Matches if the field has a value. */
    | { readonly kind: 'exists'; readonly field: FieldName }
    | { readonly kind: 'ids'; readonly ids: readonly string[] }
    | {
        readonly kind: 'boolean'
        readonly must: readonly Query[]
        readonly should: readonly Query[]
        /** How many queries of `should` must match. */
        readonly minShould: number
        readonly mustNot: readonly Query[]
        /** Must match, without scoring. */
        readonly filter: readonly Query[]
      }
    | {
        readonly kind: 'geo-box'
        readonly field: FieldName
        readonly topLeft: GeoPoint
        readonly bottomRight: GeoPoint
      }
    | {
        readonly kind: 'geo-distance'
        readonly field: FieldName
        readonly centre: GeoPoint
        readonly metres: number
      }
    | {
        readonly kind: 'geo-polygon'
        readonly field: FieldName
        readonly points: readonly GeoPoint[]
      }
    | {
        readonly kind: 'geo-shape'
        readonly field: FieldName
        readonly shape: Shape
        /** The relation of the document's shape to the shape of the query. */
        readonly relation: Relation
      }
    /** Text that a person typed (simple-text.ts). Undefined fields mean all text fields. */
    | {
        readonly kind: 'simple'
        readonly text: string
        readonly fields: readonly WeightedField[] | undefined
      }
    /** Terms, of which the last is a prefix. Over several fields, the best field scores. */
    | {
        readonly kind: 'multi-match'
        readonly fields: readonly string[]
        readonly text: string
        readonly fuzziness: Fuzziness
      }
  )

/** The queries of one kind. */
export type QueryOf<Kind extends Query['kind']> = Extract<Query, { readonly kind: Kind }>
