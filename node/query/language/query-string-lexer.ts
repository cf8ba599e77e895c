// The characters of a query string. Every method moves forward, so reading takes linear time.

import { ServiceError } from '../../../lib/errors.ts'
import { located } from '../../document/document-limits.ts'
import { QUERY_PATTERN_LENGTH_MAX } from '../query-limits.ts'

export type Operator = 'and' | 'or' | 'not'

/** A run of characters without a meaning of their own, escapes resolved. */
export interface Word {
  readonly start: number
  readonly text: string
  /** The same as a wildcard pattern: what was escaped still is. */
  readonly pattern: string
  /** How many `*` and `?` have their meaning. */
  readonly wildcards: number
  /** The only wildcard is a `*`, and it is the last character. */
  readonly isPrefix: boolean
}

const OPERATORS: Readonly<Record<string, Operator>> = {
  AND: 'and',
  '&&': 'and',
  OR: 'or',
  '||': 'or',
  NOT: 'not',
}
const OPERATOR = /(?:AND|OR|NOT|&&|\|\|)(?=[\s()"]|$)/y
const SPACE = /\s*/y
const DECIMAL = /(?:\d+(?:\.\d+)?|\.\d+)(?=[\s()^]|$)/y

const WORD_END = /[\s()[\]{}":^~]/
/** A time of day has colons, and behind a comparison or in a range there can be no field. */
const COMPARED_END = /[\s()[\]{}"^~]/
const HAS_MEANING_IN_PATTERN = /[*?\\]/
const BOUND_END = /[\s[\]{}"]/

export class QueryStringLexer {
  readonly #text: string
  #position = 0

  constructor(text: string) {
    this.#text = text
  }

  get position(): number {
    return this.#position
  }

  get isAtEnd(): boolean {
    return this.#position >= this.#text.length
  }

  /** The next character; empty at the end. */
  peek(): string {
    return this.#text.charAt(this.#position)
  }

  skipSpace(): void {
    this.#match(SPACE)
  }

  take(expected: string): boolean {
    if (!this.#text.startsWith(expected, this.#position)) return false
    this.#position += expected.length
    return true
  }

  peekOperator(): Operator | undefined {
    OPERATOR.lastIndex = this.#position
    const found = OPERATOR.exec(this.#text)
    return found === null ? undefined : OPERATORS[found[0]]
  }

  takeOperator(operator: Operator): boolean {
    if (this.peekOperator() !== operator) return false
    this.#match(OPERATOR)
    return true
  }

  /** An unsigned decimal, if one stands here. */
  readDecimal(): number | undefined {
    const found = this.#match(DECIMAL)
    return found === undefined ? undefined : Number(found)
  }

  /** Undefined where no word begins. */
  readWord(): Word | undefined {
    return this.#readUntil(WORD_END)
  }

  readCompared(): Word | undefined {
    return this.#readUntil(COMPARED_END)
  }

  readBound(): Word | undefined {
    return this.#readUntil(BOUND_END)
  }

  /** The text between the quotes, of which the first is next. */
  readQuoted(): string {
    const start = this.#position
    let text = ''
    for (this.#position++; this.peek() !== '"'; this.#position++) {
      if (this.isAtEnd) this.#failUnclosed('"', 'phrase', start)
      if (this.peek() === '\\') this.#skipEscape()
      text += this.peek()
    }
    this.#position++
    return text
  }

  /** The pattern between the slashes, of which the first is next. Only `\/` is resolved. */
  readRegexp(): string {
    const start = this.#position
    let pattern = ''
    for (this.#position++; this.peek() !== '/'; this.#position++) {
      if (this.isAtEnd) this.#failUnclosed('/', 'regular expression', start)
      if (this.peek() === '\\') {
        this.#skipEscape()
        if (this.peek() !== '/') pattern += '\\'
      }
      pattern += this.peek()
    }
    this.#position++
    if (pattern === '') this.fail('expected a regular expression between the slashes', start)
    this.checkPattern(pattern, start)
    return pattern
  }

  checkPattern(pattern: string, start: number): void {
    if (pattern.length <= QUERY_PATTERN_LENGTH_MAX) return
    this.fail(`a pattern may have at most ${QUERY_PATTERN_LENGTH_MAX} characters`, start)
  }

  failExpecting(expected: string): never {
    const rest = this.#text.slice(this.#position, this.#position + 2)
    const [found] = rest
    return this.fail(
      `expected ${expected}, found ${found === undefined ? 'the end' : JSON.stringify(found)}`,
    )
  }

  fail(problem: string, position = this.#position): never {
    throw new ServiceError('INVALID_ARGUMENT', `${this.#placeOf(position)}: ${problem}`)
  }

  /** Runs `read`; a refusal from it gets the place in front. */
  at<T>(position: number, read: () => T): T {
    try {
      return read()
    } catch (error) {
      throw located(this.#placeOf(position), error)
    }
  }

  /** Code points from 1. Counts them all, so this is for refusals alone. */
  columnOf(position: number): number {
    return Array.from(this.#text.slice(0, position)).length + 1
  }

  #placeOf(position: number): string {
    return `query string, column ${this.columnOf(position)}`
  }

  #readUntil(end: RegExp): Word | undefined {
    const start = this.#position
    let [text, pattern, wildcards, endsInStar] = ['', '', 0, false]
    for (; !this.isAtEnd && !end.test(this.peek()); this.#position++) {
      const isEscaped = this.peek() === '\\'
      if (isEscaped) this.#skipEscape()
      const isWildcard = !isEscaped && (this.peek() === '*' || this.peek() === '?')
      if (isWildcard) wildcards++
      endsInStar = isWildcard && this.peek() === '*'
      text += this.peek()
      pattern +=
        isEscaped && HAS_MEANING_IN_PATTERN.test(this.peek()) ? `\\${this.peek()}` : this.peek()
    }
    if (this.#position === start) return undefined
    return { start, text, pattern, wildcards, isPrefix: wildcards === 1 && endsInStar }
  }

  #skipEscape(): void {
    this.#position++
    if (this.isAtEnd) this.failExpecting('a character behind the "\\"')
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#position
    const found = pattern.exec(this.#text)?.[0]
    if (found !== undefined) this.#position += found.length
    return found
  }

  #failUnclosed(closing: string, what: string, start: number): never {
    return this.failExpecting(
      `${JSON.stringify(closing)} to close the ${what} of column ${this.columnOf(start)}`,
    )
  }
}
