// Plans the fields of a table: by its schema, and by the table's list of the fields that no schema
// describes (table-field.ts).
//
// Invariants:
//   P1  All plans follow from the schema and the list, and not from the documents of an index. Two
//       indexes with the same part of the list have the same plans.
//   P2  A plan does not change when the list grows.

import { isJsonArray, memberOf } from '../../../document/json-object.ts'
import {
  analyzerIn,
  boostIn,
  decideBySchema,
  decideByValue,
  decideDynamically,
  namesInAll,
} from './field-decision.ts'
import { ALL_FIELD, candidateNames, TYPE_FIELD } from './field-names.ts'
import { planField, unindexed } from './field-plan.ts'
import { FieldRegistry } from './field-registry.ts'
import { declaredMembers, isReserved, memberNode, rootNode } from './path-tree.ts'
import { branchesOf } from './schema-walk.ts'
import {
  FIELD_PATH_LENGTH_MAX,
  FieldList,
  kindOf,
  nameOf,
  SAMPLES,
} from '../../../schema/table-field.ts'
import type { JsonObject, JsonValue } from '../../../document/exact-json.ts'
import type { TableSchema } from '../../../schema/table-schema.ts'
import { UNNAMED_TYPE } from '../../../schema/unnamed-type.ts'
import type { FieldPlan } from './field-plan.ts'
import type { FieldDecision, IndexedField } from './field-registry.ts'
import type { DocumentRoot, PathNode } from './path-tree.ts'
import type { JsonSchema } from './schema-walk.ts'
import type { DefaultAnalyzers } from './table-analysis.ts'
import type { TableField, ValueKind } from '../../../schema/table-field.ts'

export const INDEXED_DEPTH_MAX = 32
/** The limit of cached places. Places beyond it are looked up for each document. */
const NODES_MAX = 10_000

/** A field that is not in the index. */
export interface UnindexedField {
  readonly kind: 'unindexed'
  /** Completes the message "field x ...". */
  readonly reason: string
}
export type FieldInfo = IndexedField | UnindexedField

/** A field without a plan. It gets one once the table's list has it and it is learnt. */
export interface UndecidedField {
  readonly kind: 'undecided'
  readonly field: TableField
}

/** A member of a document, with the rules that apply to it. */
export interface FieldPlace {
  readonly root: DocumentRoot
  readonly node: PathNode
}

/** The plans of one table, as one thread knows them. */
export class FieldPlans {
  readonly #schema: TableSchema | undefined
  readonly #defaults: DefaultAnalyzers
  readonly #list = new FieldList()
  readonly #registry = new FieldRegistry()
  readonly #unindexed = new Map<string, string>()
  readonly #inAll = new Set<string>()
  /** By path, the weight that a document schema sets. The first one counts. */
  readonly #boosts = new Map<string, number>()
  /**
   * The types that document schemas declare. They also apply where another schema leaves the field
   * open.
   */
  readonly #declared = new Map<string, FieldDecision>()
  readonly #roots = new Map<string, DocumentRoot>()
  readonly #dynamicRoot: DocumentRoot = {
    type: undefined,
    schema: undefined,
    analyzer: undefined,
    inAll: undefined,
    node: rootNode(undefined),
  }
  #nodes = 0

  constructor(schema: TableSchema | undefined, defaults: DefaultAnalyzers) {
    this.#schema = schema
    this.#defaults = defaults
    const types = Object.entries(schema?.document_schemas ?? {})
    if (types.length === 0) this.#claimAll()
    for (const [type, entry] of types) {
      const root = rootOf(type, entry.schema)
      this.#roots.set(type, root)
      if (root.inAll === undefined) this.#claimAll()
      this.#declare(root, root.node, 0)
    }
  }

  /** The number of known fields of the table's list. */
  get size(): number {
    return this.#list.size
  }

  get list(): readonly TableField[] {
    return this.#list.toJSON()
  }

  get hasRoom(): boolean {
    return this.#list.hasRoom
  }

  /** Learns the next field of the table's list. A known field changes nothing. */
  learn(field: TableField): void {
    if (!this.#list.add(field)) return
    const name = nameOf(field)
    for (const root of this.#rootsFor(field)) {
      const node = this.#nodeAt(root, field.path)
      if (node === undefined || node.plan !== undefined) continue
      // Where the schema leaves the field open, the first decision counts.
      if (node.rule.kind !== 'described' && this.#registry.decisionOf(name) !== undefined) continue
      const decision = this.#decide({ root, node }, field.kind)
      if (decision === undefined) continue
      this.#registry.decide(name, decision)
      node.plan = this.#settle(name, decision)
    }
  }

  /**
   * Resolves a field name of a query. Undefined is the field that queries without a name search.
   */
  resolveField(name: string | undefined): FieldInfo | undefined {
    const names = name === undefined ? [ALL_FIELD] : candidateNames(name)
    for (const one of names) {
      const field = this.#registry.field(one)
      if (field !== undefined) return field
    }
    const reason = names.map((one) => this.#unindexed.get(one)).find((one) => one !== undefined)
    return reason === undefined ? undefined : { kind: 'unindexed', reason }
  }

  /** Whether queries without a field name search this field too. */
  isInAll(path: string): boolean {
    return this.#inAll.has(path)
  }

  rootFor(document: JsonObject): DocumentRoot {
    const named = memberOf(document, TYPE_FIELD)
    const type = typeof named === 'string' ? named : this.#schema?.default_type
    return this.#roots.get(type ?? UNNAMED_TYPE) ?? this.#dynamicRoot
  }

  namesInAll(): readonly string[] {
    return [...this.#inAll]
  }

  get hasBoosts(): boolean {
    return this.#boosts.size > 0
  }

  boostOf(path: string): number {
    return this.#boosts.get(path) ?? 1
  }

  /** Whether a document schema excludes a field of this name from the index. */
  isLeftOut(name: string): boolean {
    const path = name.split('.').slice(0, INDEXED_DEPTH_MAX)
    return [...this.#roots.values()].some((root) => {
      let node: PathNode | undefined = root.node
      for (const step of path) node = node && memberNode(node, step, root.schema)
      return node === undefined || node.rule.kind === 'unmentioned'
    })
  }

  /** Undefined if nothing below the name can be indexed. */
  member({ root, node }: FieldPlace, name: string): PathNode | undefined {
    const known = node.children.get(name)
    if (known !== undefined) return known
    const member = memberNode(node, name, root.schema)
    if (member === undefined) return undefined
    if (member.rule.kind === 'unmentioned' && this.#templates().length === 0) return undefined
    if (this.#nodes < NODES_MAX && member.path.length <= FIELD_PATH_LENGTH_MAX) {
      node.children.set(name, member)
      this.#nodes += 1
    }
    return member
  }

  /**
   * The plan of the field that has this value. Undefined if the field has no values of its own, but
   * objects in it have members.
   */
  planFor(place: FieldPlace, value: JsonValue): FieldPlan | UndecidedField | undefined {
    const { root, node } = place
    if (node.plan !== undefined) return node.plan
    const first = firstElement(value)
    if (first === undefined) return undefined
    const known = this.#list.get(node.path)
    const kind = known?.kind ?? kindOf(first)
    const decision = this.#decide(place, kind)
    if (decision === undefined) return undefined
    if (known !== undefined) return (node.plan = this.#settle(node.path, decision))
    const isListed = node.path.length <= FIELD_PATH_LENGTH_MAX && this.#list.hasRoom
    if (!isListed) return unnamed(planField(node.path, decision, this.#defaults))
    const field = { path: node.segments, kind, documentType: root.type }
    return { kind: 'undecided', field }
  }

  /**
   * Learns the fields that the schema describes, so that queries know them before the first
   * document.
   */
  #declare(root: DocumentRoot, parent: PathNode, depth: number): void {
    if (depth >= INDEXED_DEPTH_MAX) return
    const reserved = depth === 0 ? [TYPE_FIELD] : []
    for (const name of [...declaredMembers(parent), ...reserved]) {
      const node = this.member({ root, node: parent }, name)
      if (node === undefined || node.rule.kind !== 'described') continue
      const boost = boostIn(node.rule.schemas)
      if (boost !== undefined && !this.#boosts.has(node.path)) this.#boosts.set(node.path, boost)
      const decision = decideBySchema(node.rule.schemas, inheritedRulesOf({ root, node }))
      if (decision === undefined) {
        this.#declare(root, node, depth + 1)
        continue
      }
      if (!this.#declared.has(node.path)) this.#declared.set(node.path, decision)
      node.plan ??= this.#settle(node.path, decision)
    }
  }

  /**
   * Any document schema may describe the field. The schema of the document that brought it comes
   * first.
   */
  *#rootsFor({ documentType }: TableField): Generator<DocumentRoot> {
    const first = documentType === undefined ? undefined : this.#roots.get(documentType)
    yield first ?? this.#dynamicRoot
    for (const root of this.#roots.values()) if (root !== first) yield root
    if (first !== undefined) yield this.#dynamicRoot
  }

  #nodeAt(root: DocumentRoot, path: readonly string[]): PathNode | undefined {
    let node: PathNode | undefined = root.node
    for (const name of path) node = node && this.member({ root, node }, name)
    return node
  }

  #templates() {
    return this.#schema?.dynamic_templates ?? []
  }

  /**
   * Undefined for an object whose members decide for themselves, and for a field that the index
   * ignores.
   */
  #decide(place: FieldPlace, kind: ValueKind): FieldDecision | undefined {
    const { rule, path, segments } = place.node
    const inherited = inheritedRulesOf(place)
    const sample = SAMPLES[kind]
    if (rule.kind === 'described') {
      return decideBySchema(rule.schemas, inherited) ?? decideByValue(sample, inherited)
    }
    const own = decideDynamically(this.#templates(), sample, {
      path: segments,
      ...inherited,
      needsTemplate: rule.kind === 'unmentioned',
    })
    // A field that document schemas leave open is the same field in all of them.
    return own && (this.#registry.decisionOf(path) ?? this.#declared.get(path) ?? own)
  }

  /** Claims the index fields of a decision. */
  #settle(path: string, decision: FieldDecision): FieldPlan {
    const plan = this.#claimed(path, decision)
    if (plan.kind === 'unindexed' && !this.#unindexed.has(path)) {
      this.#unindexed.set(path, plan.reason)
    }
    if (plan.kind === 'indexed' && plan.allAnalyzer !== undefined) {
      this.#inAll.add(path)
      this.#claimAll()
    }
    return plan
  }

  #claimed(path: string, decision: FieldDecision): FieldPlan {
    const plan = planField(path, decision, this.#defaults)
    if (plan.kind === 'unindexed') return plan
    const isFree = plan.targets.every((target) => this.#registry.claim(target))
    return isFree ? plan : unindexed('is of another type in another document schema')
  }

  #claimAll(): void {
    this.#registry.claim({
      indexField: ALL_FIELD,
      kind: 'text',
      analyzer: this.#defaults.plain,
      hasColumn: false,
      lengthMax: 0,
    })
  }
}

function inheritedRulesOf({ root, node }: FieldPlace) {
  const isListed = root.inAll?.has(node.path) ?? (isReserved(node) ? false : undefined)
  return { analyzer: root.analyzer, isListed }
}

function rootOf(type: string, schema: JsonSchema): DocumentRoot {
  const branches = branchesOf(schema, schema)
  return {
    type,
    schema,
    analyzer: analyzerIn(branches),
    inAll: namesInAll(branches),
    node: rootNode(schema),
  }
}

/** The value that decides a field: the first that is neither null nor an array. */
/** A field that the list has no room for has no index field of its own: queries without a field name find its texts. */
function unnamed(plan: FieldPlan): FieldPlan {
  return plan.kind === 'unindexed' ? plan : { ...plan, targets: [] }
}

function firstElement(value: JsonValue): JsonValue | undefined {
  if (!isJsonArray(value)) return value ?? undefined
  for (const element of value) {
    const found = firstElement(element)
    if (found !== undefined) return found
  }
  return undefined
}
