// Projects stored documents in steps. Large values are copied as text; only small values become
// objects.

import { StepMeter, type Sliced } from '../../lib/sliced.ts'
import {
  parseExact,
  parseExactInSteps,
  stringifyExact,
  type JsonObject,
  type JsonValue,
} from './exact-json.ts'
import { isJsonObject } from './json-object.ts'
import { JsonScanner, kindAt, readString, SCAN_STEP_BYTES } from './json-scanner.ts'
import {
  asksFor,
  buildPathSet,
  buildTree,
  childrenOf,
  insideArray,
  omit,
  pick,
  project,
  type ProjectionNode,
  type PathSet,
  type Projection,
} from './projection.ts'
import { AskedNames } from './open-object.ts'
import { memberTexts } from './text-at-path.ts'
import type { FieldPath } from './field-path.ts'

/** A value of this length or less is parsed and projected in one step. */
const SMALL_BYTES_MAX = 32 * 1024
/** What a member costs beside its bytes. The unit is bytes. */
const MEMBER_COST_BYTES = 100
const COPIED_PER_STEP = 1024 * 1024
const EMPTY_OBJECT = Buffer.from('{}')
const COLON = Buffer.from(':')
const COMMA = Buffer.from(',')
const OBJECT: Brackets = { open: Buffer.from('{'), close: Buffer.from('}') }
const ARRAY: Brackets = { open: Buffer.from('['), close: Buffer.from(']') }

type Nodes = readonly ProjectionNode[]
/** Cuts a small value. Answers undefined if nothing is left of it. */
type Cut = (value: JsonValue, nodes: Nodes) => JsonValue | undefined

/** Projects as `project` does, for compact JSON text of any size. */
export function* projectText(
  json: Buffer,
  projection: Projection,
  virtuals: JsonObject = {},
): Sliced<Buffer> {
  if (json.length <= SMALL_BYTES_MAX) {
    const document = parseExact(json)
    if (!isJsonObject(document)) return EMPTY_OBJECT
    return Buffer.from(stringifyExact(project(document, projection, virtuals)))
  }
  const { included, excluded } = projection
  const whole = yield* withVirtuals(json, projection, virtuals)
  const kept =
    included.paths.length === 0
      ? whole
      : yield* cutText(whole, included, { cut: pick, keepsAll: false })
  if (excluded.paths.length === 0) return kept
  return yield* cutText(kept, excluded, { cut: omit, keepsAll: true })
}

/** A small document that has the same values at the paths. */
export function* documentAtPaths(json: Buffer, paths: readonly FieldPath[]): Sliced<JsonValue> {
  const projection = { included: buildPathSet(paths), excluded: buildPathSet([]) }
  if (json.length <= SMALL_BYTES_MAX) return parseExact(json)
  if (paths.length === 0) return {}
  const cut = yield* projectText(json, projection)
  yield
  return yield* parseExactInSteps(cut)
}

function* withVirtuals(json: Buffer, projection: Projection, virtuals: JsonObject): Sliced<Buffer> {
  const names = Object.keys(virtuals).filter((name) => asksFor(projection, name))
  if (names.length === 0) return json
  const present = yield* memberTexts(json, new AskedNames(names))
  const given = Object.entries(virtuals).filter(
    ([name]) => names.includes(name) && !present.has(name),
  )
  if (given.length === 0) return json
  const members = stringifyExact(Object.fromEntries(given)).slice(1)
  return Buffer.concat([json.subarray(0, -1), Buffer.from(`,${members}`)])
}

interface CutRule {
  readonly cut: Cut
  /** Whether the cut keeps values that no path names, and containers that it has emptied. */
  readonly keepsAll: boolean
}

function* cutText(json: Buffer, set: PathSet, rule: CutRule): Sliced<Buffer> {
  const cutter = new TextCutter(json.length, rule)
  const hasAny = yield* cutter.write(json, [yield* rootFor(json, set)])
  return hasAny ? cutter.text() : EMPTY_OBJECT
}

/**
 * A path with dots first means the top-level member of exactly this name, then the nested value.
 */
function* rootFor(json: Buffer, { paths, root }: PathSet): Sliced<ProjectionNode> {
  const dotted = paths.filter(({ segments }) => segments.length > 1)
  if (dotted.length === 0) return root
  const names = new AskedNames(dotted.map(({ text }) => text))
  const literals = yield* memberTexts(json, names)
  if (literals.size === 0) return root
  return buildTree(paths.map(({ text, segments }) => (literals.has(text) ? [text] : segments)))
}

interface Brackets {
  readonly open: Buffer
  readonly close: Buffer
}

/** Adjacent small members or elements of one container. They are cut together. */
class Run {
  readonly nodes: Nodes
  readonly #container: Buffer
  #start = 0
  #end = 0

  constructor(container: Buffer, nodes: Nodes) {
    this.#container = container
    this.nodes = nodes
  }

  /** Adds a member or element. False means that the run would become too long. */
  take(start: number, end: number): boolean {
    const from = this.#end === 0 ? start : this.#start
    if (end - from > SMALL_BYTES_MAX) return false
    this.#start = from
    this.#end = end
    return true
  }

  /** The text of the run, commas included. Empties the run. */
  text(): Buffer | undefined {
    if (this.#end === 0) return undefined
    const text = this.#container.subarray(this.#start, this.#end)
    this.#end = 0
    return text
  }
}

class TextCutter {
  readonly #rule: CutRule
  readonly #out: Buffer
  readonly #meter = new StepMeter(SCAN_STEP_BYTES)
  #length = 0

  /** `bytes` is the length of the whole text. A cut never makes a text longer. */
  constructor(bytes: number, rule: CutRule) {
    this.#out = Buffer.allocUnsafe(bytes)
    this.#rule = rule
  }

  text(): Buffer {
    return this.#out.subarray(0, this.#length)
  }

  /**
   * Writes what the cut leaves of the value. False means that nothing is left and nothing was
   * written.
   */
  *write(value: Buffer, nodes: Nodes): Sliced<boolean> {
    const { keepsAll, cut } = this.#rule
    const isNamed = nodes.some((node) => node.isLeaf)
    if (isNamed) return keepsAll ? false : yield* this.#copyInSteps(value)
    if (nodes.length === 0) return keepsAll ? yield* this.#copyInSteps(value) : false
    const kind = kindAt(value, 0)
    if (kind !== 'object' && kind !== 'array') return keepsAll ? this.#copy(value) : false
    if (value.length <= SMALL_BYTES_MAX) {
      const left = cut(parseExact(value), nodes)
      if (this.#meter.spend(value.length)) yield
      return left === undefined ? false : this.#copy(Buffer.from(stringifyExact(left)))
    }
    return kind === 'object' ? yield* this.#object(value, nodes) : yield* this.#array(value, nodes)
  }

  *#object(value: Buffer, nodes: Nodes): Sliced<boolean> {
    const scanner = new JsonScanner(value)
    const run = new Run(value, nodes)
    const start = this.#length
    scanner.enterObject()
    while (scanner.nextMember()) {
      const { nameStart, nameEnd, nameHasEscapes } = scanner
      const member = yield* this.#next(scanner)
      if (run.take(nameStart - 1, scanner.position)) continue
      this.#flush(run, OBJECT, start)
      if (run.take(nameStart - 1, scanner.position)) continue
      const name = readString(value, nameStart, nameEnd, nameHasEscapes)
      const before = this.#length
      this.#copy(before === start ? OBJECT.open : COMMA)
      this.#copy(value.subarray(nameStart - 1, nameEnd + 1))
      this.#copy(COLON)
      if (!(yield* this.write(member, childrenOf(nodes, name)))) this.#length = before
    }
    return this.#close(run, OBJECT, start)
  }

  *#array(value: Buffer, nodes: Nodes): Sliced<boolean> {
    const scanner = new JsonScanner(value)
    const run = new Run(value, nodes)
    const inside = insideArray(nodes)
    const start = this.#length
    scanner.enterArray()
    while (scanner.nextElement()) {
      const element = yield* this.#next(scanner)
      const elementStart = scanner.position - element.length
      if (run.take(elementStart, scanner.position)) continue
      this.#flush(run, ARRAY, start)
      if (run.take(elementStart, scanner.position)) continue
      const before = this.#length
      this.#copy(before === start ? ARRAY.open : COMMA)
      if (!(yield* this.write(element, inside))) this.#length = before
    }
    return this.#close(run, ARRAY, start)
  }

  /** Cuts the members or elements of a run together and writes what is left. */
  #flush(run: Run, { open, close }: Brackets, start: number): void {
    const text = run.text()
    if (text === undefined) return
    const left = this.#rule.cut(parseExact(Buffer.concat([open, text, close])), run.nodes)
    const inner = left === undefined ? '' : stringifyExact(left).slice(1, -1)
    if (inner === '') return
    this.#copy(this.#length === start ? open : COMMA)
    this.#copy(Buffer.from(inner))
  }

  #close(run: Run, brackets: Brackets, start: number): boolean {
    this.#flush(run, brackets, start)
    if (this.#length > start) return this.#copy(brackets.close)
    if (!this.#rule.keepsAll) return false
    this.#copy(brackets.open)
    return this.#copy(brackets.close)
  }

  /** The text of the next value. */
  *#next(scanner: JsonScanner): Sliced<Buffer> {
    scanner.beginValue()
    const start = scanner.position
    while (!scanner.scanSome(SCAN_STEP_BYTES)) yield
    if (this.#meter.spend(scanner.position - start + MEMBER_COST_BYTES)) yield
    return scanner.bytes.subarray(start, scanner.position)
  }

  *#copyInSteps(text: Buffer): Sliced<true> {
    for (let from = 0; from < text.length; from += COPIED_PER_STEP) {
      if (from > 0) yield
      this.#copy(text.subarray(from, from + COPIED_PER_STEP))
    }
    return true
  }

  #copy(text: Buffer): true {
    this.#length += text.copy(this.#out, this.#length)
    return true
  }
}
