// A schema as the API server takes it, made from one that types come from.

import type { TSchema } from 'typebox'
import { RULES } from '../schema/fields.ts'
import type { Rule } from '../schema/fields.ts'

/** The keywords that schemas of this operator have. */
export interface StructuralSchema {
  readonly type?: string
  readonly description?: string
  readonly format?: string
  readonly default?: unknown
  readonly enum?: readonly (string | number)[]
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly anyOf?: readonly { readonly type: string }[]
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, StructuralSchema>>
  readonly items?: StructuralSchema
  readonly additionalProperties?: StructuralSchema
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'map' | 'set'
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-map-type'?: 'atomic' | 'granular'
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly [RULES]?: readonly Rule[]
}

/**
 * The schema as plain JSON: what TypeBox keeps beside its keywords is left out. A field with a default is not
 * required, for the API server fills it in before it looks at what is required.
 */
export function structuralSchema(schema: TSchema): StructuralSchema {
  const plain: StructuralSchema = JSON.parse(JSON.stringify(schema))
  return withoutFilledIn(plain)
}

/** The schema with every schema in it replaced, from the innermost. */
function mapSchema(
  schema: StructuralSchema,
  change: (schema: StructuralSchema) => StructuralSchema,
): StructuralSchema {
  const { properties, items, additionalProperties, ...rest } = schema
  return change({
    ...rest,
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, field]) => [name, mapSchema(field, change)]),
          ),
        }),
    ...(items === undefined ? {} : { items: mapSchema(items, change) }),
    ...(additionalProperties === undefined
      ? {}
      : { additionalProperties: mapSchema(additionalProperties, change) }),
  })
}

function withoutFilledIn(schema: StructuralSchema): StructuralSchema {
  return mapSchema(schema, ({ required = [], ...rest }) => {
    const needed = required.filter((name) => rest.properties?.[name]?.default === undefined)
    return needed.length === 0 ? rest : { ...rest, required: needed }
  })
}

/** A schema, and the path of its field from the root: `spec.nodes.env[].name`. */
export interface SchemaField {
  readonly path: string
  readonly schema: StructuralSchema
  /** Whether an object without the field is refused. */
  readonly isRequired: boolean
}

/** All fields below a schema, each before those below it. A list's items are `[]`, a map's values `{}`. */
export function schemaFields(schema: StructuralSchema, path = ''): readonly SchemaField[] {
  const { properties = {}, required = [], items, additionalProperties } = schema
  const below: readonly SchemaField[] = [
    ...Object.entries(properties).map(([name, field]) => ({
      path: path === '' ? name : `${path}.${name}`,
      schema: field,
      isRequired: required.includes(name),
    })),
    ...(items === undefined ? [] : [{ path: `${path}[]`, schema: items, isRequired: false }]),
    ...(additionalProperties === undefined
      ? []
      : [{ path: `${path}{}`, schema: additionalProperties, isRequired: false }]),
  ]
  return below.flatMap((field) => [field, ...schemaFields(field.schema, field.path)])
}

/** All rules of a schema and of what is in it. */
export function rulesOf(schema: StructuralSchema): readonly Rule[] {
  return [{ schema }, ...schemaFields(schema)].flatMap((field) => field.schema[RULES] ?? [])
}
