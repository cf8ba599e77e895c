import type { Sliced } from '../../../../lib/sliced.ts'
import { compareTexts, endOfPrefix } from '../encoding/compare-texts.ts'
import type { TermMatcher } from '../engine-query.ts'
import type { Poll } from '../poll.ts'
import type { DictionaryEntry } from '../segment/dictionary.ts'
import type { SegmentField } from '../segment/segment.ts'

/** The units of reading one term and testing it, if it is short. */
const TERM_COST = 32
/** A test of a longer term may take more than a step, so it runs in steps. */
const SHORT_LENGTH = 256
/** The walk reads this many terms in order before it seeks the next candidate instead. */
const PASSED_MAX = 16
/** The units of a seek: finding the place and reading the terms around it. */
const LEAP_COST = 512

/** The terms of one segment that match, one after the other, with pauses between them. */
export class TermWalk {
  readonly #matcher: TermMatcher
  readonly #poll: Poll
  readonly #field: SegmentField
  #entries: Iterator<DictionaryEntry>
  /** Where the walk continues: no term before it matches. Undefined if the next term may match. */
  #resumeAt: string | undefined
  #passed = 0
  #underTest: { readonly entry: DictionaryEntry; readonly test: Sliced<boolean> } | undefined
  #spent: number

  constructor(field: SegmentField, matcher: TermMatcher, poll: Poll) {
    this.#matcher = matcher
    this.#poll = poll
    this.#field = field
    this.#entries = field.entriesFrom(matcher.prefix)[Symbol.iterator]()
    this.#spent = matcher.spent?.() ?? 0
  }

  /** The next matching term. After `pause` the caller renews the poll and calls again. */
  next(): DictionaryEntry | 'pause' | 'end' {
    while (!this.#poll.isDue) {
      const entry = this.#underTest === undefined ? this.#nextToTest() : this.#testOn()
      if (entry === 'end') this.#matcher.forget?.()
      if (entry !== undefined) return entry
      this.#charge()
    }
    return 'pause'
  }

  /** Undefined for a term that does not match, or whose test continues in the next step. */
  #nextToTest(): DictionaryEntry | 'end' | undefined {
    const { prefix, upTo } = this.#matcher
    const step = this.#entries.next()
    if (step.done === true) return 'end'
    const entry = step.value
    if (!entry.text.startsWith(prefix)) return 'end'
    if (upTo !== undefined && compareTexts(entry.text, upTo) > 0) return 'end'
    this.#poll.spend(TERM_COST)
    if (this.#isPassed(entry.text) || entry.docFreq === 0) return undefined
    const isShort = entry.text.length <= SHORT_LENGTH
    const test = isShort ? undefined : this.#matcher.matchesSliced?.(entry.text)
    if (test === undefined) return this.#matches(entry.text) ? entry : undefined
    this.#underTest = { entry, test }
    return undefined
  }

  #matches(text: string): boolean {
    if (this.#matcher.matches(text)) return true
    const deadEnd = this.#matcher.deadEnd?.()
    if (deadEnd !== undefined && deadEnd !== '') this.#resumeAt = endOfPrefix(deadEnd)
    return false
  }

  /**
   * Whether the term lies in a range without a match. It seeks the end of the range if that may be
   * far.
   */
  #isPassed(text: string): boolean {
    if (this.#resumeAt === undefined) return false
    if (compareTexts(text, this.#resumeAt) >= 0) {
      this.#resumeAt = undefined
      this.#passed = 0
      return false
    }
    this.#passed += 1
    if (this.#passed < PASSED_MAX) return true
    this.#entries = this.#field.entriesFrom(this.#resumeAt)[Symbol.iterator]()
    this.#poll.spend(LEAP_COST)
    this.#resumeAt = undefined
    this.#passed = 0
    return true
  }

  /** One step of a long test. */
  #testOn(): DictionaryEntry | undefined {
    const step = this.#underTest?.test.next()
    if (step?.done !== true) return undefined
    const entry = this.#underTest?.entry
    this.#underTest = undefined
    return step.value ? entry : undefined
  }

  #charge(): void {
    const spent = this.#matcher.spent?.() ?? 0
    this.#poll.spend(spent - this.#spent)
    this.#spent = spent
  }
}
