// The fields of a kind. Each call makes a schema that the API server understands (a structural OpenAPI schema with
// Kubernetes' extensions) and from which TypeBox derives the static type. Every text, list and map has a maximum,
// because the API server estimates what a rule costs from the largest object that could come.

import { Type } from 'typebox'
import type {
  Static,
  TArray,
  TEnum,
  TInteger,
  TObject,
  TProperties,
  TSchema,
  TUnsafe,
} from 'typebox'

/** A rule in the Common Expression Language, as the API server checks it. */
export interface Rule {
  readonly rule: string
  /** Begins with the field, says what to write instead, and differs from that of every other rule. */
  readonly message: string
}

/** The key under which the rules of a schema are kept, until the CRD is built from it. */
export const RULES = 'x-kubernetes-validations'

/** What the API server stored under a schema: defaults are filled in, and nobody may change it in place. */
export type Stored<Schema extends TSchema> = Frozen<Static<Schema>>

type Frozen<Value> = Value extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: Frozen<Value[Key]> }
    : Value

const QUANTITY_LENGTH_MAX = 32
/** As Kubernetes writes quantities: digits, and a suffix of powers of 2, of powers of 10, or an exponent. */
const QUANTITY = String.raw`^[+]?([0-9]+|[0-9]+\.[0-9]*|\.[0-9]+)(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]+))?$`
const LABEL_VALUE_MAX = 63
const ANNOTATION_VALUE_MAX = 8192
const MAP_ENTRIES_MAX = 64

/** Not every object has the field. */
export function optional<Schema extends TSchema>(schema: Schema) {
  return Type.Optional(schema)
}

/** What a text may be. */
export interface TextLimits {
  readonly max: number
  readonly min?: number
  readonly pattern?: string
  readonly format?: string
  readonly default?: string
}

export function text(description: string, limits: TextLimits) {
  const { max, min, ...rest } = limits
  const minLength = min === undefined ? {} : { minLength: min }
  return Type.String({ description, maxLength: max, ...minLength, ...rest })
}

/** The time of day and date with its zone, as RFC 3339 writes it. */
export function time(description: string) {
  return text(description, { max: 64, format: 'date-time' })
}

/** What a number may be. */
export interface IntegerLimits {
  readonly min: number
  readonly max: number
  readonly default?: number
}

export function integer(description: string, limits: IntegerLimits): TInteger {
  const { min, max, ...rest } = limits
  const format = max > 0x7fffffff ? 'int64' : 'int32'
  return Type.Integer({ description, format, minimum: min, maximum: max, ...rest })
}

export function flag(description: string, defaultValue?: boolean) {
  return Type.Boolean({ description, ...withDefault(defaultValue) })
}

export function choice<const Values extends string[]>(
  values: readonly [...Values],
  description: string,
  defaultValue?: Values[number],
): TEnum<Values> {
  return Type.Enum(values, { description, type: 'string', ...withDefault(defaultValue) })
}

/** A number of bytes as people write it: `10Gi`. A text, so that rules may compare it in known time. */
export function quantity(description: string, defaultValue?: string) {
  const limits = { max: QUANTITY_LENGTH_MAX, pattern: QUANTITY, ...withDefault(defaultValue) }
  return text(description, limits)
}

export function integerOrText(description: string, limits: TextLimits, defaultValue?: number) {
  return Type.Unsafe<number | string>({
    description,
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    maxLength: limits.max,
    'x-kubernetes-int-or-string': true,
    ...(limits.pattern === undefined ? {} : { pattern: limits.pattern }),
    ...withDefault(defaultValue),
  })
}

/** What an object has besides its fields. */
export interface ObjectOptions {
  readonly rules?: readonly Rule[]
  /** The object that is taken if none is written; the defaults of its fields come into it. */
  readonly default?: Readonly<Record<string, unknown>>
  /** Fields that no schema names are kept. */
  readonly open?: boolean
  /** The party that applies the object replaces it as a whole. */
  readonly atomic?: boolean
}

export function object<Fields extends TProperties>(
  description: string,
  fields: Fields,
  options: ObjectOptions = {},
): TObject<Fields> {
  return Type.Object(fields, {
    description,
    ...(options.rules === undefined ? {} : { [RULES]: options.rules }),
    ...(options.open === true ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
    ...(options.atomic === true ? { 'x-kubernetes-map-type': 'atomic' } : {}),
    ...withDefault(options.default),
  })
}

/** How many items a list has. */
export interface ListLimits {
  readonly max: number
  readonly min?: number
  readonly rules?: readonly Rule[]
}

/** A list that belongs as a whole to the party that wrote it last. */
export function list<Item extends TSchema>(
  description: string,
  item: Item,
  limits: ListLimits,
): TArray<Item> {
  return Type.Array(item, {
    description,
    maxItems: limits.max,
    ...(limits.min === undefined ? {} : { minItems: limits.min }),
    ...(limits.rules === undefined ? {} : { [RULES]: limits.rules }),
    'x-kubernetes-list-type': 'atomic',
  })
}

/** A list of different values: several parties may each add their own. */
export function set<Item extends TSchema>(description: string, item: Item, limits: ListLimits) {
  return Type.Array(item, {
    ...list(description, item, limits),
    'x-kubernetes-list-type': 'set',
  })
}

/** A list whose items differ in `keys`: several parties may each have items of their own. */
export function keyed<Item extends TSchema>(
  description: string,
  item: Item,
  limits: ListLimits & { readonly keys: readonly string[] },
) {
  return Type.Array(item, {
    ...list(description, item, limits),
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': limits.keys,
  })
}

/** Texts by names. */
export function map(
  description: string,
  limits: { readonly valueMax: number; readonly max?: number; readonly rules?: readonly Rule[] },
) {
  return Type.Unsafe<Record<string, string>>({
    type: 'object',
    description,
    additionalProperties: { type: 'string', maxLength: limits.valueMax },
    maxProperties: limits.max ?? MAP_ENTRIES_MAX,
    ...(limits.rules === undefined ? {} : { [RULES]: limits.rules }),
  })
}

export function labels(description: string, rules?: readonly Rule[]) {
  return map(description, { valueMax: LABEL_VALUE_MAX, ...(rules === undefined ? {} : { rules }) })
}

export function annotations(description: string, rules?: readonly Rule[]) {
  return map(description, {
    valueMax: ANNOTATION_VALUE_MAX,
    ...(rules === undefined ? {} : { rules }),
  })
}

/** Amounts by resource: `cpu`, `memory`. Whole numbers may stand without quotes, as people write them. */
export function amounts(description: string): TUnsafe<Record<string, number | string>> {
  return Type.Unsafe<Record<string, number | string>>({
    type: 'object',
    description,
    additionalProperties: {
      anyOf: [{ type: 'integer' }, { type: 'string' }],
      maxLength: QUANTITY_LENGTH_MAX,
      pattern: QUANTITY,
      'x-kubernetes-int-or-string': true,
    },
    maxProperties: 16,
  })
}

function withDefault<Value>(value: Value | undefined): { default?: Value } {
  return value === undefined ? {} : { default: value }
}
