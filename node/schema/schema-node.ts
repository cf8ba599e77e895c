// A JSON Schema as the validator reads it: keywords parsed, references resolved to nodes.

import type { LinearPattern } from '../../lib/linear-pattern/linear-pattern.ts'
import type { StringFormat } from './string-formats.ts'

export type InstanceType = 'array' | 'boolean' | 'integer' | 'null' | 'number' | 'object' | 'string'

export interface Limits {
  readonly min?: number | undefined
  readonly max?: number | undefined
}

export interface NumberRules extends Limits {
  readonly above?: number | undefined
  readonly below?: number | undefined
  readonly multipleOf?: number | undefined
  readonly format?: 'int32' | 'int64' | undefined
}

export interface PatternRule {
  readonly source: string
  readonly pattern: LinearPattern
}

export interface StringRules {
  readonly length: Limits
  readonly pattern: PatternRule | undefined
  readonly format: { readonly name: string; readonly test: StringFormat } | undefined
}

/** Keywords that look at the value itself, not into it. */
export interface Combination {
  /** Those of references and `allOf`: each of them has to hold. */
  readonly all: readonly SchemaNode[]
  readonly anyOf: readonly SchemaNode[] | undefined
  readonly oneOf: readonly SchemaNode[] | undefined
  readonly not: SchemaNode | undefined
  readonly condition:
    | {
        readonly test: SchemaNode
        readonly whenTrue: SchemaNode | undefined
        readonly whenFalse: SchemaNode | undefined
      }
    | undefined
}

export interface ArrayRules {
  readonly size: Limits
  readonly unique: boolean
  readonly prefix: readonly SchemaNode[]
  /** For the elements behind the prefix. */
  readonly rest: SchemaNode | undefined
  readonly contains:
    | { readonly node: SchemaNode; readonly min: number; readonly max: number | undefined }
    | undefined
  readonly unevaluated: SchemaNode | undefined
}

export interface ObjectRules {
  readonly size: Limits
  readonly required: readonly string[]
  /** The names whose presence decides something. */
  readonly asked: ReadonlySet<string>
  readonly members: ReadonlyMap<string, SchemaNode>
  readonly patterns: readonly (PatternRule & { readonly node: SchemaNode })[]
  readonly additional: SchemaNode | undefined
  readonly names: SchemaNode | undefined
  readonly dependentRequired: readonly (readonly [string, readonly string[]])[]
  readonly dependentSchemas: ReadonlyMap<string, readonly SchemaNode[]>
  readonly unevaluated: SchemaNode | undefined
}

export interface SchemaRules {
  readonly types: ReadonlySet<InstanceType> | undefined
  /** Digests of the values that are allowed (canonical-digest.ts). */
  readonly choices: { readonly digests: ReadonlySet<string>; readonly isConst: boolean }[]
  readonly number: NumberRules | undefined
  readonly string: StringRules | undefined
  readonly combination: Combination | undefined
  readonly array: ArrayRules | undefined
  readonly object: ObjectRules | undefined
}

/** `rules` are filled in after the nodes exist, because references may be circular. */
export interface SchemaNode {
  /** A JSON pointer into the schema, for messages. */
  readonly place: string
  /** `false` allows nothing. */
  readonly isFalse: boolean
  rules: SchemaRules | undefined
}
