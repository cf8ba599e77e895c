// A pipeline from text to tokens: segment, fold, drop stop words, stem, cut into grams.

import { foldTerm, isAscii } from './fold-term.ts'
import type { IndexableToken } from '../indexable-document.ts'
import type { Segmenter } from './word-segmenter.ts'

/** Longer tokens are not words but data; they are left out, and a gap marks their position. */
export const TOKEN_LENGTH_MAX = 255

export interface OffsetToken extends IndexableToken {
  /** Where the word lies in the text, in UTF-16 units. */
  readonly start: number
  readonly end: number
}

/**
 * Contract, checked for every analyzer by test/unit/text-analysis-analyzers.test.ts:
 * - Terms are never empty and positions never descend; a term that is left out leaves a gap.
 * - `analyze` and `analyzeWithOffsets` return the same terms at the same positions.
 * - `normalize` makes what a client wrote as a prefix or pattern comparable with terms.
 */
export interface Analyzer {
  readonly name: string
  analyze(text: string): IndexableToken[]
  analyzeWithOffsets(text: string): OffsetToken[]
  normalize(term: string): string
}

/** What becomes of one segment; undefined or '' drops it and leaves a gap. */
export type TermFilter = (term: string) => string | undefined

export interface Pipeline {
  readonly name: string
  readonly segment: Segmenter
  /** `lower-case` is `foldTerm`, which the pipeline can apply to a whole ASCII text at once. */
  readonly fold: 'lower-case' | 'canonical'
  readonly filter: TermFilter | undefined
  /** The terms that stand at the position of one; itself if there is nothing to cut. */
  readonly expand: ((term: string) => readonly string[]) | undefined
  readonly tokenLengthMax: number
}

export function buildAnalyzer(pipeline: Pipeline): Analyzer {
  const fold = pipeline.fold === 'lower-case' ? foldTerm : canonical
  return {
    name: pipeline.name,
    analyze: (text) => {
      const tokens: IndexableToken[] = []
      run(pipeline, text, (term, position) => tokens.push({ term, position }))
      return tokens
    },
    analyzeWithOffsets: (text) => {
      const tokens: OffsetToken[] = []
      run(pipeline, text, (term, position, start, end) =>
        tokens.push({ term, position, start, end }),
      )
      return tokens
    },
    normalize: fold,
  }
}

type Emit = (term: string, position: number, start: number, end: number) => void

function run(pipeline: Pipeline, text: string, emit: Emit): void {
  const spans = pipeline.segment(text)
  const termAt = cutter(pipeline, text)
  for (let at = 0; at < spans.length; at += 2) {
    const start = spans[at] ?? 0
    const end = spans[at + 1] ?? 0
    const term = termAt(start, end)
    if (term === undefined || term === '' || term.length > pipeline.tokenLengthMax) continue
    if (pipeline.expand === undefined) emit(term, at >> 1, start, end)
    else for (const one of pipeline.expand(term)) emit(one, at >> 1, start, end)
  }
}

/** From where a segment lies to its term. */
function cutter({ fold, filter }: Pipeline, text: string) {
  const keep = filter ?? ((term: string) => term)
  const isLower = fold === 'lower-case'
  if (isAscii(text)) {
    // In ASCII, folding keeps every offset, so that the whole text is folded in one go.
    const source = isLower ? text.toLowerCase() : text
    return (start: number, end: number) => keep(source.slice(start, end))
  }
  const foldOne = isLower ? foldTerm : canonical
  return (start: number, end: number) => keep(foldOne(text.slice(start, end)))
}

function canonical(term: string): string {
  return isAscii(term) ? term : term.normalize('NFC')
}
