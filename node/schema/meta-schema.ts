// Whether the keywords of a schema have the shape that its draft gives them, by ajv.

import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { must } from '../../lib/assert.ts'
import { isJsonRecord, type JsonRecord } from '../../lib/json-record.ts'
import type { Sliced } from '../../lib/sliced.ts'
import { escaped } from './schema-references.ts'
import type { Options, ValidateFunction } from 'ajv'

export type Dialect = 'draft-07' | '2020-12'

// Not strict: other extension keywords are the client's business.
const OPTIONS: Options = { strict: false, allowUnionTypes: true, logger: false }

/** Compiled before any request comes, because that takes long. */
const META_SCHEMAS: Readonly<Record<Dialect, ValidateFunction>> = {
  'draft-07': compiled(new Ajv(OPTIONS), 'http://json-schema.org/draft-07/schema'),
  '2020-12': compiled(new Ajv2020(OPTIONS), 'https://json-schema.org/draft/2020-12/schema'),
}

/** Keywords whose members are schemas, of which there may be many: they are checked one by one. */
const SCHEMA_MAPS = ['properties', 'patternProperties', '$defs', 'definitions']

/** What is wrong with the schema, or undefined. */
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
