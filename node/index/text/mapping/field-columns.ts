// The columns of fields, for sorting and aggregations.

import { KEYWORD_SUFFIX } from './field-names.ts'
import { refusal, type QueryContext } from './query-context.ts'
import type { ColumnKind } from '../segment/column.ts'

/** The column of an index field. */
export interface IndexColumn {
  readonly indexField: string
  readonly kind: ColumnKind
  readonly isDate: boolean
}

/** How a column is to be used. */
export interface ColumnWish {
  /** Completes the message "x cannot be ...". */
  readonly purpose: 'aggregated' | 'sorted by'
  /** Completes the message for a column of another kind. */
  readonly needs: string
  readonly kinds?: readonly ColumnKind[] | undefined
}

/** Finds the columns of fields by the names that clients use. */
export class FieldColumns {
  readonly #context: QueryContext

  constructor(context: QueryContext) {
    this.#context = context
  }

  /**
   * Answers undefined, with a warning, if no document has the field. Throws INVALID_ARGUMENT if the
   * field cannot be used so.
   */
  of(name: string, { purpose, needs, kinds }: ColumnWish): IndexColumn | undefined {
    const field = this.#context.field(name)
    if (field === undefined) return undefined
    if (field.kind === 'text' || !field.hasColumn) {
      throw refusal(name, `is text and cannot be ${purpose}: ${this.#remedy(name)}`)
    }
    if (field.kind === 'shape') {
      throw refusal(name, `contains shapes and cannot be ${purpose}; add a field of type geopoint`)
    }
    const kind = columnKindOf(field.kind)
    if (kinds?.includes(kind) === false) throw refusal(name, `is of type ${field.kind}; ${needs}`)
    return { indexField: field.indexField, kind, isDate: field.kind === 'date' }
  }

  #remedy(name: string): string {
    const keyword = `${name}${KEYWORD_SUFFIX}`
    const found = this.#context.mapping.resolveField(keyword)
    return found?.kind === 'keyword' && found.indexField === keyword
      ? `name its keyword sub-field "${name}.keyword"`
      : `add "keyword" to its x-service-types and name the sub-field "${name}.keyword"`
  }
}

function columnKindOf(kind: 'keyword' | 'boolean' | 'number' | 'date' | 'point'): ColumnKind {
  if (kind === 'boolean') return 'keyword'
  return kind === 'date' ? 'number' : kind
}
