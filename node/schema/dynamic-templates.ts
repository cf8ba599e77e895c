// Dynamic templates decide how fields that no document schema describes are indexed. The first
// matching template applies.

import { ANALYZER_NAMES } from './analyzer-names.ts'
import { FIELD_TYPES } from './field-types.ts'
import { parseBoolean, parseChoice, parseRecord, parseText, refuse } from './schema-members.ts'
import type { AnalyzerName } from './analyzer-names.ts'
import type { FieldType } from './field-types.ts'

export const DYNAMIC_TEMPLATES_MAX = 1000
const GLOB_LENGTH_MAX = 1024
const GLOBS = ['match', 'unmatch', 'path_match', 'path_unmatch'] as const
const MAPPING_FLAGS = ['index', 'store', 'include_in_all', 'doc_values'] as const
const MATCH_MAPPING_TYPES = ['string', 'number', 'boolean', 'date', 'object'] as const

/**
 * One template. It matches a field if all its conditions hold; an absent condition always holds.
 */
export interface DynamicTemplate {
  readonly name?: string
  /** Globs on the last element of the path. */
  readonly match?: string
  readonly unmatch?: string
  /** Globs on the dotted path. `**` crosses levels. */
  readonly path_match?: string
  readonly path_unmatch?: string
  readonly match_mapping_type?: (typeof MATCH_MAPPING_TYPES)[number]
  readonly mapping?: DynamicMapping
}

/** How a template indexes the fields that it matches. An absent member keeps the default. */
export interface DynamicMapping {
  readonly type?: FieldType
  readonly analyzer?: AnalyzerName
  /** Default true. */
  readonly index?: boolean
  readonly store?: boolean
  readonly include_in_all?: boolean
  readonly doc_values?: boolean
}

export function parseDynamicTemplates(
  value: unknown,
  where: string,
): readonly DynamicTemplate[] | undefined {
  if (value === undefined) return undefined
  if (!Array.isArray(value)) return refuse(where, 'must be an array')
  if (value.length > DYNAMIC_TEMPLATES_MAX) {
    refuse(where, `may hold at most ${DYNAMIC_TEMPLATES_MAX} templates`)
  }
  return value.map((entry: unknown, index) => parseTemplate(entry, `${where}[${index}]`))
}

function parseTemplate(value: unknown, where: string): DynamicTemplate {
  const members = parseRecord(value, where, ['name', ...GLOBS, 'match_mapping_type', 'mapping'])
  const name = parseText(members['name'], `${where}.name`)
  const mapping = members['mapping']
  const kind = parseChoice(
    members['match_mapping_type'],
    `${where}.match_mapping_type`,
    MATCH_MAPPING_TYPES,
  )
  const globs = GLOBS.flatMap((glob) => {
    const text = parseText(members[glob], `${where}.${glob}`)
    if (text !== undefined && text.length > GLOB_LENGTH_MAX) {
      refuse(`${where}.${glob}`, `may have at most ${GLOB_LENGTH_MAX} characters`)
    }
    return text === undefined ? [] : [[glob, text] as const]
  })
  return {
    ...(name === undefined ? {} : { name }),
    ...Object.fromEntries(globs),
    ...(kind === undefined ? {} : { match_mapping_type: kind }),
    ...(mapping === undefined ? {} : { mapping: parseMapping(mapping, `${where}.mapping`) }),
  }
}

function parseMapping(value: unknown, where: string): DynamicMapping {
  const members = parseRecord(value, where, ['type', 'analyzer', ...MAPPING_FLAGS])
  const type = parseChoice(members['type'], `${where}.type`, FIELD_TYPES)
  const analyzer = parseChoice(members['analyzer'], `${where}.analyzer`, ANALYZER_NAMES)
  const flags = MAPPING_FLAGS.flatMap((flag) => {
    const isOn = parseBoolean(members[flag], `${where}.${flag}`)
    return isOn === undefined ? [] : [[flag, isOn] as const]
  })
  return {
    ...(type === undefined ? {} : { type }),
    ...(analyzer === undefined ? {} : { analyzer }),
    ...Object.fromEntries(flags),
  }
}
