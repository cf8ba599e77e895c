// From documents to index fields, for one table.
//
// A document's type selects its schema; without one everything is inferred. Decisions about fields
// that no schema describes are made by the first value and kept (see field-registry.ts), so that the
// mapping of an index has to be saved with it.

import { must } from '../../../../lib/assert.ts'
import { isJsonArray, isJsonObject, memberOf } from '../../../document/json-object.ts'
import { analyzerOf, KEYWORD_LENGTH_MAX } from '../analysis/analyzers.ts'
import { DocumentFields } from './document-fields.ts'
import {
  analyzerIn,
  decideBySchema,
  decideByValue,
  decideDynamically,
  namesInAll,
} from './field-decision.ts'
import { ALL_FIELD, candidateNames, TYPE_FIELD } from './field-names.ts'
import { planField, unindexed } from './field-plan.ts'
import { FieldRegistry, KNOWN_FIELDS_MAX, parseSavedFields } from './field-registry.ts'
import { booleanTermOf, dateMsOf, finiteNumberOf, textOf } from './field-values.ts'
import { parseGeoPoints } from '../../../geo/geo-point.ts'
import { parseShapes } from '../../../geo/geo-json.ts'
import { declaredMembers, memberNode, rootNode } from './path-tree.ts'
import { branchesOf } from './schema-walk.ts'
import { shapeTerm } from './shape-term.ts'
import type { JsonObject, JsonValue } from '../../../document/exact-json.ts'
import type { TableSchema } from '../../../schema/table-schema.ts'
import type { Analyzer } from '../analysis/analyzer.ts'
import type { IndexableDocument, IndexableToken } from '../indexable-document.ts'
import type { FieldPlan, Target } from './field-plan.ts'
import type { DynamicDecision, IndexedField, SavedFields } from './field-registry.ts'
import type { DocumentRoot, PathNode } from './path-tree.ts'
import type { JsonSchema } from './schema-walk.ts'

export const INDEXED_DEPTH_MAX = 32

export interface UnindexedField {
  readonly kind: 'unindexed'
  /** Completes "field x ...". */
  readonly reason: string
}
export type FieldInfo = IndexedField | UnindexedField

/** What was left out so far; the documents themselves were indexed. */
export interface MappingCounts {
  /** Values that are not of their field's type. */
  badValues: number
  /** Values beyond a limit: of fields known, fields or values in a document, depth, length. */
  overLimit: number
}

export class FieldMapping {
  readonly counts: MappingCounts = { badValues: 0, overLimit: 0 }
  readonly #schema: TableSchema | undefined
  readonly #registry = new FieldRegistry()
  readonly #unindexed = new Map<string, string>()
  readonly #inAll = new Set<string>()
  readonly #analyzers = new Map<string, Analyzer>()
  readonly #roots = new Map<string, DocumentRoot>()
  readonly #dynamicRoot: DocumentRoot = {
    schema: undefined,
    analyzer: undefined,
    inAll: new Set(),
    node: rootNode(undefined),
  }
  #nodes = 0

  constructor(schema: TableSchema | undefined) {
    this.#schema = schema
    const types = Object.entries(schema?.document_schemas ?? {})
    if (types.length === 0) this.#claimAll()
    for (const [type, entry] of types) {
      const root = rootOf(entry.schema)
      this.#roots.set(type, root)
      this.#declare(root, root.node, 0)
    }
  }

  /** `saved` is what `toJSON` gave. */
  static fromJSON(schema: TableSchema | undefined, saved: unknown): FieldMapping {
    const mapping = new FieldMapping(schema)
    for (const [path, decision] of parseSavedFields(saved)) {
      mapping.#registry.decide(path, decision)
      mapping.#settle(path, decision)
    }
    return mapping
  }

  /** How many fields were decided by what documents brought: what `toJSON` saves. */
  get decisionCount(): number {
    return this.#registry.decisionCount
  }

  toJSON(): SavedFields {
    return this.#registry.toJSON()
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

  mapDocument(key: Uint8Array, document: JsonObject, expiresAtMs: number): IndexableDocument {
    const fields = new DocumentFields()
    const root = this.#rootFor(document)
    this.#addMembers({ root, fields, node: root.node }, document)
    return { key, expiresAtMs, fields: fields.finish() }
  }

  #rootFor(document: JsonObject): DocumentRoot {
    const named = memberOf(document, TYPE_FIELD)
    const type = typeof named === 'string' ? named : this.#schema?.default_type
    return (type === undefined ? undefined : this.#roots.get(type)) ?? this.#dynamicRoot
  }

  /** Learns the fields that the schema spells out, so that queries know them before any document. */
  #declare(root: DocumentRoot, parent: PathNode, depth: number): void {
    if (depth >= INDEXED_DEPTH_MAX) return
    const reserved = depth === 0 ? [TYPE_FIELD] : []
    for (const name of [...declaredMembers(parent), ...reserved]) {
      const node = this.#member({ root, node: parent }, name)
      if (node === undefined || node.rule.kind !== 'described') continue
      node.plan ??= this.#planBySchema(root, node, node.rule.schemas)
      if (node.plan === undefined) this.#declare(root, node, depth + 1)
    }
  }

  #member({ root, node }: Pick<Place, 'root' | 'node'>, name: string): PathNode | undefined {
    const known = node.children.get(name)
    if (known !== undefined) return known
    if (this.#nodes >= KNOWN_FIELDS_MAX) return undefined
    const member = memberNode(node, name, root.schema)
    if (member === undefined) return undefined
    const isHopeless = member.rule.kind === 'unmentioned' && this.#templates().length === 0
    if (isHopeless) return undefined
    node.children.set(name, member)
    this.#nodes += 1
    return member
  }

  #templates() {
    return this.#schema?.dynamic_templates ?? []
  }

  #addMembers(place: Place, object: JsonObject): void {
    if (place.node.segments.length >= INDEXED_DEPTH_MAX) {
      this.counts.overLimit += 1
      return
    }
    for (const name of Object.keys(object)) {
      const value = object[name]
      if (value === undefined || value === null) continue
      const node = this.#member(place, name)
      if (node !== undefined) this.#addValue({ ...place, node }, value)
      else if (this.#nodes >= KNOWN_FIELDS_MAX) this.counts.overLimit += 1
    }
  }

  #addValue(place: Place, value: JsonValue): void {
    const { node } = place
    const plan = (node.plan ??= this.#planByValue(place.root, node, firstElement(value)))
    const target = plan?.kind === 'indexed' ? plan.targets[0] : undefined
    if (target?.kind === 'point') {
      this.#addPoints(place, target.indexField, value)
    } else if (target?.kind === 'shape') {
      this.#addShapes(place, target.indexField, value)
    } else if (isJsonArray(value)) {
      for (const element of value) this.#addElement(place, plan, element)
    } else {
      this.#addElement(place, plan, value)
    }
  }

  #addElement(place: Place, plan: FieldPlan | undefined, value: JsonValue): void {
    if (value === null || plan?.kind === 'unindexed') return
    if (isJsonArray(value)) {
      for (const element of value) this.#addElement(place, plan, element)
    } else if (isJsonObject(value)) {
      // A field that the schema calls a value holds no object; a dynamic one may hold both.
      const isBad = plan !== undefined && place.node.rule.kind === 'described'
      if (isBad) this.counts.badValues += 1
      else this.#addMembers(place, value)
    } else if (plan !== undefined) {
      this.#addScalar(place.fields, plan, value)
    }
  }

  #addScalar(
    fields: DocumentFields,
    plan: FieldPlan & { kind: 'indexed' },
    value: JsonValue,
  ): void {
    let tokens: IndexableToken[] | undefined
    for (const target of plan.targets) {
      const made = this.#addTo(fields, target, value)
      if (target.analyzer === plan.allAnalyzer) tokens ??= made
    }
    if (plan.allAnalyzer === undefined) return
    const text = textOf(value)
    if (text === undefined) return
    const shared = tokens ?? this.#analyzer(plan.allAnalyzer).analyze(text)
    this.#count(fields.addToAll(shared), 'overLimit')
  }

  /** Returns the tokens if the value became some. */
  #addTo(fields: DocumentFields, target: Target, value: JsonValue): IndexableToken[] | undefined {
    const { kind, indexField } = target
    if (kind === 'number' || kind === 'date') {
      const number = kind === 'number' ? finiteNumberOf(value) : dateMsOf(value)
      if (number === undefined) this.counts.badValues += 1
      else this.#count(fields.addNumber(indexField, number), 'overLimit')
      return undefined
    }
    const text = kind === 'boolean' ? booleanTermOf(value) : textOf(value)
    if (text === undefined || text.length > target.lengthMax) {
      this.#count(text !== undefined, 'badValues')
      this.#count(target.lengthMax < KEYWORD_LENGTH_MAX, 'overLimit')
      return undefined
    }
    if (kind === 'keyword' || kind === 'boolean') {
      this.#count(fields.addKeyword(indexField, text), 'overLimit')
      return undefined
    }
    const tokens = this.#analyzer(target.analyzer ?? 'standard').analyze(text)
    this.#count(fields.addText(indexField, tokens), 'overLimit')
    return tokens
  }

  #addPoints({ fields }: Place, indexField: string, value: JsonValue): void {
    for (const point of parseGeoPoints(value)) {
      if (point === undefined) this.counts.badValues += 1
      else this.#count(fields.addPoint(indexField, point), 'overLimit')
    }
  }

  #addShapes({ fields }: Place, indexField: string, value: JsonValue): void {
    for (const shape of parseShapes(value)) {
      if (shape === undefined) this.counts.badValues += 1
      else this.#count(fields.addKeyword(indexField, shapeTerm(shape)), 'overLimit')
    }
  }

  #count(isFine: boolean, what: keyof MappingCounts): void {
    if (!isFine) this.counts[what] += 1
  }

  #planBySchema(root: DocumentRoot, { path }: PathNode, schemas: readonly JsonSchema[]) {
    const decision = decideBySchema(schemas, {
      analyzer: root.analyzer,
      isInAll: root.inAll.has(path),
    })
    return decision === undefined ? undefined : this.#settle(path, decision)
  }

  #planByValue(root: DocumentRoot, node: PathNode, value: JsonValue | undefined) {
    if (value === undefined) return undefined
    const { rule, path, segments } = node
    const surroundings = { analyzer: root.analyzer, isInAll: root.inAll.has(path) }
    if (rule.kind === 'described') {
      const decision =
        decideBySchema(rule.schemas, surroundings) ?? decideByValue(value, surroundings)
      return decision === undefined ? undefined : this.#settle(path, decision)
    }
    const known = this.#registry.decisions().get(path)
    if (known !== undefined) return this.#settle(path, known)
    const decision = decideDynamically(this.#templates(), value, {
      path: segments,
      analyzer: root.analyzer,
      isInAll: root.schema === undefined || surroundings.isInAll,
      needsTemplate: rule.kind === 'unmentioned',
    })
    if (decision === undefined) return undefined
    if (!this.#registry.decide(path, decision)) return unindexed('is one of too many fields')
    return this.#settle(path, decision)
  }

  /** Claims the index fields of a decision. */
  #settle(path: string, decision: DynamicDecision): FieldPlan {
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

  #claimed(path: string, decision: DynamicDecision): FieldPlan {
    const plan = planField(path, decision)
    if (plan.kind === 'unindexed') return plan
    const isFree = plan.targets.every((target) => this.#registry.claim(target))
    return isFree ? plan : unindexed('is of another type in another document schema')
  }

  #claimAll(): void {
    this.#registry.claim({
      indexField: ALL_FIELD,
      kind: 'text',
      analyzer: 'standard',
      hasColumn: false,
      lengthMax: 0,
    })
  }

  #analyzer(name: string): Analyzer {
    const known = this.#analyzers.get(name)
    if (known !== undefined) return known
    const built = must(analyzerOf(name), `analyzer ${name}, which was checked with the schema`)
    this.#analyzers.set(name, built)
    return built
  }
}

interface Place {
  readonly root: DocumentRoot
  readonly fields: DocumentFields
  readonly node: PathNode
}

function rootOf(schema: JsonSchema): DocumentRoot {
  const branches = branchesOf(schema, schema)
  return {
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
