// Maps the documents of one table to index fields.
//
// A document's type selects its schema. Without a schema, all fields are inferred. The table's list
// (field-plans.ts) decides the fields that no schema describes. A document with a field that the
// list lacks is not mapped: the field must first be added to the list and learnt.

import { runAtOnce, StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import { numberOf } from '../../../document/exact-json.ts'
import { isJsonArray, isJsonObject } from '../../../document/json-object.ts'
import { TEXT_STEP_LENGTH } from '../analysis/analyzer.ts'
import { KEYWORD_LENGTH_MAX } from '../analysis/analyzers.ts'
import { DocumentFields } from './document-fields.ts'
import { DroppedValues } from './dropped-values.ts'
import { ALL_FIELD } from './field-names.ts'
import { unindexed } from './field-plan.ts'
import { FieldPlans, INDEXED_DEPTH_MAX } from './field-plans.ts'
import { booleanTermOf, dateMsOf, decimalBeyond, finiteNumberOf, textOf } from './field-values.ts'
import { parseGeoPoint } from '../../../geo/parse-geo-point.ts'
import { parseShape } from '../../../geo/geo-json.ts'
import { shapeTerm } from './shape-term.ts'
import { TableAnalysis } from './table-analysis.ts'
import { nameOf, TABLE_FIELDS_MAX } from '../../../schema/table-field.ts'
import type { JsonArray, JsonObject, JsonValue } from '../../../document/exact-json.ts'
import type { TableSchema } from '../../../schema/table-schema.ts'
import { CANONICAL } from '../analysis/fold-term.ts'
import type { NumberedTokens } from '../analysis/word-memo.ts'
import type { IndexableDocument } from '../indexable-document.ts'
import type { DocumentTerms } from './document-terms.ts'
import type { DropReason } from '../../host/drop-report.ts'
import type { FieldPlan, Target } from './field-plan.ts'
import type { FieldInfo, FieldPlace } from './field-plans.ts'
import type { TableField } from '../../../schema/table-field.ts'

/** The work of a step, in UTF-16 units of text. */
const STEP_COST = TEXT_STEP_LENGTH
/** Longer texts are analyzed in steps, which costs more. */
const SHORT_LENGTH_MAX = 1024
/** A word of most languages, and the space behind it. */
const WORD_LENGTH = 6
/** The cost of a value beside its text, and of a field in the table's list. */
const VALUE_COST = 16
const FIELD_COST = 64

const UNKNOWN = unindexed('is not decided yet')

/**
 * The mapping of one table, as one thread knows it. It must learn the fields of the table's list in
 * their order.
 */
export class FieldMapping {
  readonly analysis: TableAnalysis
  readonly #plans: FieldPlans
  readonly #dropped = new DroppedValues()
  readonly #undecided = new Map<string, TableField>()

  /** `fields` is the known beginning of the table's list. `analysis` belongs to the same schema. */
  constructor(
    schema: TableSchema | undefined,
    fields: readonly TableField[] = [],
    analysis = new TableAnalysis(schema),
  ) {
    this.analysis = analysis
    this.#plans = new FieldPlans(schema, this.analysis.defaults)
    runAtOnce(this.learnInSteps(fields))
  }

  /** The number of known fields of the table's list. */
  get fieldCount(): number {
    return this.#plans.size
  }

  get fields(): readonly TableField[] {
    return this.#plans.list
  }

  /** The values that were left out so far. The documents themselves were indexed. */
  get dropped(): DroppedValues {
    return this.#dropped
  }

  /** Learns the next fields of the table's list. Skips fields that are already known. */
  *learnInSteps(fields: readonly TableField[]): Sliced<void> {
    const meter = new StepMeter(STEP_COST)
    for (const field of fields) {
      this.#plans.learn(field)
      this.#undecided.delete(nameOf(field))
      if (meter.spend(FIELD_COST)) yield
    }
  }

  /** Answers the unknown fields of documents since the last call. They must be learnt. */
  takeUndecided(): readonly TableField[] {
    const fields = [...this.#undecided.values()]
    this.#undecided.clear()
    return fields
  }

  /**
   * Resolves a field name of a query. Undefined is the field that queries without a name search.
   */
  resolveField(name: string | undefined): FieldInfo | undefined {
    return this.#plans.resolveField(name)
  }

  /** Whether the table's list takes no further field: the values of others have no name in the index. */
  get isFull(): boolean {
    return !this.#plans.hasRoom
  }

  /** Whether queries without a field name search this field too. */
  isInAll(path: string): boolean {
    return this.#plans.isInAll(path)
  }

  /** The fields that queries without a field name search. */
  namesInAll(): readonly string[] {
    return this.#plans.namesInAll()
  }

  /** Whether a schema gives any field a weight. */
  get hasBoosts(): boolean {
    return this.#plans.hasBoosts
  }

  /** The weight of a match in the field (`x-service-boost`). The default is 1. */
  boostOf(path: string): number {
    return this.#plans.boostOf(path)
  }

  /**
   * Whether the schema excludes a field of this name from the index. Documents may still have it.
   */
  isLeftOut(name: string): boolean {
    return this.#plans.isLeftOut(name)
  }

  /** For an index without other indexes of its table: it keeps the table's list by itself. */
  mapDocument(key: Uint8Array, document: JsonObject, expiresAtMs: number): IndexableDocument {
    for (;;) {
      const mapped = runAtOnce(this.mapDocumentInSteps(key, document, expiresAtMs))
      if (mapped !== undefined) return mapped
      runAtOnce(this.learnInSteps(this.takeUndecided()))
    }
  }

  /**
   * Answers undefined if the document has undecided fields. Another document may be mapped between
   * two steps.
   */
  *mapDocumentInSteps(
    key: Uint8Array,
    document: JsonObject,
    expiresAtMs: number,
  ): Sliced<IndexableDocument | undefined> {
    const run = new DocumentRun(this.analysis.termsOfDocument())
    const root = this.#plans.rootFor(document)
    yield* this.#addMembers({ run, root, node: root.node }, document)
    if (run.isUndecided) return undefined
    this.#dropped.add(run.dropped)
    return { key, expiresAtMs, fields: run.fields.finish() }
  }

  /** Only looks for undecided fields. */
  *surveyInSteps(document: JsonObject): Sliced<void> {
    const run = new DocumentRun(this.analysis.termsOfDocument())
    run.isUndecided = true
    const root = this.#plans.rootFor(document)
    yield* this.#addMembers({ run, root, node: root.node }, document)
  }

  *#addMembers(place: Place, object: JsonObject): Sliced<void> {
    const { run, root, node: parent } = place
    if (parent.segments.length >= INDEXED_DEPTH_MAX) {
      run.drop(place, 'overLimit')
      return
    }
    for (const name of Object.keys(object)) {
      const value = object[name]
      if (value === undefined || value === null) continue
      const node = this.#plans.member(place, name)
      if (node !== undefined) {
        const member = { run, root, node }
        if (typeof value === 'object') yield* this.#addValue(member, value)
        else this.#addLeaf(member, this.#planFor(member, value), value)
        if (run.long.length > 0) yield* this.#analyzeLong(run)
      }
      if (run.isStepFull()) yield
    }
  }

  *#addValue(place: Place, value: JsonValue): Sliced<void> {
    const plan = this.#planFor(place, value)
    if (plan?.kind === 'unindexed') return
    yield* this.#addElement(place, plan, value)
  }

  #planFor(place: Place, value: JsonValue): FieldPlan | undefined {
    const { run, node } = place
    const plan = this.#plans.planFor(place, value)
    const isDropped = plan !== undefined && node.plan === undefined && isNameless(plan)
    if (isDropped) run.drop(place, 'overLimit')
    if (plan?.kind !== 'undecided') return plan
    run.isUndecided = true
    const isNew = this.#undecided.size < TABLE_FIELDS_MAX && !this.#undecided.has(node.path)
    if (isNew) this.#undecided.set(node.path, plan.field)
    // The content of an object matters only if the field can have no value of its own.
    return plan.field.kind === 'object' || node.rule.kind === 'described' ? UNKNOWN : undefined
  }

  *#addElement(place: Place, plan: FieldPlan | undefined, value: JsonValue): Sliced<void> {
    if (isJsonArray(value) && !isOnePlace(plan, value)) {
      for (const element of value) {
        if (place.run.isStepFull()) yield
        if (element !== null) yield* this.#addElement(place, plan, element)
      }
    } else if (isJsonObject(value) && !isOfPlaces(plan)) {
      // If the schema describes a field as a value, an object there is wrong. A dynamic field may
      // have both.
      const isBad = plan !== undefined && place.node.rule.kind === 'described'
      if (isBad) place.run.drop(place, 'badValues')
      else yield* this.#addMembers(place, value)
    } else {
      this.#addLeaf(place, plan, value)
      if (place.run.long.length > 0) yield* this.#analyzeLong(place.run)
    }
  }

  /** Adds a value without members or elements. Its long texts are analyzed later, in steps. */
  #addLeaf(place: Place, plan: FieldPlan | undefined, value: JsonValue): void {
    const { run } = place
    if (plan === undefined || plan.kind === 'unindexed' || run.isUndecided) return
    let isInAll = plan.allAnalyzer === undefined
    for (const target of plan.targets) {
      // The tokens of the field's own analyzer also serve `_all`, if both analyzers are the same.
      const serves = !isInAll && target.kind === 'text' && target.analyzer === plan.allAnalyzer
      if (target.kind === 'text') this.#addText(place, target, { value, isForAll: serves })
      else addTo(place, target, value)
      isInAll ||= serves
    }
    const text = isInAll ? undefined : textOf(value)
    if (text === undefined || plan.allAnalyzer === undefined) return
    const sinks = [openText(place, ALL_FIELD, text)]
    this.#analyze(run, { analyzer: plan.allAnalyzer, text, sinks })
  }

  #addText(
    place: Place,
    target: Target,
    { value, isForAll }: { readonly value: JsonValue; readonly isForAll: boolean },
  ): void {
    const text = textFor(place, target, value)
    if (text === undefined) return
    const own = openText(place, target.indexField, text)
    const sinks = [own, isForAll ? openText(place, ALL_FIELD, text) : undefined]
    this.#analyze(place.run, { analyzer: target.analyzer ?? 'standard', text, sinks })
  }

  #analyze(run: DocumentRun, analysis: Analysis): void {
    const { analyzer, text, sinks } = analysis
    if (text.length > SHORT_LENGTH_MAX) run.long.push(analysis)
    else run.terms.analysis(analyzer).add(text, sinkOf(sinks))
    run.countText(Math.min(text.length, SHORT_LENGTH_MAX))
  }

  *#analyzeLong(run: DocumentRun): Sliced<void> {
    const analyses = run.long.splice(0)
    for (const { analyzer, text, sinks } of analyses) {
      yield* run.terms.analysis(analyzer).addInSteps(text, sinkOf(sinks))
      yield
    }
  }
}

/**
 * A text and the index fields that receive its tokens. A sink is undefined if its field is full.
 */
interface Analysis {
  readonly analyzer: string
  readonly text: string
  readonly sinks: readonly (NumberedTokens | undefined)[]
}

/** The state of mapping one document. */
class DocumentRun {
  readonly terms: DocumentTerms
  readonly fields: DocumentFields
  readonly #meter = new StepMeter(STEP_COST)
  /** The length of the texts that were analyzed since the last check of the step. */
  #textCost = 0
  readonly dropped = new DroppedValues()
  /** Texts to analyze in steps, before any other value is added. */
  readonly long: Analysis[] = []
  /** Whether the document has an undecided field. Its values are then not needed. */
  isUndecided = false

  constructor(terms: DocumentTerms) {
    this.terms = terms
    this.fields = new DocumentFields(terms.table)
  }

  countText(length: number): void {
    this.#textCost += length
  }

  /** Call this once for each value. */
  isStepFull(): boolean {
    const cost = this.#textCost + VALUE_COST
    this.#textCost = 0
    return this.#meter.spend(cost)
  }

  drop({ node }: FieldPlace, reason: DropReason): void {
    if (!this.isUndecided) this.dropped.count(node.path, reason)
  }
}

/** Whether the values have no index field of their own. */
function isNameless(plan: Exclude<ReturnType<FieldPlans['planFor']>, undefined>): boolean {
  return plan.kind === 'unindexed' || (plan.kind === 'indexed' && plan.targets.length === 0)
}

interface Place extends FieldPlace {
  readonly run: DocumentRun
}

function sinkOf(sinks: readonly (NumberedTokens | undefined)[]): NumberedTokens {
  const [first, second] = sinks
  if (second === undefined) return first ?? NOWHERE
  return first === undefined ? second : new BothSinks(first, second)
}

const NOWHERE: NumberedTokens = { push: () => undefined }

/** The tokens of a field that are also those of the field of all texts. */
class BothSinks implements NumberedTokens {
  readonly #first: NumberedTokens
  readonly #second: NumberedTokens

  constructor(first: NumberedTokens, second: NumberedTokens) {
    this.#first = first
    this.#second = second
  }

  push(term: number, position: number): void {
    this.#first.push(term, position)
    this.#second.push(term, position)
  }
}

/** Points and shapes may be arrays or objects. */
function isOfPlaces(plan: FieldPlan | undefined): boolean {
  const kind = plan?.kind === 'indexed' ? plan.targets[0]?.kind : undefined
  return kind === 'point' || kind === 'shape'
}

/** True for `[lon, lat]`, and false for an array of points. */
function isOnePlace(plan: FieldPlan | undefined, value: JsonArray): boolean {
  return isOfPlaces(plan) && value.length > 0 && value.every((one) => numberOf(one) !== undefined)
}

function openText(place: Place, indexField: string, text: string): NumberedTokens | undefined {
  const sink = place.run.fields.openText(indexField, Math.ceil(text.length / WORD_LENGTH))
  if (sink === undefined) place.run.drop(place, 'overLimit')
  return sink
}

function addTo(place: Place, target: Target, value: JsonValue): void {
  const { fields } = place.run
  const { kind, indexField } = target
  if (kind === 'point' || kind === 'shape') {
    addPlace(place, target, value)
    return
  }
  if (kind === 'number' || kind === 'date') {
    const number = kind === 'number' ? finiteNumberOf(value) : dateMsOf(value)
    const decimal = kind === 'number' ? decimalBeyond(value) : undefined
    if (number === undefined) place.run.drop(place, 'badValues')
    else if (!fields.addNumber(indexField, number, decimal)) place.run.drop(place, 'overLimit')
    return
  }
  const text = textFor(place, target, value)
  if (text === undefined || fields.addKeyword(indexField, CANONICAL.term(text))) return
  place.run.drop(place, 'overLimit')
}

function addPlace({ run, ...place }: Place, { kind, indexField }: Target, value: JsonValue): void {
  const shape = kind === 'shape' ? parseShape(value) : undefined
  const point = kind === 'point' ? parseGeoPoint(value) : undefined
  if (point !== undefined) {
    if (!run.fields.addPoint(indexField, point)) run.drop(place, 'overLimit')
  } else if (shape === undefined) {
    run.drop(place, 'badValues')
  } else if (!run.fields.addKeyword(indexField, shapeTerm(shape))) {
    run.drop(place, 'overLimit')
  }
}

function textFor(place: Place, { kind, lengthMax }: Target, value: JsonValue): string | undefined {
  const text = kind === 'boolean' ? booleanTermOf(value) : textOf(value)
  if (text !== undefined && text.length <= lengthMax) return text
  if (text === undefined) place.run.drop(place, 'badValues')
  // A longer string is left out of an inferred sub-field, and this does not count as dropped.
  else if (lengthMax >= KEYWORD_LENGTH_MAX) place.run.drop(place, 'overLimit')
  return undefined
}
