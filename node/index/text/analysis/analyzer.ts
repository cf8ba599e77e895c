// A pipeline from text to tokens: segment, fold, drop stop words, stem, cut into grams.

import { runAtOnce, type Sliced } from '../../../../lib/sliced.ts'
import { isAscii, LOWER_CASE } from './fold-term.ts'
import type { Folding } from './fold-term.ts'
import type { IndexableToken } from '../indexable-document.ts'
import type { Segmenter } from './segmentation.ts'

/** A longer token is data and not a word. It is left out, and a gap marks its position. */
export const TOKEN_LENGTH_MAX = 255
/** Folding shortens a token at most by this factor. A longer piece is not examined. */
const SHRINKING_MAX = 4
/** How much text is analyzed between two yields, in UTF-16 units: about a millisecond of work. */
export const TEXT_STEP_LENGTH = 8192

/**
 * How an analyzer that reads a text word by word does it. Contract, checked for every analyzer by
 * test/unit/node/index/text/analysis/word-memo.test.ts:
 * - The words of `segment`, counted from 0, are the positions of the analyzer's tokens.
 * - `termsOf` answers the terms at the position of a word, in their order; none for a word that is left out.
 */
export interface WordAnalysis {
  readonly segment: Segmenter
  /** Whether a word in ASCII has the terms of the same word in lower case, as far as these are not parts of it. */
  readonly ignoresCase: boolean
  termsOf(word: string): readonly string[]
}

/** A token with its place in the text. */
export interface OffsetToken extends IndexableToken {
  /** The place of the word in the text, in UTF-16 units. */
  readonly start: number
  readonly end: number
}

/**
 * Splits text into terms. Contract, checked for every analyzer by
 * test/unit/node/index/text/analysis/analyzers.test.ts:
 * - Terms are never empty and positions never decrease. A term that is left out leaves a gap.
 * - All methods return the same terms at the same positions.
 * - `normalize` makes a prefix or pattern of a client comparable with terms.
 * - The steps of `analyzeInSteps` take about a millisecond each, for any text.
 */
export interface Analyzer {
  readonly name: string
  analyze(text: string): IndexableToken[]
  analyzeWithOffsets(text: string): OffsetToken[]
  /** Calls `emit` with every token. For short texts. */
  emitTokens(text: string, emit: Emit): void
  analyzeInSteps(text: string, emit: Emit): Sliced<void>
  /** Undefined if terms depend on more of the text than their word. */
  readonly words: WordAnalysis | undefined
  normalize(term: string): string
  /** Whether a word that is left out begins with this one, or is it. `begun` is normalized. */
  beginsStopWord(begun: string): boolean
}

export type Emit = (term: string, position: number, start: number, end: number) => void

/** Filters one segment. Undefined or '' drops it and leaves a gap. */
export type TermFilter = (term: string) => string | undefined

/** The parts of an analyzer, in the order in which they apply. */
export interface Pipeline {
  readonly name: string
  readonly segment: Segmenter
  readonly fold: Folding
  readonly filter: TermFilter | undefined
  /** The words that the filter leaves out, folded. */
  readonly stopWords?: ReadonlySet<string> | undefined
  /** Unifies spellings beyond ASCII. It runs after the filter, so "thé" is not a stop word. */
  readonly respell: ((term: string) => string) | undefined
  /** Normalizes a term of a prefix or pattern. The default is folding. */
  readonly normalize?: (term: string) => string
  /** The terms at the position of one term, such as its grams. The default is the term alone. */
  readonly expand: ((term: string) => readonly string[]) | undefined
  readonly tokenLengthMax: number
}

export function buildAnalyzer(pipeline: Pipeline): Analyzer {
  const { fold, respell = (term: string) => term } = pipeline
  const { normalize = (term: string) => respell(fold.term(term)) } = pipeline
  const inSteps = (text: string, emit: Emit) => run(pipeline, text, emit)
  const atOnce = (text: string, emit: Emit) => runShort(pipeline, text, emit)
  const stops = [...(pipeline.stopWords ?? [])]
  const beginsStopWord = (begun: string) => stops.some((word) => word.startsWith(begun))
  const words = wordAnalysis(pipeline)
  return buildFromSteps({ name: pipeline.name, inSteps, atOnce, words, normalize, beginsStopWord })
}

/** An analyzer's walk over a text, in steps and at once, and its normalization. */
export interface AnalyzerParts {
  readonly name: string
  readonly inSteps: Analyzer['analyzeInSteps']
  /** Walks over a text of one step, without the cost of a computation in steps. */
  readonly atOnce: Analyzer['emitTokens']
  readonly words: WordAnalysis | undefined
  readonly normalize: (term: string) => string
  readonly beginsStopWord: (begun: string) => boolean
}

/** Builds an analyzer from its walk over a text and its normalization. */
export function buildFromSteps(parts: AnalyzerParts): Analyzer {
  const { name, inSteps, atOnce, words, normalize, beginsStopWord } = parts
  const emitTokens = (text: string, emit: Emit): void => {
    if (text.length <= TEXT_STEP_LENGTH) atOnce(text, emit)
    else runAtOnce(inSteps(text, emit))
  }
  return {
    name,
    analyze: (text) => {
      const tokens: IndexableToken[] = []
      emitTokens(text, (term, position) => tokens.push({ term, position }))
      return tokens
    },
    analyzeWithOffsets: (text) => {
      const tokens: OffsetToken[] = []
      emitTokens(text, (term, position, start, end) => tokens.push({ term, position, start, end }))
      return tokens
    },
    emitTokens,
    analyzeInSteps: inSteps,
    words,
    normalize,
    beginsStopWord,
  }
}

function runShort(pipeline: Pipeline, text: string, emit: Emit): void {
  const spans: number[] = []
  pipeline.segment(text).advance(Infinity, spans)
  emitTerms(pipeline, { text, spans, position: 0 }, emit)
}

function* run(pipeline: Pipeline, text: string, emit: Emit): Sliced<void> {
  const segmentation = pipeline.segment(text)
  const spans: number[] = []
  let position = 0
  for (let upTo = TEXT_STEP_LENGTH; ; upTo += TEXT_STEP_LENGTH) {
    const isAtEnd = segmentation.advance(upTo, spans)
    emitTerms(pipeline, { text, spans, position }, emit)
    position += spans.length >> 1
    if (isAtEnd) return
    spans.length = 0
    yield
  }
}

interface Found {
  readonly text: string
  readonly spans: readonly number[]
  /** The position of the first span. */
  readonly position: number
}

function emitTerms(pipeline: Pipeline, { text, spans, position: first }: Found, emit: Emit): void {
  const lengthMax = pipeline.tokenLengthMax * SHRINKING_MAX
  const termAt = cutter(pipeline, text, spans)
  for (let at = 0; at < spans.length; at += 2) {
    const start = spans[at] ?? 0
    const end = spans[at + 1] ?? 0
    const term = end - start > lengthMax ? undefined : termAt(start, end)
    if (term === undefined || term === '' || term.length > pipeline.tokenLengthMax) continue
    const position = first + (at >> 1)
    if (pipeline.expand === undefined) emit(term, position, start, end)
    else for (const one of pipeline.expand(term)) emit(one, position, start, end)
  }
}

function wordAnalysis(pipeline: Pipeline): WordAnalysis {
  const { segment, fold, filter, respell, expand, tokenLengthMax } = pipeline
  const termsOf = (word: string): readonly string[] => {
    if (word.length > tokenLengthMax * SHRINKING_MAX) return []
    const folded = fold.term(word)
    const kept = filter === undefined ? folded : filter(folded)
    if (kept === undefined) return []
    const term = respell === undefined ? kept : respell(kept)
    if (term === '' || term.length > tokenLengthMax) return []
    return expand === undefined ? [term] : expand(term)
  }
  return { segment, ignoresCase: fold.ascii === LOWER_CASE.ascii, termsOf }
}

/** Maps the place of a segment to its term. */
function cutter({ fold, filter, respell }: Pipeline, text: string, spans: readonly number[]) {
  const keep = filter ?? ((term: string) => term)
  const from = spans[0] ?? 0
  const to = spans.at(-1) ?? 0
  const piece = to - from > 2 * TEXT_STEP_LENGTH ? undefined : text.slice(from, to)
  if (piece !== undefined && isAscii(piece)) {
    // ASCII folding keeps every offset, so the whole piece is folded at once.
    const source = fold.ascii(piece)
    return (start: number, end: number) => keep(source.slice(start - from, end - from))
  }
  return (start: number, end: number) => {
    const term = keep(fold.term(text.slice(start, end)))
    return term === undefined ? undefined : (respell?.(term) ?? term)
  }
}
