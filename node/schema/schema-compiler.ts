// Compiles the JSON of a schema into nodes that the validator walks over.
//
// The meta-schema has already checked the form of the keywords.

import { compileLinearPattern } from '../../lib/linear-pattern/linear-pattern.ts'
import { isJsonRecord, type JsonRecord } from '../../lib/json-record.ts'
import { ServiceError, messageOf } from '../../lib/errors.ts'
import { runAtOnce, StepMeter, type Sliced } from '../../lib/sliced.ts'
import { digestOf } from '../document/canonical-digest.ts'
import { refuse } from './schema-members.ts'
import type { Dialect } from './meta-schema.ts'
import { escaped, SchemaReferences } from './schema-references.ts'
import { DYNAMIC_KEYWORD, isStrictAt, RESERVED_MEMBERS } from './strict-objects.ts'
import { formatOf } from './string-formats.ts'
import type {
  ArrayRules,
  Combination,
  InstanceType,
  Limits,
  NumberRules,
  ObjectRules,
  PatternRule,
  SchemaNode,
  SchemaRules,
  StringRules,
} from './schema-node.ts'

const INSTANCE_TYPES: readonly InstanceType[] = [
  'array',
  'boolean',
  'integer',
  'null',
  'number',
  'object',
  'string',
]
const NODES_PER_STEP = 50
const PATTERN_LENGTH_MAX = 1000
const PATTERNS_MAX = 1000
/** The limit of all patterns of a schema together, in instructions. */
const PATTERN_SIZES_MAX = 200_000

/** How to read a schema. */
export interface CompileOptions {
  readonly dialect: Dialect
  /** The place of the schema in the request, for messages. */
  readonly where: string
}

/** A schema that the validator can apply. `root` is among `nodes`. */
export interface CompiledSchema {
  readonly root: SchemaNode
  readonly nodes: readonly SchemaNode[]
  readonly patterns: readonly PatternRule[]
}

export function* compileSchema(
  schema: JsonRecord,
  options: CompileOptions,
): Sliced<CompiledSchema> {
  return yield* new SchemaCompiler(schema, options).compile()
}

class SchemaCompiler {
  readonly #references: SchemaReferences
  readonly #options: CompileOptions
  readonly #nodes = new Map<string, SchemaNode>()
  readonly #pending: { readonly node: SchemaNode; readonly schema: JsonRecord }[] = []
  readonly #patterns = new Map<string, PatternRule>()
  #patternSizes = 0

  constructor(schema: JsonRecord, options: CompileOptions) {
    this.#references = new SchemaReferences(schema)
    this.#options = options
  }

  *compile(): Sliced<CompiledSchema> {
    const meter = new StepMeter(NODES_PER_STEP)
    const root = this.#nodeAt('', this.#references.valueAt(''))
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      next.node.rules = this.#rulesOf(next.schema, next.node.place)
      if (meter.spend(1)) yield
    }
    return { root, nodes: [...this.#nodes.values()], patterns: [...this.#patterns.values()] }
  }

  #nodeAt(pointer: string, schema: unknown): SchemaNode {
    const known = this.#nodes.get(pointer)
    if (known !== undefined) return known
    const node: SchemaNode = { place: pointer, isFalse: schema === false, rules: undefined }
    this.#nodes.set(pointer, node)
    if (isJsonRecord(schema)) this.#pending.push({ node, schema })
    else if (typeof schema !== 'boolean') this.#refuse(pointer, 'must be a schema')
    return node
  }

  #rulesOf(schema: JsonRecord, place: string): SchemaRules {
    return {
      types: typesOf(schema),
      choices: choicesOf(schema),
      number: numberRulesOf(schema),
      string: this.#stringRules(schema, place),
      combination: this.#combination(schema, place),
      array: this.#arrayRules(schema, place),
      object: this.#objectRules(schema, place),
    }
  }

  #stringRules(schema: JsonRecord, place: string): StringRules | undefined {
    const { pattern, format } = schema
    const known = typeof format === 'string' ? formatOf(format) : undefined
    const length = limitsOf(schema, 'minLength', 'maxLength')
    if (pattern === undefined && known === undefined && isEmpty(length)) return undefined
    return {
      length,
      pattern: typeof pattern === 'string' ? this.#pattern(pattern, `${place}/pattern`) : undefined,
      format: known === undefined ? undefined : { name: String(format), test: known },
    }
  }

  #pattern(source: string, place: string): PatternRule {
    const known = this.#patterns.get(source)
    if (known !== undefined) return known
    const rule = { source, pattern: this.#compilePattern(source, place) }
    this.#patterns.set(source, rule)
    this.#patternSizes += rule.pattern.size
    if (this.#patterns.size > PATTERNS_MAX || this.#patternSizes > PATTERN_SIZES_MAX) {
      this.#refuse(
        place,
        'the schema has too many or too large patterns; use fewer or shorter ones',
      )
    }
    return rule
  }

  #compilePattern(source: string, place: string): PatternRule['pattern'] {
    try {
      return compileLinearPattern(source, {
        match: 'anywhere',
        dialect: 'ecma-262',
        lengthMax: PATTERN_LENGTH_MAX,
      })
    } catch (cause) {
      if (!(cause instanceof ServiceError)) throw cause
      return this.#refuse(place, messageOf(cause))
    }
  }

  #combination(schema: JsonRecord, place: string): Combination | undefined {
    const { not, if: test } = schema
    const references = ['$ref', '$dynamicRef'].flatMap((keyword) => {
      const reference = schema[keyword]
      return typeof reference === 'string' ? [this.#referred(reference, place)] : []
    })
    const [allOf = [], anyOf, oneOf] = ['allOf', 'anyOf', 'oneOf'].map((keyword) =>
      this.#list(schema, place, keyword),
    )
    const isUsed = [not, test, anyOf, oneOf].some((keyword) => keyword !== undefined)
    if (!isUsed && references.length + allOf.length === 0) return undefined
    const condition =
      test === undefined
        ? undefined
        : {
            test: this.#nodeAt(`${place}/if`, test),
            whenTrue: this.#optional(schema, place, 'then'),
            whenFalse: this.#optional(schema, place, 'else'),
          }
    return {
      all: [...references, ...allOf],
      anyOf,
      oneOf,
      not: this.#optional(schema, place, 'not'),
      condition,
    }
  }

  #referred(reference: string, place: string): SchemaNode {
    if (this.#references.isAmbiguous(reference)) {
      this.#refuse(
        place,
        `"${reference}" is ambiguous, which is not supported; use a "$ref" with one target`,
      )
    }
    const pointer = this.#references.resolve(reference, place)
    if (pointer === undefined) {
      const { where } = this.#options
      return refuse(where, `can't resolve reference ${reference} at #${place}`)
    }
    return this.#nodeAt(pointer, this.#references.valueAt(pointer))
  }

  #arrayRules(schema: JsonRecord, place: string): ArrayRules | undefined {
    const isOld = this.#options.dialect === 'draft-07'
    const hasList = isOld && Array.isArray(schema['items'])
    const prefixKeyword = isOld ? 'items' : 'prefixItems'
    const rest = hasList ? 'additionalItems' : 'items'
    const rules: ArrayRules = {
      size: limitsOf(schema, 'minItems', 'maxItems'),
      unique: schema['uniqueItems'] === true,
      prefix: this.#list(schema, place, prefixKeyword) ?? [],
      rest: this.#optional(schema, place, rest),
      contains: this.#contains(schema, place),
      unevaluated: isOld ? undefined : this.#optional(schema, place, 'unevaluatedItems'),
    }
    const isUsed =
      rules.unique ||
      rules.prefix.length > 0 ||
      [rules.rest, rules.contains, rules.unevaluated].some((rule) => rule !== undefined)
    return isUsed || !isEmpty(rules.size) ? rules : undefined
  }

  #contains(schema: JsonRecord, place: string): ArrayRules['contains'] {
    const node = this.#optional(schema, place, 'contains')
    if (node === undefined) return undefined
    if (this.#options.dialect === 'draft-07') return { node, min: 1, max: undefined }
    const { min = 1, max } = limitsOf(schema, 'minContains', 'maxContains')
    return { node, min, max }
  }

  #objectRules(schema: JsonRecord, place: string): ObjectRules | undefined {
    const isOld = this.#options.dialect === 'draft-07'
    const dependencies = Object.entries(recordOf(schema['dependencies']))
    const dependentRequired = [
      ...dependencies.filter(isList),
      ...(isOld ? [] : Object.entries(recordOf(schema['dependentRequired']))),
    ].map(([name, names]) => [name, textsOf(names)] as const)
    const dependentSchemas = [
      ...(isOld ? [] : this.#map(schema, place, 'dependentSchemas')),
      ...dependencies
        .filter((entry) => !isList(entry))
        .map(([name, one]) => {
          const node = this.#nodeAt(`${place}/dependencies/${escaped(name)}`, one)
          return [name, node] as const
        }),
    ]
    const required = textsOf(schema['required'])
    const names = dependentRequired.flatMap(([name, needed]) => [name, ...needed])
    const rules: ObjectRules = {
      size: limitsOf(schema, 'minProperties', 'maxProperties'),
      required,
      asked: new Set([...required, ...names]),
      members: new Map([
        ...this.#reservedMembers(schema, place),
        ...this.#map(schema, place, 'properties'),
      ]),
      patterns: this.#map(schema, place, 'patternProperties').map(([source, node]) => ({
        ...this.#pattern(source, `${place}/patternProperties`),
        node,
      })),
      additional: this.#optional(schema, place, 'additionalProperties'),
      names: this.#optional(schema, place, 'propertyNames'),
      dependentRequired,
      dependentSchemas: grouped(dependentSchemas),
      unevaluated: this.#unevaluatedProperties(schema, place),
    }
    return isObjectRuleUsed(rules) ? rules : undefined
  }

  /** Members that a strict document may have although its schema does not mention them. */
  #reservedMembers(schema: JsonRecord, place: string): readonly (readonly [string, SchemaNode])[] {
    if (place !== '' || !isStrictAt(schema, place, this.#references)) return []
    return RESERVED_MEMBERS.map((name) => [name, this.#nodeAt(`/${DYNAMIC_KEYWORD}/${name}`, true)])
  }

  /** A strict object may only have members that its schema describes. */
  #unevaluatedProperties(schema: JsonRecord, place: string): SchemaNode | undefined {
    const own = this.#optional(schema, place, 'unevaluatedProperties')
    if (this.#options.dialect === '2020-12' && own !== undefined) return own
    if (Object.hasOwn(schema, 'additionalProperties')) return undefined
    if (!isStrictAt(schema, place, this.#references)) return undefined
    return this.#nodeAt(`${place}/${DYNAMIC_KEYWORD}`, false)
  }

  #optional(schema: JsonRecord, place: string, keyword: string): SchemaNode | undefined {
    if (!Object.hasOwn(schema, keyword)) return undefined
    return this.#nodeAt(`${place}/${keyword}`, schema[keyword])
  }

  #list(schema: JsonRecord, place: string, keyword: string): readonly SchemaNode[] | undefined {
    const list = schema[keyword]
    if (!Array.isArray(list)) return undefined
    return list.map((one: unknown, index) => this.#nodeAt(`${place}/${keyword}/${index}`, one))
  }

  #map(
    schema: JsonRecord,
    place: string,
    keyword: string,
  ): readonly (readonly [string, SchemaNode])[] {
    return Object.entries(recordOf(schema[keyword])).map(
      ([name, one]) => [name, this.#nodeAt(`${place}/${keyword}/${escaped(name)}`, one)] as const,
    )
  }

  #refuse(place: string, problem: string): never {
    return refuse(this.#options.where, `#${place}: ${problem}`)
  }
}

/** Groups by name, because two keywords may give schemas for one name. */
function grouped(
  entries: readonly (readonly [string, SchemaNode])[],
): ReadonlyMap<string, readonly SchemaNode[]> {
  const groups = new Map<string, SchemaNode[]>()
  for (const [name, node] of entries) groups.set(name, [...(groups.get(name) ?? []), node])
  return groups
}

function isList([, value]: [string, unknown]): boolean {
  return Array.isArray(value)
}

function isObjectRuleUsed(rules: ObjectRules): boolean {
  const { size, asked, members, patterns, dependentSchemas } = rules
  const { additional, names, unevaluated } = rules
  const counted = asked.size + members.size + patterns.length + dependentSchemas.size
  const used = [additional, names, unevaluated].some((node) => node !== undefined)
  return counted > 0 || used || !isEmpty(size)
}

function typesOf({ type, nullable }: JsonRecord): ReadonlySet<InstanceType> | undefined {
  const names: readonly unknown[] = Array.isArray(type) ? type : [type]
  const types = INSTANCE_TYPES.filter((name) => names.includes(name))
  if (types.length === 0) return undefined
  return new Set(nullable === true ? [...types, 'null'] : types)
}

function choicesOf(schema: JsonRecord): SchemaRules['choices'] {
  const choices: SchemaRules['choices'] = []
  const listed = schema['enum']
  if (Array.isArray(listed)) {
    choices.push({ digests: new Set(listed.map((value) => digestOfPlain(value))), isConst: false })
  }
  if (Object.hasOwn(schema, 'const')) {
    choices.push({ digests: new Set([digestOfPlain(schema['const'])]), isConst: true })
  }
  return choices
}

function digestOfPlain(value: unknown): string {
  return runAtOnce(digestOf(Buffer.from(JSON.stringify(value), 'utf8')))
}

function numberRulesOf(schema: JsonRecord): NumberRules | undefined {
  const rules: NumberRules = {
    ...limitsOf(schema, 'minimum', 'maximum'),
    above: numberIn(schema['exclusiveMinimum']),
    below: numberIn(schema['exclusiveMaximum']),
    multipleOf: numberIn(schema['multipleOf']),
    format:
      schema['format'] === 'int32' || schema['format'] === 'int64' ? schema['format'] : undefined,
  }
  return Object.values(rules).some((rule) => rule !== undefined) ? rules : undefined
}

function limitsOf(schema: JsonRecord, min: string, max: string): Limits {
  return { min: numberIn(schema[min]), max: numberIn(schema[max]) }
}

function isEmpty({ min, max }: Limits): boolean {
  return min === undefined && max === undefined
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function recordOf(value: unknown): JsonRecord {
  return isJsonRecord(value) ? value : {}
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === 'string') : []
}
