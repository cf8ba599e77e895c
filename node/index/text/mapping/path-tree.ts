// The places of a document type, as a tree that grows with the documents: what the schema says about
// each, and what was decided. It saves asking schema and templates again for every document.

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

/** Reserved members of documents, as if every schema had them. The others of them are not indexed. */
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

export interface DocumentRoot {
  /** Both undefined for documents that no schema describes. */
  readonly type: string | undefined
  readonly schema: JsonSchema | undefined
  readonly analyzer: string | undefined
  /** The fields that queries without a name search; undefined for all that are text. */
  readonly inAll: ReadonlySet<string> | undefined
  readonly node: PathNode
}

export interface PathNode {
  readonly segments: readonly string[]
  /** The segments joined by dots. */
  readonly path: string
  readonly rule: MemberRule
  /** Whether members that the schema does not mention are indexed. */
  readonly isDynamic: boolean
  readonly children: Map<string, PathNode>
  /** Undefined until a value has come that tells, and for objects. */
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

/** A new node for a member; undefined if the member can never be indexed. */
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

/** Whether the product itself gives the field its meaning. */
export function isReserved({ segments: [name = ''] }: PathNode): boolean {
  return Object.hasOwn(RESERVED, name)
}

function ruleFor(parent: PathNode, name: string, root: JsonSchema | undefined): MemberRule {
  const { rule, isDynamic } = parent
  const scope = { root: root ?? {}, isDynamic }
  const own = rule.kind === 'described' ? memberRule(rule.schemas, name, scope) : rule
  const isOurs = parent.segments.length === 0 && Object.hasOwn(RESERVED, name)
  if (!isOurs || own.kind === 'described') return own
  return RESERVED[name] ?? own
}

/** Arrays of a field hold values of that field: what is said about elements is said about it. */
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
