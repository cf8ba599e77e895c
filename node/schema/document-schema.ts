// JSON Schema for documents, by ajv, with this product's own extension keywords checked as well.

import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { ServiceError, messageOf } from '../../lib/errors.ts'
import { refuse } from './schema-members.ts'
import { ANALYZER_NAMES } from './analyzer-names.ts'
import { FIELD_TYPES } from './field-types.ts'
import type { ErrorObject, KeywordDefinition, Options, SchemaObjCxt } from 'ajv'

/** What is wrong with a document, or undefined if it is valid. */
export type DocumentValidator = (document: unknown) => SchemaViolation | undefined

export interface SchemaViolation {
  /** A JSON pointer to the offending value; empty for the document itself. */
  readonly pointer: string
  readonly message: string
}

const EXTENSION_KEYWORDS: readonly KeywordDefinition[] = [
  choiceKeyword('x-service-types', FIELD_TYPES, { isList: true }),
  {
    keyword: 'x-service-include-in-all',
    metaSchema: { type: 'array', items: { type: 'string' } },
  },
  { keyword: 'x-service-index', metaSchema: { type: 'boolean' } },
  choiceKeyword('x-service-analyzer', ANALYZER_NAMES, { isList: false }),
]

// Not strict: other extension keywords are the client's business.
const OPTIONS: Options = { strict: false, allowUnionTypes: true, logger: false }

// Any other `$` keyword at the top would be an instruction to ajv, not a rule for documents.
const CORE_KEYWORDS: ReadonlySet<string> = new Set([
  '$schema',
  '$id',
  '$ref',
  '$defs',
  '$comment',
  '$anchor',
  '$dynamicRef',
  '$dynamicAnchor',
  '$vocabulary',
])
const DRAFT_07 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/

/** Refuses a schema that does not compile; references to other documents do not resolve. */
export function compileDocumentSchema(
  schema: Readonly<Record<string, unknown>>,
  where: string,
): DocumentValidator {
  const foreign = Object.keys(schema).find(
    (name) => name.startsWith('$') && !CORE_KEYWORDS.has(name),
  )
  if (foreign !== undefined) refuse(where, `unknown keyword "${foreign}"`)
  const dialect = schema['$schema']
  const isDraft07 = typeof dialect === 'string' && DRAFT_07.test(dialect)
  const ajv = isDraft07 ? new Ajv(OPTIONS) : new Ajv2020(OPTIONS)
  addFormats.default(ajv)
  for (const keyword of EXTENSION_KEYWORDS) ajv.addKeyword(keyword)
  try {
    const validate = ajv.compile(schema)
    return (document) => (validate(document) ? undefined : violationOf(validate.errors))
  } catch (cause) {
    throw new ServiceError('INVALID_ARGUMENT', `${where}: ${messageOf(cause)}`, { cause })
  }
}

/** A keyword of one of the names or of a list of them. Documents have nothing to do with it. */
function choiceKeyword(
  keyword: string,
  known: readonly string[],
  { isList }: { readonly isList: boolean },
): KeywordDefinition {
  const compile = (value: unknown, _: unknown, { errSchemaPath }: SchemaObjCxt) => {
    const place = `${errSchemaPath}/${keyword}`
    if (isList && !Array.isArray(value)) throw new Error(`${place}: must be an array`)
    const names: readonly unknown[] = isList && Array.isArray(value) ? value : [value]
    const unknown = names.find((name) => typeof name !== 'string' || !known.includes(name))
    if (unknown === undefined) return () => true
    throw new Error(`${place}: unknown ${JSON.stringify(unknown)}; known are ${known.join(', ')}`)
  }
  return { keyword, compile }
}

function violationOf(errors: readonly ErrorObject[] | null | undefined): SchemaViolation {
  const first = errors?.[0]
  return { pointer: first?.instancePath ?? '', message: first?.message ?? 'is not valid' }
}
