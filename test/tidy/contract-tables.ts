// Tables of reference pages that say what the store's contract says.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { load } from 'js-yaml'
import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import { ROOT } from './imports.ts'
import { firstSentence } from './markdown.ts'

const CONTRACT = 'openapi/store.v1.yaml'
const SCHEMAS = ['components', 'schemas']
const contract = load(readFileSync(path.join(ROOT, CONTRACT), 'utf8'))

/** The tables of docs/reference/errors.md that the contract has. */
export const CODE_TABLES = {
  codes: (): string => /^\| Code \|[\s\S]*?(?=\n(?!\|)|$(?!\n))/m.exec(textAt(['info']))?.[0] ?? '',
}

/** The parts of docs/reference/query.md. */
export const QUERY_TABLES = {
  'the search box': (): string =>
    parameterList(['paths', '/api/v1/tables/{tableName}/query', 'get']),
  simple: (): string => textAt([...SCHEMAS, 'SimpleClause']),
  filters: (): string => textAt([...SCHEMAS, 'DocumentFilter']),
  members: (): string => memberList('QueryRequest'),
  merging: (): string => memberList('QueryRequest', ['merge_config']),
  pruner: (): string => memberList('QueryRequest', ['pruner']),
  reranker: (): string => memberList('QueryRequest', ['reranker']),
  aggregations: (): string => textAt([...SCHEMAS, 'Aggregation']),
  'aggregation members': (): string => memberList('Aggregation'),
  'schema members': (): string => memberList('TableSchema'),
  'document schemas': (): string => textAt([...SCHEMAS, 'DocumentSchema', 'properties', 'schema']),
}

/** The members of a schema, or of a member of it, with what each may be. Their texts are too long for the cells of a table. */
function memberList(schema: string, inside: readonly string[] = []): string {
  const way = inside.flatMap((name) => ['properties', name])
  const { properties } = recordAt([...SCHEMAS, schema, ...way])
  return Object.entries(recordOf(properties))
    .map(([name, member]) => memberLine(name, recordOf(member)))
    .join('\n')
}

function parameterList(way: readonly string[]): string {
  const { parameters } = recordAt(way)
  const named = (Array.isArray(parameters) ? parameters : []).map(recordOf)
  return named
    .filter(({ name }) => name !== undefined)
    .map(({ name, description, schema }) =>
      memberLine(wordOf(name), { ...recordOf(schema), description }),
    )
    .join('\n')
}

function memberLine(name: string, member: JsonRecord): string {
  const whole = { ...resolved(member), ...member }
  const initial = whole['default'] === undefined ? '' : `, default \`${wordOf(whole['default'])}\``
  // What a member is made of has a section of its own, or is in the contract.
  const meaning = oneLine(
    wordOf(member['description']) || firstSentence(wordOf(whole['description'])),
  )
  return `- \`${name}\` (${typeOf(whole)}${initial})${meaning === '' ? '' : `: ${meaning}`}`
}

function typeOf(schema: JsonRecord): string {
  const { type, enum: values, minimum, maximum, oneOf, anyOf, items } = schema
  if (Array.isArray(values) && values.length <= 8) {
    return values.map((value) => `\`${wordOf(value)}\``).join(', ')
  }
  const choices = oneOf ?? anyOf
  if (type === undefined && Array.isArray(choices)) {
    return [...new Set(choices.map((choice) => typeOf({ ...resolved(recordOf(choice)) })))].join(
      ' or ',
    )
  }
  if (type === 'array') return `list of ${typeOf(resolved(recordOf(items)))}`
  if (minimum !== undefined && maximum !== undefined) {
    return `${wordOf(type)}, ${wordOf(minimum)} to ${wordOf(maximum)}`
  }
  return typeof type === 'string' ? type : 'any'
}

/** What `$ref` or `allOf` leads to. */
function resolved(schema: JsonRecord): JsonRecord {
  const [only] = Array.isArray(schema['allOf']) ? schema['allOf'] : [schema]
  const reference = recordOf(only)['$ref']
  if (typeof reference !== 'string') return recordOf(only)
  return resolved(recordAt(reference.slice('#/'.length).split('/')))
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

function textAt(way: readonly string[]): string {
  return wordOf(recordAt(way)['description']).trim()
}

function recordAt(way: readonly string[]): JsonRecord {
  const found = way.reduce<unknown>(
    (at, name) => (isJsonRecord(at) ? at[name] : undefined),
    contract,
  )
  if (!isJsonRecord(found)) throw new Error(`${CONTRACT} has nothing at ${way.join('/')}`)
  return found
}

function recordOf(value: unknown): JsonRecord {
  return isJsonRecord(value) ? value : {}
}

/** A text, a number or a boolean as the page has it; nothing for what has no such value. */
function wordOf(value: unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}
