// Objects that are at a limit of one field of a StoreCluster, or beyond it, made from the schema.

import type { StructuralSchema } from '../../../operator/kinds/crd/structural-schema.ts'
import type { Json } from '../../support/operator/rule-cases.ts'

/** One spec that differs from the smallest one in one field. */
export interface LimitCase {
  /** As the API server writes it: `spec.nodes.env[0].name`. */
  readonly path: string
  readonly what: string
  readonly spec: Json
}

type Side = 'within' | 'beyond'
type Value = readonly [what: string, value: unknown]

/** A text of each form that a pattern asks for. */
const EXAMPLES: readonly string[] = [
  'a',
  '1Gi',
  'A',
  'a/b',
  '1.2.3',
  'http://a',
  'https://a',
  '192.0.2.0/24',
  '50%',
  'A0',
  '2026-01-01T00:00:00Z',
]

export function limitCases(schema: StructuralSchema, side: Side = 'beyond'): readonly LimitCase[] {
  const spec = schema.properties?.['spec']
  if (spec === undefined) throw new Error('a schema without a spec')
  return casesOf(spec, { path: 'spec', side, around: (value) => Object(value) })
}

interface Place {
  readonly path: string
  readonly side: Side
  /** The spec that has a value at this place. */
  readonly around: (value: unknown) => Json
}

function casesOf(schema: StructuralSchema, place: Place): readonly LimitCase[] {
  const { path, side, around } = place
  const values = side === 'within' ? valuesWithin(schema) : valuesBeyond(schema)
  const here = values.map(([what, value]) => ({ path, what, spec: around(value) }))
  const fields = Object.entries(schema.properties ?? {}).filter(
    ([, { description = '' }]) => !description.startsWith('Refused:'),
  )
  const below = fields.flatMap(([name, field]) =>
    casesOf(field, {
      path: `${path}.${name}`,
      side,
      around: (value) => around({ ...Object(sampleOf(schema)), [name]: value }),
    }),
  )
  const items =
    schema.items === undefined
      ? []
      : casesOf(schema.items, { path: `${path}[0]`, side, around: (value) => around([value]) })
  return [...(path === 'spec' ? [] : here), ...below, ...items]
}

/** The smallest value that the schema accepts. */
function sampleOf(schema: StructuralSchema): unknown {
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema['x-kubernetes-int-or-string'] === true) return 1
  switch (schema.type) {
    case 'string':
      return textOf(schema)
    case 'integer':
      return schema.minimum
    case 'boolean':
      return false
    case 'array':
      return itemsOf(schema, schema.minItems ?? 0)
    case undefined:
    default:
      return sampleObject(schema)
  }
}

function sampleObject({ properties = {}, required = [] }: StructuralSchema): Json {
  const needed = Object.entries(properties).filter(([name]) => required.includes(name))
  return Object.fromEntries(needed.map(([name, field]) => [name, sampleOf(field)]))
}

function itemsOf({ items }: StructuralSchema, count: number): readonly unknown[] {
  return Array.from({ length: count }, () => (items === undefined ? null : sampleOf(items)))
}

function textOf({ pattern, format, minLength = 0 }: StructuralSchema): string {
  if (format === 'date-time') return '2026-01-01T00:00:00Z'
  const fits = EXAMPLES.find(
    (text) => text.length >= minLength && (pattern === undefined || new RegExp(pattern).test(text)),
  )
  if (fits === undefined) throw new Error(`no example of ${pattern}`)
  return fits
}

function valuesBeyond(schema: StructuralSchema): readonly Value[] {
  const { type, enum: values } = schema
  if (values !== undefined) return [['an unknown word', type === 'integer' ? 2 : 'Wrong']]
  if (schema['x-kubernetes-int-or-string'] === true) return [['a list', []]]
  return [['another type', type === 'string' ? 1 : 'a'], ...valuesBeyondLimits(schema)]
}

function valuesBeyondLimits(schema: StructuralSchema): readonly Value[] {
  const { minimum, maximum, maxLength, pattern, maxItems, maxProperties } = schema
  return [
    ...(minimum === undefined ? [] : [['less than the least', minimum - 1] as const]),
    ...(maximum === undefined ? [] : [['more than the most', maximum + 1] as const]),
    ...(pattern === undefined ? [] : [['another form', '\u0000 ?'] as const]),
    ...(maxLength === undefined ? [] : [['a long text', 'a'.repeat(maxLength + 1)] as const]),
    ...(maxItems === undefined ? [] : [['many items', itemsOf(schema, maxItems + 1)] as const]),
    ...(maxProperties === undefined ? [] : [['many entries', entries(maxProperties + 1)] as const]),
  ]
}

function valuesWithin(schema: StructuralSchema): readonly Value[] {
  const { enum: values, minimum, maximum, maxItems, maxProperties, properties } = schema
  if (values !== undefined) return values.map((value) => [String(value), value])
  if (minimum !== undefined && maximum !== undefined) {
    return [
      ['the least', minimum],
      ['the most', maximum],
    ]
  }
  if (maxItems !== undefined) return [['one item', itemsOf(schema, 1)]]
  if (maxProperties !== undefined && properties === undefined) {
    return [['many entries', entries(maxProperties)]]
  }
  return [['the smallest', sampleOf(schema)]]
}

function entries(count: number): Json {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`key-${at}`, '1']))
}
