// The index fields of a table and their kinds, and the decisions about fields that no schema
// describes.
//
// Invariants:
//   R1  An index field keeps its kind and its analyzer. A later claim that differs is refused.

import type { FieldType } from '../../../schema/field-types.ts'
import type { IndexedKind, Target } from './field-plan.ts'

/** One index field. */
export interface IndexedField {
  readonly kind: IndexedKind
  readonly indexField: string
  /** Set for text only: the analyzer of its tokens. */
  readonly analyzer: string | undefined
  /** Whether results can be sorted by the field, and aggregated. */
  readonly hasColumn: boolean
}

/** The decided properties of a field. It is not indexed if `types` is empty. */
export interface FieldDecision {
  readonly types: readonly FieldType[]
  readonly analyzer: string | undefined
  readonly isInAll: boolean
  readonly keywordLengthMax: number
}

/** Holds the index fields of one table. */
export class FieldRegistry {
  readonly #fields = new Map<string, IndexedField>()
  readonly #decisions = new Map<string, FieldDecision>()

  field(name: string): IndexedField | undefined {
    return this.#fields.get(name)
  }

  /** Answers false if the index field has another kind or analyzer (R1). */
  claim({ indexField, kind, analyzer, hasColumn }: Target): boolean {
    const known = this.#fields.get(indexField)
    if (known !== undefined) return known.kind === kind && known.analyzer === analyzer
    this.#fields.set(indexField, { kind, indexField, analyzer, hasColumn })
    return true
  }

  /** The decision about a field that no schema describes. */
  decisionOf(path: string): FieldDecision | undefined {
    return this.#decisions.get(path)
  }

  /** Records a decision. The first one counts. */
  decide(path: string, decision: FieldDecision): void {
    if (!this.#decisions.has(path)) this.#decisions.set(path, decision)
  }
}
