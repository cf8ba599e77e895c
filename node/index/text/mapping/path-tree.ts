// The places of a document type, as a tree that grows with the documents: what the schema says about
// each, and what was decided. It saves asking schema and templates again for every document.

import {
  branchesOf,
  declaredNames,
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
    additionalProperties: { properties: { _content: { 'x-service-types': ['text'] } } },
  }),
}

export interface DocumentRoot {
  /** Both undefined for documents that no schema describes. */
  readonly type: string | undefined
  readonly schema: JsonSchema | undefined
  readonly analyzer: string | undefined
  readonly inAll: ReadonlySet<string>
  readonly node: PathNode
}

export interface PathNode {
  readonly segments: readonly string[]
  /** The segments joined by dots. */
  readonly path: string
  readonly rule: MemberRule
  readonly children: Map<string, PathNode>
  /** Undefined until a value has come that tells, and for objects. */
  plan: FieldPlan | undefined
}

export function rootNode(schema: JsonSchema | undefined): PathNode {
  const rule: MemberRule =
    schema === undefined
      ? { kind: 'dynamic' }
      : { kind: 'described', schemas: branchesOf(schema, schema) }
  return { segments: [], path: '', rule, children: new Map(), plan: undefined }
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
  return { segments, path: segments.join('.'), rule, children: new Map(), plan: undefined }
}

export function declaredMembers({ rule }: PathNode): readonly string[] {
  return rule.kind === 'described' ? declaredNames(rule.schemas) : []
}

function ruleFor(parent: PathNode, name: string, root: JsonSchema | undefined): MemberRule {
  const { rule } = parent
  const own = rule.kind === 'described' ? memberRule(rule.schemas, name, root ?? {}) : rule
  const isReserved = parent.segments.length === 0 && Object.hasOwn(RESERVED, name)
  if (!isReserved || own.kind === 'described') return own
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
