// Reads the characters of a query string. Every method moves forward, so reading takes linear time.

import { ServiceError } from '../../../lib/errors.ts'
import { located } from '../../document/document-limits.ts'
import { QUERY_PATTERN_LENGTH_MAX } from '../query-limits.ts'

export type Operator = 'and' | 'or' | 'not'

/** A run of ordinary characters with their escapes resolved. */
export interface Word {
  readonly start: number
  readonly text: string
  /** The word as a wildcard pattern: escaped characters stay escaped. */
  readonly pattern: string
  /** The number of unescaped `*` and `?`. */
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

/** A URL as messages show it. */
const URL_TEXT = /[^\s"()]{0,200}/y

const WORD_END = /[\s()[\]{}":^~]/
/**
 * A time of day has colons. A comparison or a range cannot contain a field, so a colon does not end
 * its value.
 */
const COMPARED_END = /[\s()[\]{}"^~]/
const HAS_MEANING_IN_PATTERN = /[*?\\]/
const BOUND_END = /[\s[\]{}"]/

/** A lexer over one query string. Refusals are INVALID_ARGUMENT and name the column. */
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

  /** The next character; the empty string at the end. */
  peek(): string {
    return this.#text.charAt(this.#position)
  }

  skipSpace(): void {
    this.#match(SPACE)
  }

  isNext(expected: string): boolean {
    return this.#text.startsWith(expected, this.#position)
  }

  take(expected: string): boolean {
    if (!this.isNext(expected)) return false
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

  /** Reads an unsigned decimal; undefined if none begins here. */
  readDecimal(): number | undefined {
    const found = this.#match(DECIMAL)
    return found === undefined ? undefined : Number(found)
  }

  /** Reads a word; undefined if none begins here. */
  readWord(): Word | undefined {
    return this.#readUntil(WORD_END)
  }

  readCompared(): Word | undefined {
    return this.#readUntil(COMPARED_END)
  }

  readBound(): Word | undefined {
    return this.#readUntil(BOUND_END)
  }

  /** Reads the text between two quotes. The opening quote is next. */
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

  /** Reads the pattern between two slashes. The opening slash is next. Only `\/` is resolved. */
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

  /** Refuses a URL without quotes, in which `:` names a field and `/` begins an expression. */
  failAtUrl(start: number): never {
    URL_TEXT.lastIndex = start
    const url = URL_TEXT.exec(this.#text)?.[0] ?? ''
    return this.fail(
      `a URL needs quotes, because ":" and "/" have a meaning in a query string: write "${url}", ` +
        'or use a simple query, which takes any text',
      start,
    )
  }

  fail(problem: string, position = this.#position): never {
    throw new ServiceError('INVALID_ARGUMENT', `${this.#placeOf(position)}: ${problem}`)
  }

  /** Runs `read`. Puts the place in front of the message of a refusal. */
  at<T>(position: number, read: () => T): T {
    try {
      return read()
    } catch (error) {
      throw located(this.#placeOf(position), error)
    }
  }

  /** The column in code points, from 1. It counts all of them, so only messages use it. */
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
