// Fields as those who sort and aggregate need them: by their columns.

import { KEYWORD_SUFFIX } from './field-names.ts'
import { refusal, type QueryContext } from './query-context.ts'
import type { ColumnKind } from '../segment/column.ts'

export interface IndexColumn {
  readonly indexField: string
  readonly kind: ColumnKind
  readonly isDate: boolean
}

export interface ColumnWish {
  /** Completes "x cannot be ...". */
  readonly purpose: 'aggregated' | 'sorted by'
  /** Completes the refusal of a column of another kind. */
  readonly needs: string
  readonly kinds?: readonly ColumnKind[] | undefined
}

export class FieldColumns {
  readonly #context: QueryContext

  constructor(context: QueryContext) {
    this.#context = context
  }

  /** Undefined, with a warning, if no document has the field; INVALID_ARGUMENT if it cannot serve. */
  of(name: string, { purpose, needs, kinds }: ColumnWish): IndexColumn | undefined {
    const field = this.#context.field(name)
    if (field === undefined) return undefined
    if (field.kind === 'text' || !field.hasColumn) {
      throw refusal(name, `is text and cannot be ${purpose}: ${this.#remedy(name)}`)
    }
    if (field.kind === 'shape') {
      throw refusal(name, `holds shapes and cannot be ${purpose}: add a field of type geopoint`)
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
