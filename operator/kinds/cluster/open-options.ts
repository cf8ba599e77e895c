// Options of a server, as its configuration file has them. The server knows them and says what is wrong with one; here
// is known only which of them belong to the operator.

import { Type } from 'typebox'
import { integerOrText, optional, RULES } from '../schema/fields.ts'
import { ownedOptionRules } from './owned-names.ts'

const OPTIONS_MAX = 128

/** What the options are, and which of them are refused and why. */
export interface OpenOptions {
  readonly description: string
  readonly owned: Readonly<Record<string, string>>
}

/**
 * The options that are refused are fields, because rules see only fields that a schema names. All others are kept
 * as they are.
 */
export function openOptions(field: string, { description, owned }: OpenOptions) {
  const refused = Object.entries(owned).map(([option, instead]) => [
    option,
    optional(integerOrText(`Refused: it ${instead}.`, { max: 1024 })),
  ])
  return Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    description,
    properties: Object.fromEntries(refused),
    maxProperties: OPTIONS_MAX,
    'x-kubernetes-preserve-unknown-fields': true,
    [RULES]: ownedOptionRules(field, owned),
  })
}
