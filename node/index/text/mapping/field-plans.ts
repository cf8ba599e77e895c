// What becomes of each field of a table: by its schema, and by the table's list of the fields that no
// schema spells out (table-field.ts).
//
// Invariants:
//   P1  All plans follow from the schema and the list, and not from the documents that were met: two
//       indexes that know as much of the list plan alike, however they came by it.
//   P2  A plan that was made does not change when the list grows.

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
import { FIELD_PATH_LENGTH_MAX, FieldList, kindOf, nameOf, SAMPLES } from './table-field.ts'
import type { JsonObject, JsonValue } from '../../../document/exact-json.ts'
import { UNNAMED_TYPE, type TableSchema } from '../../../schema/table-schema.ts'
import type { FieldPlan } from './field-plan.ts'
import type { FieldDecision, IndexedField } from './field-registry.ts'
import type { DocumentRoot, PathNode } from './path-tree.ts'
import type { JsonSchema } from './schema-walk.ts'
import type { DefaultAnalyzers } from './table-analysis.ts'
import type { TableField, ValueKind } from './table-field.ts'

export const INDEXED_DEPTH_MAX = 32
/** Places that are remembered; what is beyond is looked up again for each document. */
const NODES_MAX = 10_000

export interface UnindexedField {
  readonly kind: 'unindexed'
  /** Completes "field x ...". */
  readonly reason: string
}
export type FieldInfo = IndexedField | UnindexedField

/** There is a plan for it as soon as the table's list has the field, and it is learnt. */
export interface UndecidedField {
  readonly kind: 'undecided'
  readonly field: TableField
}

/** A member of a document, and the rules it lives under. */
export interface FieldPlace {
  readonly root: DocumentRoot
  readonly node: PathNode
}

export class FieldPlans {
  readonly #schema: TableSchema | undefined
  readonly #defaults: DefaultAnalyzers
  readonly #list = new FieldList()
  readonly #registry = new FieldRegistry()
  readonly #unindexed = new Map<string, string>()
  readonly #inAll = new Set<string>()
  /** What a document schema spells out holds where another one leaves the field open. */
  /** By path, where a document schema names one. The first holds. */
  readonly #boosts = new Map<string, number>()
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

  /** How many fields of the table's list are known. */
  get size(): number {
    return this.#list.size
  }

  get list(): readonly TableField[] {
    return this.#list.toJSON()
  }

  get hasRoom(): boolean {
    return this.#list.hasRoom
  }

  /** The next of the table's list; one that is known already changes nothing. */
  learn(field: TableField): void {
    if (!this.#list.add(field)) return
    const name = nameOf(field)
    for (const root of this.#rootsFor(field)) {
      const node = this.#nodeAt(root, field.path)
      if (node === undefined || node.plan !== undefined) continue
      // Where the schema leaves it open, the first decision holds.
      if (node.rule.kind !== 'described' && this.#registry.decisionOf(name) !== undefined) continue
      const decision = this.#decide({ root, node }, field.kind)
      if (decision === undefined) continue
      this.#registry.decide(name, decision)
      node.plan = this.#settle(name, decision)
    }
  }

  /** `name` as a query has it; undefined is the field that queries without a name search. */
  resolveField(name: string | undefined): FieldInfo | undefined {
    const names = name === undefined ? [ALL_FIELD] : candidateNames(name)
    for (const one of names) {
      const field = this.#registry.field(one)
      if (field !== undefined) return field
    }
    const reason = names.map((one) => this.#unindexed.get(one)).find((one) => one !== undefined)
    return reason === undefined ? undefined : { kind: 'unindexed', reason }
  }

  /** Whether queries without a field name search the field, too. */
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

  boostOf(path: string): number {
    return this.#boosts.get(path) ?? 1
  }

  /** Whether a document schema keeps a field of this name out of the index. */
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
   * What becomes of the values of a field of which this is one. Undefined: nothing, but objects in it
   * have members.
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
    if (node.path.length > FIELD_PATH_LENGTH_MAX) return unindexed('has too long a path')
    if (!this.#list.hasRoom) return unindexed('is one of too many fields')
    const field = { path: node.segments, kind, documentType: root.type }
    return { kind: 'undecided', field }
  }

  /** Learns the fields that the schema spells out, so that queries know them before any document. */
  #declare(root: DocumentRoot, parent: PathNode, depth: number): void {
    if (depth >= INDEXED_DEPTH_MAX) return
    const reserved = depth === 0 ? [TYPE_FIELD] : []
    for (const name of [...declaredMembers(parent), ...reserved]) {
      const node = this.member({ root, node: parent }, name)
      if (node === undefined || node.rule.kind !== 'described') continue
      const boost = boostIn(node.rule.schemas)
      if (boost !== undefined && !this.#boosts.has(node.path)) this.#boosts.set(node.path, boost)
      const decision = decideBySchema(node.rule.schemas, surroundingsOf({ root, node }))
      if (decision === undefined) {
        this.#declare(root, node, depth + 1)
        continue
      }
      if (!this.#declared.has(node.path)) this.#declared.set(node.path, decision)
      node.plan ??= this.#settle(node.path, decision)
    }
  }

  /** All document schemas may say something about a field, and the one that brought it goes first. */
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

  /** Undefined: an object whose members decide for themselves, or nothing that the index is told of. */
  #decide(place: FieldPlace, kind: ValueKind): FieldDecision | undefined {
    const { rule, path, segments } = place.node
    const surroundings = surroundingsOf(place)
    const sample = SAMPLES[kind]
    if (rule.kind === 'described') {
      return decideBySchema(rule.schemas, surroundings) ?? decideByValue(sample, surroundings)
    }
    const own = decideDynamically(this.#templates(), sample, {
      path: segments,
      ...surroundings,
      needsTemplate: rule.kind === 'unmentioned',
    })
    // What document schemas leave open is the same field in all of them.
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

function surroundingsOf({ root, node }: FieldPlace) {
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

/** What a value is judged by: the first that is neither null nor an array. */
function firstElement(value: JsonValue): JsonValue | undefined {
  if (!isJsonArray(value)) return value ?? undefined
  for (const element of value) {
    const found = firstElement(element)
    if (found !== undefined) return found
  }
  return undefined
}
