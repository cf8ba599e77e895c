// A JSON Schema as the validator reads it: its keywords are parsed, its references are resolved to
// nodes.

import type { LinearPattern } from '../../lib/linear-pattern/linear-pattern.ts'
import type { StringFormat } from './string-formats.ts'

export type InstanceType = 'array' | 'boolean' | 'integer' | 'null' | 'number' | 'object' | 'string'

/** Inclusive limits. An undefined limit is open. */
export interface Limits {
  readonly min?: number | undefined
  readonly max?: number | undefined
}

/** The rules for numbers. `above` and `below` are exclusive. */
export interface NumberRules extends Limits {
  readonly above?: number | undefined
  readonly below?: number | undefined
  readonly multipleOf?: number | undefined
  readonly format?: 'int32' | 'int64' | undefined
}

/** A pattern, with its source for messages. */
export interface PatternRule {
  readonly source: string
  readonly pattern: LinearPattern
}

/** The rules for strings. Lengths are in code points. */
export interface StringRules {
  readonly length: Limits
  readonly pattern: PatternRule | undefined
  readonly format: { readonly name: string; readonly test: StringFormat } | undefined
}

/** Keywords that look at a value and not into it. */
export interface Combination {
  /** The schemas of references and `allOf`. All of them must hold. */
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

/** The rules for arrays. An undefined rule always holds. */
export interface ArrayRules {
  readonly size: Limits
  readonly unique: boolean
  readonly prefix: readonly SchemaNode[]
  /** The schema of the elements behind the prefix. */
  readonly rest: SchemaNode | undefined
  readonly contains:
    | { readonly node: SchemaNode; readonly min: number; readonly max: number | undefined }
    | undefined
  readonly unevaluated: SchemaNode | undefined
}

/** The rules for objects. An undefined rule always holds. */
export interface ObjectRules {
  readonly size: Limits
  readonly required: readonly string[]
  /** The names whose presence some rule depends on. */
  readonly asked: ReadonlySet<string>
  readonly members: ReadonlyMap<string, SchemaNode>
  readonly patterns: readonly (PatternRule & { readonly node: SchemaNode })[]
  readonly additional: SchemaNode | undefined
  readonly names: SchemaNode | undefined
  readonly dependentRequired: readonly (readonly [string, readonly string[]])[]
  readonly dependentSchemas: ReadonlyMap<string, readonly SchemaNode[]>
  readonly unevaluated: SchemaNode | undefined
}

/** All rules of one schema. An undefined group has no rules. */
export interface SchemaRules {
  readonly types: ReadonlySet<InstanceType> | undefined
  /** Digests of the allowed values (canonical-digest.ts). */
  readonly choices: { readonly digests: ReadonlySet<string>; readonly isConst: boolean }[]
  readonly number: NumberRules | undefined
  readonly string: StringRules | undefined
  readonly combination: Combination | undefined
  readonly array: ArrayRules | undefined
  readonly object: ObjectRules | undefined
}

/** One schema. `rules` is set after all nodes exist, because references may be circular. */
export interface SchemaNode {
  /** A JSON pointer into the schema, for messages. */
  readonly place: string
  /** True for the schema `false`, which accepts no value. */
  readonly isFalse: boolean
  rules: SchemaRules | undefined
}
