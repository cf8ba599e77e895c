// The rules of OpenAPI 3.1 that a slip of the pen breaks without a word: YAML takes an unquoted
// comma in `{ description: a, b }` for the end of the text and makes a member of the rest, and
// validators let unknown members pass.

import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'

type Shape =
  | 'document'
  | 'info'
  | 'server'
  | 'tag'
  | 'path'
  | 'operation'
  | 'components'
  | 'parameter'
  | 'header'
  | 'body'
  | 'response'
  | 'media'
  | 'example'
  | 'schema'

/** What a member holds: any value, one object of a shape, a list of them, or a map by free names. */
type Member = 'value' | { readonly one: Shape } | { readonly list: Shape } | { readonly map: Shape }

const OPERATION: Member = { one: 'operation' }
const SCHEMA: Member = { one: 'schema' }
const SCHEMA_LIST: Member = { list: 'schema' }
const SCHEMA_MAP: Member = { map: 'schema' }
const VALUED = { schema: SCHEMA, example: 'value', examples: { map: 'example' } } as const

/** By shape, the members it may have. */
const MEMBERS: Readonly<Record<Shape, Readonly<Record<string, Member>>>> = {
  document: {
    openapi: 'value',
    info: { one: 'info' },
    servers: { list: 'server' },
    tags: { list: 'tag' },
    security: 'value',
    paths: { map: 'path' },
    components: { one: 'components' },
  },
  info: values('title', 'version', 'description', 'license'),
  server: values('url', 'description'),
  tag: values('name', 'description'),
  // No `parameters`: Swagger UI does not resolve references among those of a path.
  path: { get: OPERATION, put: OPERATION, post: OPERATION, delete: OPERATION, patch: OPERATION },
  operation: {
    ...values('operationId', 'tags', 'summary', 'description', 'deprecated'),
    parameters: { list: 'parameter' },
    requestBody: { one: 'body' },
    responses: { map: 'response' },
  },
  components: {
    parameters: { map: 'parameter' },
    headers: { map: 'header' },
    responses: { map: 'response' },
    schemas: SCHEMA_MAP,
  },
  parameter: {
    ...values('name', 'in', 'required', 'description', 'deprecated', 'style', 'explode'),
    allowReserved: 'value',
    ...VALUED,
  },
  header: { ...values('description', 'required', 'deprecated'), ...VALUED },
  body: { ...values('description', 'required'), content: { map: 'media' } },
  response: {
    description: 'value',
    headers: { map: 'header' },
    content: { map: 'media' },
  },
  media: VALUED,
  example: values('summary', 'description', 'value'),
  schema: {
    ...values('type', 'enum', 'const', 'default', 'title', 'description', 'examples', 'format'),
    ...values('readOnly', 'writeOnly', 'deprecated', 'contentEncoding', 'contentMediaType'),
    ...values('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'),
    ...values('minLength', 'maxLength', 'pattern', 'minItems', 'maxItems', 'uniqueItems'),
    ...values('required', 'minProperties', 'maxProperties', 'dependentRequired'),
    allOf: SCHEMA_LIST,
    anyOf: SCHEMA_LIST,
    oneOf: SCHEMA_LIST,
    prefixItems: SCHEMA_LIST,
    not: SCHEMA,
    items: SCHEMA,
    contains: SCHEMA,
    properties: SCHEMA_MAP,
    patternProperties: SCHEMA_MAP,
    additionalProperties: SCHEMA,
    propertyNames: SCHEMA,
  },
}

const REFERENCE_MEMBERS = ['$ref', 'summary', 'description']

/** Every place of the contract that breaks a rule, with the rule. */
export function brokenRules(document: unknown): string[] {
  return [...inShape(document, 'document', '#')]
}

function* inShape(value: unknown, shape: Shape, place: string): Generator<string> {
  if (shape === 'schema' && typeof value === 'boolean') return
  if (!isJsonRecord(value)) {
    yield `${place}: must be an object (${shape})`
    return
  }
  if (value['$ref'] !== undefined) {
    for (const name of unknown(value, REFERENCE_MEMBERS)) {
      yield `${place}: a reference has no "${name}"`
    }
    return
  }
  const members = MEMBERS[shape]
  for (const name of unknown(value, Object.keys(members))) {
    yield `${place}: a ${shape} has no "${name}"`
  }
  yield* ofSchema(value, shape, place)
  for (const [name, member] of Object.entries(members)) {
    if (value[name] !== undefined) yield* inMember(value[name], member, `${place}/${name}`)
  }
}

function* ofSchema(value: JsonRecord, shape: Shape, place: string): Generator<string> {
  if (shape !== 'schema') return
  const isArray = [value['type']].flat().includes('array')
  if (isArray && value['items'] === undefined && value['prefixItems'] === undefined) {
    yield `${place}: an array says what its items are`
  }
}

function* inMember(value: unknown, member: Member, place: string): Generator<string> {
  if (member === 'value') return
  if ('one' in member) yield* inShape(value, member.one, place)
  else yield* inEach(value, member, place)
}

function* inEach(
  value: unknown,
  member: Exclude<Member, 'value' | { readonly one: Shape }>,
  place: string,
): Generator<string> {
  const isList = 'list' in member
  if (isList ? !Array.isArray(value) : !isJsonRecord(value)) {
    yield `${place}: must be ${isList ? 'a list' : 'an object'}`
    return
  }
  for (const [name, item] of Object.entries(Object(value))) {
    yield* inShape(item, isList ? member.list : member.map, `${place}/${name}`)
  }
}

function unknown(value: JsonRecord, known: readonly string[]): string[] {
  return Object.keys(value).filter((name) => !known.includes(name) && !name.startsWith('x-'))
}

function values(...names: readonly string[]): Record<string, 'value'> {
  return Object.fromEntries(names.map((name) => [name, 'value']))
}
