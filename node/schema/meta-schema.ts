// Checks with ajv that the keywords of a schema have the form that its draft demands.

import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { must } from '../../lib/assert.ts'
import { isJsonRecord, type JsonRecord } from '../../lib/json-record.ts'
import type { Sliced } from '../../lib/sliced.ts'
import { escaped } from './schema-references.ts'
import type { Options, ValidateFunction } from 'ajv'

export type Dialect = 'draft-07' | '2020-12'

// Not strict, because clients may use extension keywords of others.
// Not optimized: a node checks few schemas, and optimizing takes longer than their checks would save.
const OPTIONS: Options = {
  strict: false,
  allowUnionTypes: true,
  logger: false,
  code: { optimize: false },
}

/** Compiled at the start, because compiling takes too long for a request. */
const META_SCHEMAS: Readonly<Record<Dialect, ValidateFunction>> = {
  'draft-07': compiled(new Ajv(OPTIONS), 'http://json-schema.org/draft-07/schema'),
  '2020-12': compiled(new Ajv2020(OPTIONS), 'https://json-schema.org/draft/2020-12/schema'),
}

/** Keywords whose members are schemas. They may have many members, so each is checked by itself. */
const SCHEMA_MAPS = ['properties', 'patternProperties', '$defs', 'definitions']

/** The first problem of the schema; undefined if it is valid. */
export function* metaProblem(
  schema: JsonRecord,
  dialect: Dialect,
  place = 'data',
): Sliced<string | undefined> {
  const shell: Record<string, unknown> = { ...schema }
  for (const keyword of SCHEMA_MAPS) {
    const members = schema[keyword]
    if (!isJsonRecord(members)) continue
    const rest: [string, unknown][] = []
    for (const [name, member] of Object.entries(members)) {
      if (!isJsonRecord(member)) {
        rest.push([name, member])
        continue
      }
      const problem = yield* metaProblem(member, dialect, `${place}/${keyword}/${escaped(name)}`)
      if (problem !== undefined) return problem
    }
    shell[keyword] = Object.fromEntries(rest)
  }
  yield
  return problemOf(META_SCHEMAS[dialect], shell, place)
}

function problemOf(
  validate: ValidateFunction,
  schema: JsonRecord,
  place: string,
): string | undefined {
  if (validate(schema)) return undefined
  const [first] = validate.errors ?? []
  return `${place}${first?.instancePath ?? ''} ${first?.message ?? 'is not valid'}`
}

function compiled(ajv: Ajv, id: string): ValidateFunction {
  return must(ajv.getSchema(id), `the meta-schema ${id}`)
}
