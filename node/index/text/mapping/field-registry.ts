// The index fields of a table: what each is, and what was decided about fields that no schema
// describes.
//
// Invariants:
//   R1  An index field has one kind and one analyzer for ever: whoever comes second and differs is
//       refused. So the order of documents may decide about a dynamic field, but never changes it.
//   R2  There are at most KNOWN_FIELDS_MAX decisions.

import { ServiceError } from '../../../../lib/errors.ts'
import { isJsonRecord } from '../../../../lib/json-record.ts'
import { FIELD_TYPES } from '../../../schema/field-types.ts'
import type { FieldType } from '../../../schema/field-types.ts'
import type { IndexedKind, Target } from './field-plan.ts'

export const KNOWN_FIELDS_MAX = 10_000

export interface IndexedField {
  readonly kind: IndexedKind
  readonly indexField: string
  /** Of text only: the analyzer that its tokens came from. */
  readonly analyzer: string | undefined
  /** Whether it can be sorted by and aggregated. */
  readonly hasColumn: boolean
}

/** What was decided for the first value of a dynamic field. `types` empty: not indexed. */
export interface DynamicDecision {
  readonly types: readonly FieldType[]
  readonly analyzer: string | undefined
  readonly isInAll: boolean
  readonly keywordLengthMax: number
}

/** The registry as JSON. Version 1; a reader refuses any other. */
export interface SavedFields {
  readonly version: 1
  readonly fields: Readonly<Record<string, DynamicDecision>>
}

export class FieldRegistry {
  readonly #fields = new Map<string, IndexedField>()
  readonly #decisions = new Map<string, DynamicDecision>()

  field(name: string): IndexedField | undefined {
    return this.#fields.get(name)
  }

  decisions(): ReadonlyMap<string, DynamicDecision> {
    return this.#decisions
  }

  /** False if the index field is something else already (R1). */
  claim({ indexField, kind, analyzer, hasColumn }: Target): boolean {
    const known = this.#fields.get(indexField)
    if (known !== undefined) return known.kind === kind && known.analyzer === analyzer
    this.#fields.set(indexField, { kind, indexField, analyzer, hasColumn })
    return true
  }

  /** False if there is no room for it (R2). */
  decide(path: string, decision: DynamicDecision): boolean {
    if (this.#decisions.size >= KNOWN_FIELDS_MAX) return false
    this.#decisions.set(path, decision)
    return true
  }

  /** Of the fields that documents brought; it only grows. */
  get decisionCount(): number {
    return this.#decisions.size
  }

  toJSON(): SavedFields {
    return { version: 1, fields: Object.fromEntries(this.#decisions) }
  }
}

export function parseSavedFields(value: unknown): ReadonlyMap<string, DynamicDecision> {
  if (!isJsonRecord(value) || value['version'] !== 1 || !isJsonRecord(value['fields'])) {
    return corrupt('.')
  }
  return new Map(
    Object.entries(value['fields']).map(([path, saved]) => [path, parseDecision(path, saved)]),
  )
}

function parseDecision(path: string, saved: unknown): DynamicDecision {
  if (!isJsonRecord(saved)) return corrupt(path)
  const { types, analyzer, isInAll, keywordLengthMax } = saved
  if (!Array.isArray(types) || typeof isInAll !== 'boolean') return corrupt(path)
  if (analyzer !== undefined && typeof analyzer !== 'string') return corrupt(path)
  if (typeof keywordLengthMax !== 'number') return corrupt(path)
  const known = types.map((type: unknown) => {
    return FIELD_TYPES.find((one) => one === type) ?? corrupt(path)
  })
  return { types: known, analyzer, isInAll, keywordLengthMax }
}

function corrupt(path: string): never {
  throw new ServiceError(
    'CORRUPTION',
    `saved index fields are damaged at "${path}"; rebuild the index`,
  )
}
