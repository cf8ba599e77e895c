// The index fields of a table: what each is, and what was decided about fields that no schema
// describes.
//
// Invariants:
//   R1  An index field has one kind and one analyzer for ever: whoever comes second and differs is
//       refused.

import type { FieldType } from '../../../schema/field-types.ts'
import type { IndexedKind, Target } from './field-plan.ts'

export interface IndexedField {
  readonly kind: IndexedKind
  readonly indexField: string
  /** Of text only: the analyzer that its tokens came from. */
  readonly analyzer: string | undefined
  /** Whether it can be sorted by and aggregated. */
  readonly hasColumn: boolean
}

/** What a field is. `types` empty: not indexed. */
export interface FieldDecision {
  readonly types: readonly FieldType[]
  readonly analyzer: string | undefined
  readonly isInAll: boolean
  readonly keywordLengthMax: number
}

export class FieldRegistry {
  readonly #fields = new Map<string, IndexedField>()
  readonly #decisions = new Map<string, FieldDecision>()

  field(name: string): IndexedField | undefined {
    return this.#fields.get(name)
  }

  /** False if the index field is something else already (R1). */
  claim({ indexField, kind, analyzer, hasColumn }: Target): boolean {
    const known = this.#fields.get(indexField)
    if (known !== undefined) return known.kind === kind && known.analyzer === analyzer
    this.#fields.set(indexField, { kind, indexField, analyzer, hasColumn })
    return true
  }

  /** About a field that no schema spells out. */
  decisionOf(path: string): FieldDecision | undefined {
    return this.#decisions.get(path)
  }

  /** The first one holds. */
  decide(path: string, decision: FieldDecision): void {
    if (!this.#decisions.has(path)) this.#decisions.set(path, decision)
  }
}
