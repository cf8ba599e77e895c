// In which fields an exact match adds to the score of a typed text, and what it counts there. Weights that somebody
// chose are taken as they are. Where nobody chose any, the name of a field gives a weight, and its texts another one
// (matching/field-shape.ts).

import { SHAPE_MAX } from '../engine-query.ts'
import { isName, NAME_WEIGHT, weightByName } from './field-roles.ts'
import type { IndexedField } from './field-registry.ts'
import type { QueryContext } from './query-context.ts'

/** The limit of fields in which an exact match adds to the score. */
const FIELDS_MAX = 20
/** The weight of names, however long they are: the most that a plain field can have. */
const WHOLE_NAME_WEIGHT = NAME_WEIGHT * SHAPE_MAX

/**
 * - `chosen`: by `fields` of the query or by the schema.
 * - `name`: without a choice, a field of names.
 * - `plain`: any other.
 */
export type EvidenceRole = 'chosen' | 'name' | 'plain'

/** A field, and what an exact match in it counts. */
export interface EvidenceField {
  readonly field: IndexedField
  readonly role: EvidenceRole
  readonly boost: number
  /** What a whole value counts. */
  readonly wholeBoost: number
}

/** The fields with the highest weights among those that are searched without a name. */
export function fieldsOfEvidence({ mapping }: QueryContext): readonly EvidenceField[] {
  return mapping
    .namesInAll()
    .flatMap((path) => {
      const field = mapping.resolveField(path)
      if (field === undefined || field.kind === 'unindexed') return []
      return [mapping.hasBoosts ? chosenField(field, mapping.boostOf(path)) : ownField(field, path)]
    })
    .toSorted((a, b) => b.boost - a.boost)
    .slice(0, FIELDS_MAX)
}

export function chosenField(field: IndexedField, boost: number): EvidenceField {
  return { field, role: 'chosen', boost, wholeBoost: boost }
}

function ownField(field: IndexedField, path: string): EvidenceField {
  const boost = weightByName(path)
  return isName(path)
    ? { field, role: 'name', boost, wholeBoost: WHOLE_NAME_WEIGHT }
    : { field, role: 'plain', boost, wholeBoost: boost }
}
