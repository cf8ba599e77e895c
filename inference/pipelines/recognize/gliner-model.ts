// GLiNER reads labels and text together:
//
//   [CLS] <<ENT>> person <<ENT>> city <<SEP>> Alice works in Paris [SEP]
//   words_mask                                  1     2    3   4          (first tokens of words)
//
// It answers, for each run of words and each label, how likely the words have that label.

import { must } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { RecognizerModel } from '../../models/model-spec.ts'
import {
  buildTokenFeeds,
  fixedShapeOf,
  floatsOf,
  integerTensor,
  rowWidth,
  tokensMaxOf,
} from '../../runtime/graph-feeds.ts'
import type { GraphSession, GraphTensor } from '../../runtime/graph-session.ts'
import type { TokenizerHandle, WordsEncoding } from '../../text/tokenizer-handle.ts'
import type { TextWindow } from '../../text/token-windows.ts'
import { splitWords } from '../../text/word-splitter.ts'
import type { Word } from '../../text/word-splitter.ts'
import { outputName } from '../row-outputs.ts'
import { planRuns } from '../run-plan.ts'
import type { PlannedRun } from '../run-plan.ts'
import { checkWindowCount } from '../window-limits.ts'
import { decodeSpans, decodeTokenSpans } from './gliner-decoding.ts'
import type { RowLogits } from './gliner-decoding.ts'
import type { SpanCandidate } from './span-selection.ts'
import { buildWordWindows } from './word-windows.ts'

/** The settings of a GLiNER model. */
export type GlinerSettings = Extract<RecognizerModel, { readonly type: 'gliner' }>

/** Texts that are searched for the same labels. */
export interface GlinerQuery {
  readonly texts: readonly string[]
  readonly labels: readonly string[]
  /** Text that is put before each text and is not searched. */
  readonly prefix: string
  readonly threshold: number
}

/** The words of a text, and the spans that may be entities. */
export interface GlinerFinding {
  readonly words: readonly Word[]
  readonly candidates: readonly SpanCandidate[]
}

interface Row {
  readonly text: number
  readonly window: TextWindow
  /** The words of the prefix and of the window. */
  readonly wordCount: number
  readonly encoding: WordsEncoding
  readonly wordsMask: readonly number[]
}

/** At least this share of the model's input must remain for the text. */
const TEXT_SHARE_MIN = 0.25

/**
 * Finds candidate spans in texts of any length, which it reads in windows. It does not own its
 * session.
 */
export class GlinerModel {
  readonly #session: GraphSession
  readonly #tokenizer: TokenizerHandle
  readonly #settings: GlinerSettings
  readonly #maxTokens: number

  constructor(
    session: GraphSession,
    tokenizer: TokenizerHandle,
    { settings, maxTokens }: { readonly settings: GlinerSettings; readonly maxTokens: number },
  ) {
    this.#session = session
    this.#tokenizer = tokenizer
    this.#settings = settings
    this.#maxTokens = tokensMaxOf(session.inputs, maxTokens)
  }

  get settings(): GlinerSettings {
    return this.#settings
  }

  /** The most tokens that all labels of a query may take with their marks. */
  get labelTokensMax(): number {
    return Math.floor(this.#maxTokens * (1 - TEXT_SHARE_MIN)) - 1
  }

  /** The tokens of a label with its mark. */
  labelTokens(label: string): number {
    return this.#tokenizer.count(label) + 1
  }

  /** One finding for each text. Rejects with INVALID_ARGUMENT when the labels leave too little room. */
  async find(query: GlinerQuery, signal: AbortSignal): Promise<GlinerFinding[]> {
    const wordsByText = query.texts.map((text) => splitWords(text))
    const rows = wordsByText.flatMap((words, text) => this.#rowsOf(query, words, text))
    const candidates = query.texts.map((): SpanCandidate[] => [])
    for (const planned of this.#plan(rows)) {
      signal.throwIfAborted()
      const logits = await this.#run(planned.filled)
      for (const [index, row] of planned.rows.entries()) {
        const found = this.#decode(logits[index], row, query)
        for (const candidate of found) candidates[row.text]?.push(candidate)
      }
    }
    return wordsByText.map((words, text) => ({ words, candidates: candidates[text] ?? [] }))
  }

  #rowsOf({ labels, prefix }: GlinerQuery, words: readonly Word[], text: number): Row[] {
    if (words.length === 0) return []
    const { entityToken, separatorToken, maxWords } = this.#settings
    const prompt = [...labels.flatMap((label) => [entityToken, label]), separatorToken]
    const prefixWords = splitWords(prefix).map((word) => word.text)
    const before = this.#tokenizer.tokenizeWords([...prompt, ...prefixWords])
    const room = this.#maxTokens - this.#tokenizer.wrapWords(before).ids.length
    if (room < this.#maxTokens * TEXT_SHARE_MIN) {
      throw new ServiceError(
        'INVALID_ARGUMENT',
        `labels: they leave ${Math.max(0, room)} of the model's ${this.#maxTokens} tokens for the text; give fewer`,
      )
    }
    const tokens = this.#tokenizer.tokenizeWords(words.map((word) => word.text))
    const limits = { wordsMax: maxWords, tokensMax: room }
    const windows = buildWordWindows(
      tokens.map((ids) => ids.length),
      limits,
    )
    checkWindowCount(windows.length)
    return windows.map((window) => {
      const seen = [...before, ...tokens.slice(window.start, window.end)]
      const encoding = this.#tokenizer.wrapWords(seen, { maxTokens: this.#maxTokens })
      const wordsMask = maskWords(encoding.wordIndexes, prompt.length)
      return { text, window, wordCount: seen.length - prompt.length, encoding, wordsMask }
    })
  }

  #plan(rows: readonly Row[]): PlannedRun<Row>[] {
    const fixed = fixedShapeOf(this.#session.inputs)
    const isApart = this.#session.runsRowsApart === true
    return planRuns(rows, { lengthOf: ({ encoding }) => encoding.ids.length, fixed, isApart })
  }

  async #run(rows: readonly Row[]): Promise<RowLogits[]> {
    const output = outputName(this.#session)
    const answers = await this.#session.run(this.#feeds(rows), [output])
    const tensor = must(answers[output], output)
    const values = floatsOf(tensor)
    if (tensor.dims[0] !== rows.length) {
      const message = `the graph answered ${tensor.dims[0]} rows of ${rows.length}`
      throw new ServiceError('INFERENCE_FAILED', message)
    }
    const size = values.length / rows.length
    return rows.map((_, row) => ({
      dims: tensor.dims.slice(1),
      values: values.subarray(row * size, (row + 1) * size),
    }))
  }

  #feeds(rows: readonly Row[]): Record<string, GraphTensor> {
    const encodings = rows.map(({ encoding }) => encoding)
    const feeds = buildTokenFeeds(this.#session.inputs, encodings, this.#tokenizer)
    const width = rowWidth(this.#session.inputs, encodings)
    const wordCounts = rows.map(({ wordCount }) => wordCount)
    const spans = buildSpans(wordCounts, this.#settings.maxWidth)
    for (const slot of this.#session.inputs) {
      const { name } = slot
      if (name === 'words_mask') {
        const mask = rows.flatMap(({ wordsMask }) => this.#padded(wordsMask, width))
        feeds[name] = integerTensor(slot, [rows.length, width], mask)
      } else if (name === 'text_lengths') {
        feeds[name] = integerTensor(slot, [rows.length, 1], wordCounts)
      } else if (name === 'span_idx') {
        feeds[name] = integerTensor(slot, [rows.length, spans.perRow, 2], spans.indexes)
      } else if (name === 'span_mask') {
        feeds[name] = { type: 'bool', dims: [rows.length, spans.perRow], data: spans.mask }
      }
    }
    return feeds
  }

  #padded(mask: readonly number[], width: number): number[] {
    const filler = Array.from({ length: width - mask.length }, () => 0)
    return this.#tokenizer.paddingSide === 'left' ? [...filler, ...mask] : [...mask, ...filler]
  }

  /** Drops spans of the prefix, and spans that another window owns. */
  #decode(logits: RowLogits | undefined, row: Row, { threshold }: GlinerQuery): SpanCandidate[] {
    if (logits === undefined) return []
    const decode = this.#settings.spanMode === 'token' ? decodeTokenSpans : decodeSpans
    const { start, end, ownedStart, ownedEnd } = row.window
    const shift = start - (row.wordCount - (end - start))
    return decode(logits, row.wordCount, threshold)
      .map((span) => ({
        ...span,
        firstWord: span.firstWord + shift,
        lastWord: span.lastWord + shift,
      }))
      .filter(({ firstWord }) => firstWord >= ownedStart && firstWord < ownedEnd)
  }
}

/** Marks the first token of each word after the prompt with the word's number, from 1. */
function maskWords(wordIndexes: readonly number[], promptLength: number): number[] {
  return wordIndexes.map((index, token) => {
    const isFirst = index !== wordIndexes[token - 1]
    return isFirst && index >= promptLength ? index - promptLength + 1 : 0
  })
}

interface Spans {
  readonly perRow: number
  /** The first and last word of each span, row by row. */
  readonly indexes: Int32Array
  readonly mask: Uint8Array
}

/** Every row has as many spans as the longest. Spans that end after the row's last word are masked. */
function buildSpans(wordCounts: readonly number[], maxWidth: number): Spans {
  const perRow = Math.max(...wordCounts) * maxWidth
  const indexes = new Int32Array(wordCounts.length * perRow * 2)
  const mask = new Uint8Array(wordCounts.length * perRow)
  for (const [row, wordCount] of wordCounts.entries()) {
    for (let span = 0; span < wordCount * maxWidth; span += 1) {
      const at = row * perRow + span
      const first = Math.floor(span / maxWidth)
      const last = first + (span % maxWidth)
      indexes[2 * at] = first
      indexes[2 * at + 1] = last
      mask[at] = last < wordCount ? 1 : 0
    }
  }
  return { perRow, indexes, mask }
}
