// Checks documents against a schema in steps. A document is its text and a tape of its values, so
// no keyword builds or lists an object, however large.
//
// The validator counts its work and refuses a document that costs too much. Nested alternatives can
// multiply the work beyond any limit on the size of schema and document.

import { ServiceError } from '../../lib/errors.ts'
import type { LinearPattern } from '../../lib/linear-pattern/linear-pattern.ts'
import { StepMeter, type Sliced } from '../../lib/sliced.ts'
import { digestOf } from '../document/canonical-digest.ts'
import { JsonTape } from '../document/json-tape.ts'
import { readLongString } from '../document/long-string.ts'
import { DigestSet } from './digest-set.ts'
import { EntryMarks } from './entry-marks.ts'
import { isStrictness } from './strict-objects.ts'
import { kindProblem, limitProblem, numberProblem } from './value-rules.ts'
import {
  containsProblem,
  formatProblem,
  inside,
  requiredProblem,
  STRICT_PROBLEM,
  unevaluatedProblem,
  violation,
  type FoundViolation,
} from './schema-violation.ts'
import type {
  ArrayRules,
  Combination,
  ObjectRules,
  SchemaNode,
  SchemaRules,
  StringRules,
} from './schema-node.ts'

interface Member {
  readonly name: string
  /** The tape entry of the value. */
  readonly at: number
}

/** A unit takes about 25 ns. */
const STEP_UNITS = 40_000
const VISIT_UNITS = 20
const MEMBER_UNITS = 8
const DIGEST_UNITS = 60
const WORK_UNITS_MAX = 400_000_000
const WORK_UNITS_LEAST = 2_000_000
const WORK_UNITS_PER_BYTE = 1000
const SHORT_STRING_BYTES_MAX = 512

/** The first violation in `document`, which is compact JSON that the scanner has accepted. */
export function* findViolation(root: SchemaNode, document: Buffer): Sliced<FoundViolation> {
  const tape = yield* JsonTape.of(document)
  return yield* new SchemaValidator(tape).validate(root, 0, undefined)
}

class SchemaValidator {
  readonly #tape: JsonTape
  readonly #meter = new StepMeter(STEP_UNITS)
  readonly #unitsMax: number
  #units = 0
  #isDue = false

  constructor(tape: JsonTape) {
    this.#tape = tape
    const bySize = WORK_UNITS_LEAST + WORK_UNITS_PER_BYTE * tape.bytes.length
    this.#unitsMax = Math.min(bySize, WORK_UNITS_MAX)
  }

  /**
   * `seen` collects the members and elements that were evaluated, for the `unevaluated` keywords.
   */
  *validate(node: SchemaNode, at: number, seen: EntryMarks | undefined): Sliced<FoundViolation> {
    const quick = this.#quick(node, at)
    if (quick !== 'open') return quick
    if (this.#spend(VISIT_UNITS)) yield
    const { rules } = node
    if (rules === undefined) return undefined
    const own = seen ?? (needsMarks(rules) ? new EntryMarks() : undefined)
    return (
      this.#plainProblem(rules, at) ??
      (yield* this.#longString(rules, at)) ??
      (yield* this.#choices(rules, at)) ??
      (yield* this.#combination(rules.combination, at, own)) ??
      (yield* this.#inside(rules, at, own))
    )
  }

  /**
   * Decides at once, as far as possible; this covers most scalars. `open` leaves the value to
   * `validate`.
   */
  #quick(node: SchemaNode, at: number): FoundViolation | 'open' {
    if (node.isFalse) return violation('boolean schema is false')
    const { rules } = node
    if (rules === undefined) return undefined
    if (rules.combination !== undefined || rules.choices.length > 0) return 'open'
    const tape = this.#tape
    const kind = tape.kind(at)
    if (kind === 'object' || kind === 'array') return 'open'
    if (kind === 'string' && tape.textBytes(at) > SHORT_STRING_BYTES_MAX) return 'open'
    this.#count(VISIT_UNITS)
    const problem = this.#plainProblem(rules, at)
    if (problem !== undefined || kind !== 'string' || rules.string === undefined) return problem
    return this.#shortString(rules.string, tape.string(at))
  }

  #plainProblem(rules: SchemaRules, at: number): FoundViolation {
    const tape = this.#tape
    const isNumber = rules.number !== undefined && tape.kind(at) === 'number'
    const problem =
      kindProblem(rules.types, tape, at) ??
      (isNumber ? numberProblem(rules.number, tape.number(at)) : undefined)
    return problem === undefined ? undefined : violation(problem)
  }

  #shortString(rules: StringRules, text: string): FoundViolation {
    const { length, pattern } = rules
    this.#count(text.length)
    if (length.min !== undefined || length.max !== undefined) {
      const problem = limitProblem(length, Array.from(text).length, 'characters')
      if (problem !== undefined) return violation(problem)
    }
    if (pattern !== undefined && !this.#matchesShort(pattern.pattern, text)) {
      return violation(`must match pattern "${pattern.source}"`)
    }
    return formatProblem(rules, text)
  }

  #matchesShort(pattern: LinearPattern, text: string): boolean {
    const before = pattern.spent
    const isMatch = pattern.test(text)
    this.#count(pattern.spent - before)
    return isMatch
  }

  /** Checks a string in steps. Short strings come here too if other rules apply to them. */
  *#longString({ string }: SchemaRules, at: number): Sliced<FoundViolation> {
    const tape = this.#tape
    if (string === undefined || tape.kind(at) !== 'string') return undefined
    const text = yield* readLongString(tape.text(at))
    const { length, pattern } = string
    if (length.min !== undefined || length.max !== undefined) {
      const problem = limitProblem(length, yield* this.#characters(text), 'characters')
      if (problem !== undefined) return violation(problem)
    }
    if (pattern !== undefined && !(yield* this.#matches(pattern.pattern, text))) {
      return violation(`must match pattern "${pattern.source}"`)
    }
    return formatProblem(string, text)
  }

  /** Counts code points. */
  *#characters(text: string): Sliced<number> {
    let count = 0
    for (let at = 0; at < text.length; at++) {
      const code = text.codePointAt(at) ?? 0
      if (code > 0xffff) at++
      count++
      if (count % STEP_UNITS === 0 && this.#spend(STEP_UNITS)) yield
    }
    if (this.#spend(count % STEP_UNITS)) yield
    return count
  }

  *#matches(pattern: LinearPattern, text: string): Sliced<boolean> {
    const before = pattern.spent
    const isMatch = yield* pattern.testSliced(text)
    if (this.#spend(pattern.spent - before)) yield
    return isMatch
  }

  *#choices({ choices }: SchemaRules, at: number): Sliced<FoundViolation> {
    if (choices.length === 0) return undefined
    const digest = yield* digestOf(this.#tape.text(at))
    if (this.#spend(DIGEST_UNITS + this.#tape.textBytes(at))) yield
    const missed = choices.find(({ digests }) => !digests.has(digest))
    if (missed === undefined) return undefined
    return violation(
      missed.isConst ? 'must be equal to constant' : 'must be equal to one of the allowed values',
    )
  }

  *#combination(
    rules: Combination | undefined,
    at: number,
    seen: EntryMarks | undefined,
  ): Sliced<FoundViolation> {
    if (rules === undefined) return undefined
    for (const node of rules.all) {
      const found = yield* this.validate(node, at, seen)
      if (found !== undefined) return found
    }
    if (rules.not !== undefined) {
      const found = yield* this.validate(rules.not, at, undefined)
      if (found === undefined) return violation('must NOT be valid')
    }
    return (
      (yield* this.#anyOf(rules.anyOf, at, seen)) ??
      (yield* this.#oneOf(rules.oneOf, at, seen)) ??
      (yield* this.#condition(rules.condition, at, seen))
    )
  }

  *#inside(
    { array, object }: SchemaRules,
    at: number,
    seen: EntryMarks | undefined,
  ): Sliced<FoundViolation> {
    const kind = this.#tape.kind(at)
    if (kind === 'array' && array !== undefined) return yield* this.#array(array, at, seen)
    if (kind === 'object' && object !== undefined) return yield* this.#object(object, at, seen)
    return undefined
  }

  *#anyOf(
    nodes: readonly SchemaNode[] | undefined,
    at: number,
    seen: EntryMarks | undefined,
  ): Sliced<FoundViolation> {
    if (nodes === undefined) return undefined
    let first: FoundViolation
    let holds = false
    for (const node of nodes) {
      const own = seen === undefined ? undefined : new EntryMarks()
      const found = yield* this.validate(node, at, own)
      first ??= found
      if (found !== undefined) continue
      holds = true
      // Without marks, one match decides and the other schemas do not matter.
      if (seen === undefined || own === undefined) break
      seen.addAll(own)
    }
    return holds ? undefined : first
  }

  *#oneOf(
    nodes: readonly SchemaNode[] | undefined,
    at: number,
    seen: EntryMarks | undefined,
  ): Sliced<FoundViolation> {
    if (nodes === undefined) return undefined
    let first: FoundViolation
    let matched = 0
    for (const node of nodes) {
      const own = seen === undefined ? undefined : new EntryMarks()
      const found = yield* this.validate(node, at, own)
      first ??= found
      if (found !== undefined) continue
      if (++matched > 1) return violation('must match exactly one schema in oneOf')
      if (own !== undefined) seen?.addAll(own)
    }
    return matched === 1 ? undefined : first
  }

  *#condition(
    condition: Combination['condition'],
    at: number,
    seen: EntryMarks | undefined,
  ): Sliced<FoundViolation> {
    if (condition === undefined) return undefined
    const own = seen === undefined ? undefined : new EntryMarks()
    const holds = (yield* this.validate(condition.test, at, own)) === undefined
    if (holds && own !== undefined) seen?.addAll(own)
    const next = holds ? condition.whenTrue : condition.whenFalse
    return next === undefined ? undefined : yield* this.validate(next, at, seen)
  }

  *#array(rules: ArrayRules, at: number, seen: EntryMarks | undefined): Sliced<FoundViolation> {
    const tape = this.#tape
    const end = tape.next(at)
    let count = 0
    for (let entry = at + 1; entry < end; entry = tape.next(entry)) {
      if (this.#spend(MEMBER_UNITS)) yield
      const node = rules.prefix[count] ?? rules.rest
      if (node !== undefined) {
        const quick = this.#quick(node, entry)
        const found = quick === 'open' ? yield* this.validate(node, entry, undefined) : quick
        if (found !== undefined) return inside(count, found)
        seen?.add(entry)
      }
      count++
    }
    const problem = limitProblem(rules.size, count, 'items')
    if (problem !== undefined) return violation(problem)
    return (
      (yield* this.#contains(rules.contains, at, seen)) ??
      (yield* this.#unique(rules, at)) ??
      (yield* this.#unevaluated(rules.unevaluated, at, seen))
    )
  }

  *#contains(
    rule: ArrayRules['contains'],
    at: number,
    seen: EntryMarks | undefined,
  ): Sliced<FoundViolation> {
    if (rule === undefined) return undefined
    const tape = this.#tape
    const end = tape.next(at)
    let found = 0
    for (let entry = at + 1; entry < end; entry = tape.next(entry)) {
      if ((yield* this.validate(rule.node, entry, undefined)) !== undefined) continue
      found++
      seen?.add(entry)
    }
    const problem = containsProblem(rule, found)
    return problem === undefined ? undefined : violation(problem)
  }

  *#unique({ unique }: ArrayRules, at: number): Sliced<FoundViolation> {
    if (!unique) return undefined
    const tape = this.#tape
    const end = tape.next(at)
    const places = new DigestSet()
    let index = 0
    for (let entry = at + 1; entry < end; entry = tape.next(entry)) {
      const digest = yield* digestOf(tape.text(entry))
      if (this.#spend(DIGEST_UNITS + tape.textBytes(entry))) yield
      const earlier = places.add(digest, index)
      if (earlier !== undefined) {
        const items = `items ## ${earlier} and ${index} are identical`
        return violation(`must NOT have duplicate items (${items})`)
      }
      index++
    }
    return undefined
  }

  *#object(rules: ObjectRules, at: number, seen: EntryMarks | undefined): Sliced<FoundViolation> {
    const found = (yield* this.#names(rules, at)) ?? (yield* this.#dependents(rules, at, seen))
    if (found !== undefined) return found
    return (
      (yield* this.#members(rules, at, seen)) ??
      (yield* this.#unevaluated(rules.unevaluated, at, seen))
    )
  }

  *#members(rules: ObjectRules, at: number, seen: EntryMarks | undefined): Sliced<FoundViolation> {
    const tape = this.#tape
    const { members, patterns, additional, names } = rules
    if (members.size + patterns.length === 0 && additional === undefined && names === undefined) {
      return undefined
    }
    const end = tape.next(at)
    for (let entry = at + 1; entry < end; entry = tape.next(entry + 1)) {
      if (this.#spend(MEMBER_UNITS)) yield
      if (names !== undefined) {
        const wrong = yield* this.validate(names, entry, undefined)
        if (wrong !== undefined) return { ...wrong, pointer: '' }
      }
      const member = { name: tape.string(entry), at: entry + 1 }
      const found = yield* this.#member(rules, member, seen)
      if (found !== undefined) return found
    }
    return undefined
  }

  *#member(
    rules: ObjectRules,
    { name, at }: Member,
    seen: EntryMarks | undefined,
  ): Sliced<FoundViolation> {
    const named = rules.members.get(name)
    if (named !== undefined) {
      const quick = this.#quick(named, at)
      const found = quick === 'open' ? yield* this.validate(named, at, undefined) : quick
      if (found !== undefined) return inside(name, found)
    }
    let isKnown = named !== undefined
    for (const rule of rules.patterns) {
      if (!(yield* this.#matches(rule.pattern, name))) continue
      isKnown = true
      const found = yield* this.validate(rule.node, at, undefined)
      if (found !== undefined) return inside(name, found)
    }
    const { additional } = rules
    if (isKnown || additional !== undefined) seen?.add(at)
    return isKnown || additional === undefined
      ? undefined
      : yield* this.#additional(additional, { name, at })
  }

  *#additional(node: SchemaNode, { name, at }: Member): Sliced<FoundViolation> {
    if (node.isFalse) return violation('must NOT have additional properties')
    const found = yield* this.validate(node, at, undefined)
    return found === undefined ? undefined : inside(name, found)
  }

  /** Checks the number of members and their names. */
  *#names(rules: ObjectRules, at: number): Sliced<FoundViolation> {
    const { asked } = rules
    const present = new Set<string>()
    const tape = this.#tape
    const end = tape.next(at)
    let count = 0
    const hasSize = rules.size.min !== undefined || rules.size.max !== undefined
    for (let entry = at + 1; entry < end; entry = tape.next(entry + 1)) {
      if (asked.size === 0 && !hasSize) break
      if (this.#spend(MEMBER_UNITS)) yield
      const name = asked.size === 0 ? '' : tape.string(entry)
      if (asked.has(name)) present.add(name)
      count++
    }
    if (this.#spend(asked.size)) yield
    const problem =
      (hasSize ? limitProblem(rules.size, count, 'properties') : undefined) ??
      requiredProblem(rules, present)
    return problem === undefined ? undefined : violation(problem)
  }

  *#dependents(
    rules: ObjectRules,
    at: number,
    seen: EntryMarks | undefined,
  ): Sliced<FoundViolation> {
    if (rules.dependentSchemas.size === 0) return undefined
    const tape = this.#tape
    const end = tape.next(at)
    for (let entry = at + 1; entry < end; entry = tape.next(entry + 1)) {
      if (this.#spend(MEMBER_UNITS)) yield
      for (const node of rules.dependentSchemas.get(tape.string(entry)) ?? []) {
        const found = yield* this.validate(node, at, seen)
        if (found !== undefined) return found
      }
    }
    return undefined
  }

  *#unevaluated(
    node: SchemaNode | undefined,
    at: number,
    seen: EntryMarks | undefined,
  ): Sliced<FoundViolation> {
    if (node === undefined) return undefined
    const tape = this.#tape
    const end = tape.next(at)
    const isObject = tape.kind(at) === 'object'
    let index = 0
    for (let entry = at + 1; entry < end; index++) {
      if (this.#spend(MEMBER_UNITS)) yield
      const value = isObject ? entry + 1 : entry
      const found =
        seen?.has(value) === true ? undefined : yield* this.validate(node, value, undefined)
      if (found !== undefined) {
        if (isStrictness(node)) return inside(tape.string(entry), violation(STRICT_PROBLEM))
        if (node.isFalse) return violation(unevaluatedProblem(isObject, index))
        return inside(isObject ? tape.string(entry) : index, found)
      }
      seen?.add(value)
      entry = tape.next(value)
    }
    return undefined
  }

  /** Counts work. True means that the caller must pause. */
  #spend(units: number): boolean {
    this.#count(units)
    const isDue = this.#isDue
    this.#isDue = false
    return isDue
  }

  #count(units: number): void {
    if (this.#meter.spend(units)) this.#isDue = true
    this.#units += units
    if (this.#units <= this.#unitsMax) return
    throw new ServiceError(
      'INVALID_ARGUMENT',
      'checking this document against the schema takes too much work;  ' +
        'use fewer nested alternatives in the schema, or a smaller document',
    )
  }
}

function needsMarks({ array, object }: SchemaRules): boolean {
  return array?.unevaluated !== undefined || object?.unevaluated !== undefined
}
