// The terms of documents, by numbers that all fields of a table share.

import { must } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import { TEXT_STEP_LENGTH, type Analyzer } from '../analysis/analyzer.ts'
import { WordMemo, type NumberedTokens } from '../analysis/word-memo.ts'
import { TermTable } from '../encoding/term-table.ts'

/** A table beyond this is replaced before the next document. */
const TERMS_MAX = 131_072

/** The analyzers of documents by name, and the table that gives their terms numbers. */
export class DocumentTerms {
  readonly table = new TermTable()
  readonly #analyzerOf: (name: string) => Analyzer | undefined
  readonly #analyses = new Map<string, TextAnalysis>()

  constructor(analyzerOf: (name: string) => Analyzer | undefined) {
    this.#analyzerOf = analyzerOf
  }

  get isFull(): boolean {
    return this.table.size >= TERMS_MAX
  }

  /** About what the terms and the words that become them take. */
  get bytes(): number {
    let bytes = this.table.bytes
    for (const analysis of this.#analyses.values()) bytes += analysis.bytes
    return bytes
  }

  /** The name is one of an analyzer. */
  analysis(name: string): TextAnalysis {
    const known = this.#analyses.get(name)
    if (known !== undefined) return known
    const analyzer = this.#analyzerOf(name)
    const made = new TextAnalysis(
      must(analyzer, `analyzer ${name}, which was checked with the schema`),
      this.table,
    )
    this.#analyses.set(name, made)
    return made
  }
}

/** One analyzer, whose terms have numbers. */
export class TextAnalysis {
  readonly #analyzer: Analyzer
  readonly #terms: TermTable
  readonly #memo: WordMemo | undefined

  constructor(analyzer: Analyzer, terms: TermTable) {
    const { words } = analyzer
    this.#analyzer = analyzer
    this.#terms = terms
    this.#memo = words && new WordMemo(words, terms)
  }

  get bytes(): number {
    return this.#memo?.bytes ?? 0
  }

  /** For a text of one step. */
  add(text: string, out: NumberedTokens): void {
    const { words } = this.#analyzer
    if (words === undefined || this.#memo === undefined) {
      this.#analyzer.emitTokens(text, this.#emitInto(out))
      return
    }
    const spans: number[] = []
    words.segment(text).advance(Infinity, spans)
    this.#memo.addWords(text, spans, 0, out)
  }

  *addInSteps(text: string, out: NumberedTokens): Sliced<void> {
    const { words } = this.#analyzer
    if (words === undefined || this.#memo === undefined) {
      yield* this.#analyzer.analyzeInSteps(text, this.#emitInto(out))
      return
    }
    const segmentation = words.segment(text)
    const spans: number[] = []
    let position = 0
    for (let upTo = TEXT_STEP_LENGTH; ; upTo += TEXT_STEP_LENGTH) {
      const isAtEnd = segmentation.advance(upTo, spans)
      this.#memo.addWords(text, spans, position, out)
      position += spans.length >> 1
      if (isAtEnd) return
      spans.length = 0
      yield
    }
  }

  #emitInto(out: NumberedTokens) {
    return (term: string, position: number): void => out.push(this.#terms.numberOf(term), position)
  }
}
