// A checked query: what the JSON language and the query string both become. Nothing in it has been
// analysed yet; names of fields are as the client wrote them, and `undefined` means the default field.

import type { GeoPoint } from '../geo/geo-point.ts'
import type { Relation } from '../geo/shape-relation.ts'
import type { Shape } from '../geo/shape.ts'
import type { JsonNumber } from '../document/json-number.ts'
import type { AnalyzerName } from '../schema/analyzer-names.ts'

export type FieldName = string | undefined

interface Scored {
  /** Multiplies the score; 1 unless the client said otherwise. */
  readonly boost: number
}

export interface WeightedField {
  readonly name: string
  /** Multiplies what is found in the field. */
  readonly boost: number
}

/** `auto`: none below 3 characters, 1 up to 5, 2 beyond. */
export type Fuzziness = 0 | 1 | 2 | 'auto'

export interface QueryBounds<Value> {
  readonly min: Value | undefined
  readonly max: Value | undefined
  readonly inclusiveMin: boolean
  readonly inclusiveMax: boolean
}

export type Query = Scored &
  (
    | { readonly kind: 'all' }
    | { readonly kind: 'none' }
    /** One exact token, not analysed. */
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
        /** How many positions the terms may be moved in all. */
        readonly slop: number
        readonly fuzziness: Fuzziness
        readonly analyzer: AnalyzerName | undefined
      }
    /** Tokens as they are: alternatives for each position. */
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
    /** `*` any text, `?` one character, `\` escapes. */
    | { readonly kind: 'wildcard'; readonly field: FieldName; readonly pattern: string }
    | { readonly kind: 'regexp'; readonly field: FieldName; readonly pattern: string }
    | {
        readonly kind: 'numbers'
        readonly field: FieldName
        readonly bounds: QueryBounds<number>
        /** The bounds with all their digits, where one of them has more than a double carries. */
        readonly exact?: QueryBounds<JsonNumber>
      }
    | { readonly kind: 'terms'; readonly field: FieldName; readonly bounds: QueryBounds<string> }
    /** Milliseconds since 1970. */
    | { readonly kind: 'dates'; readonly field: FieldName; readonly bounds: QueryBounds<number> }
    /** `field:>x`, of which only the field's type tells whether x is a number, a date or a term. */
    | {
        readonly kind: 'untyped-range'
        readonly field: FieldName
        readonly bounds: QueryBounds<string>
      }
    | { readonly kind: 'bool'; readonly field: FieldName; readonly value: boolean }
    /** CIDR notation, checked. */
    | { readonly kind: 'ip'; readonly field: FieldName; readonly cidr: string }
    /** The field has a value. */
    | { readonly kind: 'exists'; readonly field: FieldName }
    | { readonly kind: 'ids'; readonly ids: readonly string[] }
    | {
        readonly kind: 'boolean'
        readonly must: readonly Query[]
        readonly should: readonly Query[]
        /** How many of `should` must hold. */
        readonly minShould: number
        readonly mustNot: readonly Query[]
        /** Holds without scoring. */
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
        /** How the document's shape stands to it. */
        readonly relation: Relation
      }
    /** What a person typed, taken as it is (simple-text.ts). Undefined fields: all text. */
    | {
        readonly kind: 'simple'
        readonly text: string
        readonly fields: readonly WeightedField[] | undefined
      }
    /** The last term is a prefix, the others are terms; over several fields, the best one scores. */
    | {
        readonly kind: 'multi-match'
        readonly fields: readonly string[]
        readonly text: string
        readonly fuzziness: Fuzziness
      }
  )
