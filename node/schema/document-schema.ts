// Checks and compiles JSON Schemas for documents, with the product's own extension keywords.

import { isJsonRecord, type JsonRecord } from '../../lib/json-record.ts'
import type { Sliced } from '../../lib/sliced.ts'
import { refuse } from './schema-members.ts'
import { ANALYZER_NAMES } from './analyzer-names.ts'
import { FIELD_TYPES } from './field-types.ts'
import { metaProblem, type Dialect } from './meta-schema.ts'
import { compileSchema, type CompiledSchema } from './schema-compiler.ts'
import { checkChains } from './schema-cycles.ts'
import { escaped } from './schema-references.ts'
import { findViolation } from './schema-validator.ts'
import type { SchemaViolation } from './schema-violation.ts'

// Any other `$` keyword at the top is an instruction to a validator and not a rule for documents.
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
const DRAFT_2020 = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/

const DYNAMIC_SETTINGS: ReadonlySet<unknown> = new Set([true, false, 'strict'])

const BOOST_MAX = 1000

/**
 * A pattern caches what it has matched. With more patterns than this, the caches last for one
 * document only.
 */
const LASTING_PATTERNS_MAX = 16

/** Checks the documents of one type against their schema. */
export class DocumentValidator {
  readonly #schema: CompiledSchema

  constructor(schema: CompiledSchema) {
    this.#schema = schema
  }

  /** The first violation in a document (compact JSON); undefined if the document is valid. */
  *find(document: Buffer): Sliced<SchemaViolation | undefined> {
    const { root, patterns } = this.#schema
    const found = yield* findViolation(root, document)
    if (patterns.length > LASTING_PATTERNS_MAX) for (const { pattern } of patterns) pattern.forget()
    return found
  }
}

/**
 * Throws INVALID_ARGUMENT for a schema that cannot check documents. `where` is its place in the
 * request.
 */
export function* checkDocumentSchema(schema: JsonRecord, where: string): Sliced<void> {
  const foreign = Object.keys(schema).find(
    (name) => name.startsWith('$') && !CORE_KEYWORDS.has(name),
  )
  if (foreign !== undefined) refuse(where, `unknown keyword "${foreign}"`)
  const problem = yield* metaProblem(schema, dialectOf(schema, where))
  if (problem !== undefined) refuse(where, `schema is invalid: ${problem}`)
  checkExtensions(schema, '', where)
  yield
  yield* compileDocumentSchema(schema, where)
}

/** Compiles a schema that was checked when it was given. An older program may have checked it. */
export function* compileDocumentSchema(
  schema: JsonRecord,
  where: string,
): Sliced<DocumentValidator> {
  const compiled = yield* compileSchema(schema, { dialect: dialectOf(schema, where), where })
  checkChains(compiled.nodes, where)
  yield
  return new DocumentValidator(compiled)
}

function dialectOf(schema: JsonRecord, where: string): Dialect {
  const dialect = schema['$schema']
  if (dialect === undefined || (typeof dialect === 'string' && DRAFT_2020.test(dialect))) {
    return '2020-12'
  }
  if (typeof dialect === 'string' && DRAFT_07.test(dialect)) return 'draft-07'
  return refuse(where, `no schema with key or ref ${JSON.stringify(dialect)}`)
}

function checkExtensions(value: unknown, place: string, where: string): void {
  if (Array.isArray(value)) {
    for (const [index, inner] of value.entries()) {
      checkExtensions(inner, `${place}/${index}`, where)
    }
  }
  if (!isJsonRecord(value)) return
  for (const [name, inner] of Object.entries(value)) {
    const problem = extensionProblem(name, inner)
    if (problem !== undefined) refuse(where, problem.replace('#', `#${place}/${name}`))
    checkExtensions(inner, `${place}/${escaped(name)}`, where)
  }
}

/**
 * Checks the value of each extension keyword. The number sign in a message stands for the keyword's
 * place.
 */
const EXTENSIONS: Readonly<Record<string, (value: unknown) => string | undefined>> = {
  'x-service-types': (value) =>
    Array.isArray(value) ? choiceProblem(value, FIELD_TYPES) : '#: must be an array',
  'x-service-analyzer': (value) => choiceProblem([value], ANALYZER_NAMES),
  'x-service-include-in-all': (value) =>
    isListOfTexts(value) ? undefined : invalid('x-service-include-in-all', 'an array of strings'),
  'x-service-boost': (value) =>
    typeof value === 'number' && value > 0 && value <= BOOST_MAX
      ? undefined
      : invalid('x-service-boost', `a number above 0, at most ${BOOST_MAX}`),
  'x-service-dynamic': (value) =>
    DYNAMIC_SETTINGS.has(value)
      ? undefined
      : invalid('x-service-dynamic', 'true, false or "strict"'),
  'x-service-index': (value) =>
    typeof value === 'boolean' ? undefined : invalid('x-service-index', 'true or false'),
}

function extensionProblem(keyword: string, value: unknown): string | undefined {
  return Object.hasOwn(EXTENSIONS, keyword) ? EXTENSIONS[keyword]?.(value) : undefined
}

function isListOfTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === 'string')
}

function invalid(keyword: string, wanted: string): string {
  return `#: keyword "${keyword}" value is invalid: it must be ${wanted}`
}

function choiceProblem(names: readonly unknown[], known: readonly string[]): string | undefined {
  const unknown = names.find((name) => typeof name !== 'string' || !known.includes(name))
  if (unknown === undefined) return undefined
  return `#: unknown ${JSON.stringify(unknown)}; known are ${known.join(', ')}`
}
