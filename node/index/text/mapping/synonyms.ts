// A table's synonyms as terms of one analyzer, and where the words of a query have some.

import type { SynonymRule } from '../../../schema/text-settings.ts'
import type { Analyzer } from '../analysis/analyzer.ts'
import type { IndexableToken } from '../indexable-document.ts'

/** The most alternatives of one text in all rules together. */
const ALTERNATIVES_MAX = 64

/** Neighbouring tokens of a query that have synonyms together, or one token that has none. */
export interface TokenSpan {
  readonly tokens: readonly IndexableToken[]
  /** Other ways to say it; their positions begin at 0. */
  readonly alternatives: readonly Wording[]
}

/** Tokens in a row, the first at position 0. Gaps are where stop words were. */
export type Wording = readonly IndexableToken[]

/** Spans without any alternative. */
export function plainSpans(tokens: readonly IndexableToken[]): readonly TokenSpan[] {
  return tokens.map((token) => ({ tokens: [token], alternatives: [] }))
}

/** The texts of one side of a rule, by key: the key tells a text from its synonyms. */
type Meanings = ReadonlyMap<string, Wording>

/** Finds the synonyms of a query's tokens. It does not change after the constructor. */
export class SynonymTable {
  /** The meanings of each text, one for each rule that contains it. */
  readonly #meanings = new Map<string, Meanings[]>()
  /** By first term, how many tokens the longest text has that begins with it. */
  readonly #longest = new Map<string, number>()

  /** Texts of which the analyzer leaves nothing mean nothing. */
  constructor(rules: readonly SynonymRule[], analyzer: Analyzer) {
    const read = (texts: readonly string[]): Meanings => {
      const wordings = texts.map((text) => wordingOf(analyzer.analyze(text)))
      return new Map(
        wordings.filter(({ length }) => length > 0).map((one) => [keyOf(one), one] as const),
      )
    }
    for (const rule of rules) {
      if ('from' in rule) this.#add(read(rule.from), read(rule.to))
      else this.#add(read(rule))
    }
  }

  /** From left to right, the longest text with synonyms each time. */
  spansOf(tokens: readonly IndexableToken[]): readonly TokenSpan[] {
    const spans: TokenSpan[] = []
    for (let at = 0; at < tokens.length;) {
      const span = this.#spanAt(tokens, at)
      spans.push(span)
      at += span.tokens.length
    }
    return spans
  }

  #spanAt(tokens: readonly IndexableToken[], at: number): TokenSpan {
    const longest = this.#longest.get(tokens[at]?.term ?? '') ?? 0
    for (let length = Math.min(longest, tokens.length - at); length > 0; length -= 1) {
      const span = tokens.slice(at, at + length)
      const alternatives = this.#alternativesOf(keyOf(wordingOf(span)))
      if (alternatives.length > 0) return { tokens: span, alternatives }
    }
    return { tokens: tokens.slice(at, at + 1), alternatives: [] }
  }

  #alternativesOf(key: string): readonly Wording[] {
    const found = new Map<string, Wording>()
    for (const meanings of this.#meanings.get(key) ?? []) {
      for (const [other, wording] of meanings) {
        if (found.size >= ALTERNATIVES_MAX) return [...found.values()]
        if (other !== key) found.set(other, wording)
      }
    }
    return [...found.values()]
  }

  #add(texts: Meanings, meanings: Meanings = texts): void {
    for (const [key, [first, ...others]] of texts) {
      if (first === undefined) continue
      const known = this.#meanings.get(key)
      if (known === undefined) this.#meanings.set(key, [meanings])
      else known.push(meanings)
      const longest = this.#longest.get(first.term) ?? 0
      this.#longest.set(first.term, Math.max(longest, 1 + others.length))
    }
  }
}

function wordingOf(tokens: readonly IndexableToken[]): Wording {
  const [first] = tokens
  if (first === undefined) return []
  return tokens.map(({ term, position }) => ({ term, position: position - first.position }))
}

function keyOf(wording: Wording): string {
  return JSON.stringify(wording.map(({ term, position }) => [position, term]))
}
