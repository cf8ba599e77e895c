// What a text index is asked: each question with its request and its answer.

import type { SuggestRequest, WordInField } from '../suggest/suggest-words.ts'
import type { PackedAnswer } from './packed-answer.ts'
import type { TextSelection, TextSelectRequest } from './run-text-select.ts'
import type {
  Highlights,
  TextHighlightRequest,
  TextSearchRequest,
  TextStatistics,
  TextStatisticsRequest,
} from './text-search.ts'

/** The questions to a text index and their answers. */
export interface TextQuestions {
  /** The caller unpacks the answer. */
  readonly search: { readonly request: TextSearchRequest; readonly answer: PackedAnswer }
  readonly statistics: { readonly request: TextStatisticsRequest; readonly answer: TextStatistics }
  readonly select: { readonly request: TextSelectRequest; readonly answer: TextSelection }
  readonly highlight: {
    readonly request: TextHighlightRequest
    readonly answer: readonly (Highlights | undefined)[]
  }
  readonly suggest: { readonly request: SuggestRequest; readonly answer: readonly WordInField[] }
}

/** A question with its own request. */
export type TextAsked = {
  readonly [Kind in keyof TextQuestions]: {
    readonly question: Kind
    readonly request: TextQuestions[Kind]['request']
  }
}[keyof TextQuestions]
