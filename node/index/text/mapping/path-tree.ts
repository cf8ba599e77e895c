// The places of a document type as a tree that grows with the documents. It caches the schema's
// rule and the plan of each place, so that schema and templates are not read again for every
// document.

import { EXACT_SUFFIX, WORDLESS_SUFFIX } from './field-names.ts'
import {
  branchesOf,
  declaredNames,
  dynamicSetting,
  elementSchemas,
  memberRule,
  type JsonSchema,
  type MemberRule,
} from './schema-walk.ts'
import type { FieldPlan } from './field-plan.ts'

/**
 * Rules for the reserved members of documents, as if every schema had them. Other reserved members
 * are not indexed.
 */
const RESERVED: Readonly<Record<string, MemberRule>> = {
  _all: { kind: 'forbidden' },
  _embeddings: { kind: 'forbidden' },
  _edges: { kind: 'forbidden' },
  _type: describedBy({ 'x-service-types': ['keyword'] }),
  _timestamp: describedBy({ 'x-service-types': ['datetime'] }),
  _summaries: describedBy({ additionalProperties: { 'x-service-types': ['text'] } }),
  _chunks: describedBy({
    'x-service-dynamic': false,
    additionalProperties: { properties: { _content: { 'x-service-types': ['text'] } } },
  }),
}

/** The root of one document type. */
export interface DocumentRoot {
  /** Both are undefined for documents without a schema. */
  readonly type: string | undefined
  readonly schema: JsonSchema | undefined
  readonly analyzer: string | undefined
  /** The fields that queries without a field name search; undefined means all text fields. */
  readonly inAll: ReadonlySet<string> | undefined
  readonly node: PathNode
}

/** One place in the documents of a type. */
export interface PathNode {
  readonly segments: readonly string[]
  /** The segments, joined by dots. */
  readonly path: string
  readonly rule: MemberRule
  /** Whether members that the schema does not mention are indexed. */
  readonly isDynamic: boolean
  readonly children: Map<string, PathNode>
  /** Undefined until a value has decided the field, and for objects. */
  plan: FieldPlan | undefined
}

export function rootNode(schema: JsonSchema | undefined): PathNode {
  const rule: MemberRule =
    schema === undefined
      ? { kind: 'dynamic' }
      : { kind: 'described', schemas: branchesOf(schema, schema) }
  const isDynamic = settingOf(rule) ?? true
  return { segments: [], path: '', rule, isDynamic, children: new Map(), plan: undefined }
}

/** Creates the node of a member. Answers undefined if the member can never be indexed. */
export function memberNode(
  parent: PathNode,
  name: string,
  root: JsonSchema | undefined,
): PathNode | undefined {
  const rule = withElements(ruleFor(parent, name, root), root)
  if (rule.kind === 'forbidden') return undefined
  const segments = [...parent.segments, name]
  const isDynamic = settingOf(rule) ?? parent.isDynamic
  const path = segments.join('.')
  return { segments, path, rule, isDynamic, children: new Map(), plan: undefined }
}

function settingOf(rule: MemberRule): boolean | undefined {
  return rule.kind === 'described' ? dynamicSetting(rule.schemas) : undefined
}

export function declaredMembers({ rule }: PathNode): readonly string[] {
  return rule.kind === 'described' ? declaredNames(rule.schemas) : []
}

/** Whether the product defines the meaning of the field. */
export function isReserved({ segments: [name = ''] }: PathNode): boolean {
  return Object.hasOwn(RESERVED, name)
}

function ruleFor(parent: PathNode, name: string, root: JsonSchema | undefined): MemberRule {
  const { rule, isDynamic } = parent
  if (name.endsWith(EXACT_SUFFIX) || name.endsWith(WORDLESS_SUFFIX)) return { kind: 'forbidden' }
  const scope = { root: root ?? {}, isDynamic }
  const own = rule.kind === 'described' ? memberRule(rule.schemas, name, scope) : rule
  const isOurs = parent.segments.length === 0 && Object.hasOwn(RESERVED, name)
  if (!isOurs || own.kind === 'described') return own
  return RESERVED[name] ?? own
}

/** The elements of an array are values of the field, so the rules for elements apply to it. */
function withElements(rule: MemberRule, root: JsonSchema | undefined): MemberRule {
  if (rule.kind !== 'described') return rule
  return {
    kind: 'described',
    schemas: [...rule.schemas, ...elementSchemas(rule.schemas, root ?? {})],
  }
}

function describedBy(schema: JsonSchema): MemberRule {
  return { kind: 'described', schemas: [schema] }
}
