import { ServiceError, isServiceError, messageOf } from '../../lib/errors.ts'
import { fit, spread } from './encoding.ts'
import type { Encoding } from './encoding.ts'
import { isCut, tokenizeLeading } from './leading-text.ts'
import { OffsetTokenizer } from './offset-tokenizer.ts'
import { parseSpecialLayout } from './special-layout.ts'
import type { SpecialLayout } from './special-layout.ts'
import { StreamingDecoder } from './streaming-decoder.ts'
import type { DecodeStream } from './streaming-decoder.ts'
import { TimeLimit } from './time-limit.ts'
import type { ComponentStage } from './tokenizer-components.ts'
import type { Span } from './token-offsets.ts'
import { parsePadding } from './token-padding.ts'
import { parseTokenizerFile } from './tokenizer-file.ts'
import type { TokenizerFile, TokenizerTexts } from './tokenizer-file.ts'
import { openTokenizerLibrary } from './tokenizer-library.ts'
import { Vocabulary } from './vocabulary.ts'

const TOKENIZE_MS_MAX = 5_000
const LOAD_MS_MAX = 60_000
/** A shorter text needs no watch if the tokenizer has no patterns of its own. */
const TRUSTED_CHARS_MAX = 16_384

/** An encoding with the span of each token; undefined for special tokens. */
export interface LocatedEncoding extends Encoding {
  readonly spans: readonly (Span | undefined)[]
}

/**
 * An encoding of words: `wordIndexes` has the index of each token's word, and -1 for special
 * tokens.
 */
export interface WordsEncoding extends Encoding {
  readonly wordIndexes: readonly number[]
}

/** A limit of one call; absent: no limit. */
export interface TokenLimit {
  /** The most tokens of an encoding, special ones included. */
  readonly maxTokens?: number
}

/** The tokens of a text without special ones; both lists have one length. */
export interface LocatedContent {
  readonly ids: readonly number[]
  readonly spans: readonly Span[]
}

/** Which special tokens appear in decoded text; by default none. */
export interface DecodeOptions {
  /** Special tokens that the reader needs to see, such as the marks of tool calls. */
  readonly keep?: ReadonlySet<number>
}

/**
 * One model's tokenizer.
 *
 * Contract:
 * - Limits count all tokens, special ones included. Truncation removes tokens of the text from its
 *   end and leaves the special tokens in place. It shortens the second text of a pair first, and the
 *   first one only if that alone is too long.
 * - Spans are UTF-16 code units of the given text. A span holds whole letters with their marks, and
 *   no white space at its ends.
 * - Texts are made well-formed first: a lone surrogate counts as U+FFFD.
 * - The padding and truncation blocks of tokenizer.json are ignored.
 * - A call that takes longer than 5 seconds fails: with INVALID_ARGUMENT for a long text, and with
 *   DEADLINE_EXCEEDED for a short one, because then the tokenizer itself is too slow.
 */
export class TokenizerHandle {
  readonly padId: number
  readonly paddingSide: 'left' | 'right'
  /** Differences from the reference implementation, for the log. */
  readonly warnings: readonly string[]

  /** The spellings of all special tokens. */
  readonly specialTexts: readonly string[]
  readonly #vocabulary: Vocabulary
  readonly #offsets: OffsetTokenizer
  readonly #layout: SpecialLayout
  readonly #specialIds: ReadonlySet<number>
  readonly #patternStages: ReadonlySet<ComponentStage>
  readonly #limit: TimeLimit

  constructor(texts: TokenizerTexts, tokenizeMsMax: number) {
    this.#limit = new TimeLimit(tokenizeMsMax)
    const file = parseTokenizerFile(texts)
    const parts = buildParts(file)
    this.#vocabulary = parts.vocabulary
    this.#offsets = parts.offsets
    this.#layout = parseSpecialLayout(file.tokenizer['post_processor'])
    this.#specialIds = new Set(
      file.addedTokens.filter(({ special }) => special).map(({ id }) => id),
    )
    this.specialTexts = file.addedTokens
      .filter(({ special }) => special)
      .map(({ content }) => content)
    this.#patternStages = file.patternStages
    this.warnings = file.warnings
    const padding = parsePadding(file.config, (token) => this.idOf(token))
    this.padId = padding.id
    this.paddingSide = padding.side
  }

  encode(text: string, { maxTokens = Infinity }: TokenLimit = {}): Encoding {
    const ids = this.#tokenize(text, maxTokens)
    const encoding = fit(this.#layout.single, { first: ids, second: [] }, maxTokens)
    return isCut(text, maxTokens) ? { ...encoding, truncated: true } : encoding
  }

  /** Encodes two texts. An empty text keeps its place in the layout. */
  encodePair(
    pair: { readonly first: string; readonly second: string },
    { maxTokens = Infinity }: TokenLimit = {},
  ): Encoding {
    const first = this.#tokenize(pair.first, maxTokens)
    const second = this.#tokenize(pair.second, maxTokens)
    return fit(this.#layout.pair, { first, second }, maxTokens)
  }

  /** Encodes a text that is already split into words. */
  encodeWords(words: readonly string[], limit: TokenLimit = {}): WordsEncoding {
    return this.wrapWords(this.tokenizeWords(words), limit)
  }

  /** The tokens of each word as a text of its own, without special tokens. */
  tokenizeWords(words: readonly string[]): readonly (readonly number[])[] {
    const length = words.reduce((sum, word) => sum + word.length, 0)
    return this.#watched(length, () => words.map((word) => this.#idsOf(word.toWellFormed())))
  }

  /** Puts the special tokens of a single text around the tokens of words. */
  wrapWords(
    words: readonly (readonly number[])[],
    { maxTokens = Infinity }: TokenLimit = {},
  ): WordsEncoding {
    const indexes = words.flatMap((ids, index) => ids.map(() => index))
    const encoding = fit(this.#layout.single, { first: words.flat(), second: [] }, maxTokens)
    return { ...encoding, wordIndexes: spread(this.#layout.single, encoding, indexes, -1) }
  }

  encodeWithOffsets(text: string, { maxTokens = Infinity }: TokenLimit = {}): LocatedEncoding {
    const { ids, spans } = this.contentWithOffsets(text)
    const encoding = fit(this.#layout.single, { first: ids, second: [] }, maxTokens)
    return { ...encoding, spans: spread(this.#layout.single, encoding, spans, undefined) }
  }

  /**
   * The tokens of a text with their spans, without special tokens. Callers cut windows from them.
   */
  contentWithOffsets(text: string): LocatedContent {
    const wellFormed = text.toWellFormed()
    return this.#watched(text.length, () => this.#offsets.tokenize(wellFormed))
  }

  /**
   * The tokens of a text that contains its own special tokens, such as a prompt. No added token
   * begins at an index in `unmatchedAt`.
   */
  content(text: string, unmatchedAt?: ReadonlySet<number>): readonly number[] {
    const wellFormed = text.toWellFormed()
    return this.#watched(text.length, () => this.#offsets.idsOf(wellFormed, unmatchedAt))
  }

  /** Puts the special tokens of a single text around tokens. */
  wrap(ids: readonly number[], { maxTokens = Infinity }: TokenLimit = {}): Encoding {
    return fit(this.#layout.single, { first: ids, second: [] }, maxTokens)
  }

  /** The number of special tokens around a single text, or in a pair. */
  specialCount(shape: 'single' | 'pair'): number {
    return this.#layout[shape].filter(({ kind }) => kind === 'special').length
  }

  /** The number of special tokens before the first text. */
  leadingSpecialCount(): number {
    return this.#layout.single.findIndex(({ kind }) => kind === 'sequence')
  }

  /** The number of tokens of a text without special ones. */
  count(text: string): number {
    return this.#tokenize(text, Infinity).length
  }

  idOf(token: string): number | undefined {
    return this.#vocabulary.idOf(token)
  }

  tokenOf(id: number): string | undefined {
    return this.#vocabulary.tokenOf(id)
  }

  /** The bytes of a token that stands for bytes; undefined for other tokens. */
  bytesOf(id: number): readonly number[] | undefined {
    return this.#specialIds.has(id) ? undefined : this.#vocabulary.bytesOf(id)
  }

  isSpecial(id: number): boolean {
    return this.#specialIds.has(id)
  }

  decode(ids: readonly number[], options: DecodeOptions = {}): string {
    return this.#decodeVisible(ids.filter((id) => this.#isVisible(id, options)))
  }

  /** A stream that takes any id. Special ids add no text unless they are kept. */
  decodeStream(options: DecodeOptions = {}): DecodeStream {
    const decoder = new StreamingDecoder((ids) => this.#decodeVisible(ids))
    return {
      push: (id) => (this.#isVisible(id, options) ? decoder.push(id) : ''),
      peek: (id) => (this.#isVisible(id, options) ? decoder.peek(id) : ''),
      flush: () => decoder.flush(),
    }
  }

  #isVisible(id: number, { keep }: DecodeOptions): boolean {
    if (this.tokenOf(id) === undefined) return false
    return !this.#specialIds.has(id) || keep?.has(id) === true
  }

  #decodeVisible(ids: readonly number[]): string {
    if (ids.length === 0) return ''
    const decode = (): string => this.#vocabulary.decode(ids)
    return this.#patternStages.has('decoder') ? this.#limit.run('decoding', decode) : decode()
  }

  #tokenize(text: string, tokensMax: number): readonly number[] {
    return tokenizeLeading(text, tokensMax, (part) =>
      this.#watched(part.length, () => this.#idsOf(part)),
    )
  }

  #idsOf(text: string): readonly number[] {
    return this.#offsets.idsOf(text)
  }

  #watched<T>(textLength: number, task: () => T): T {
    const hasPatterns =
      this.#patternStages.has('normalizer') || this.#patternStages.has('pre_tokenizer')
    const isTrusted = !hasPatterns && textLength <= TRUSTED_CHARS_MAX
    if (isTrusted) return task()
    try {
      return this.#limit.run('tokenizing', task)
    } catch (error) {
      throw isTimeout(error) && textLength > TRUSTED_CHARS_MAX ? textTooLong(textLength) : error
    }
  }
}

/** Opens a model's tokenizer. Throws INVALID_ARGUMENT with the reason if it is not supported. */
export function openTokenizer(
  texts: TokenizerTexts,
  tokenizeMsMax: number = TOKENIZE_MS_MAX,
): TokenizerHandle {
  return new TokenizerHandle(texts, tokenizeMsMax)
}

function buildParts(file: TokenizerFile): { vocabulary: Vocabulary; offsets: OffsetTokenizer } {
  try {
    const limit = new TimeLimit(LOAD_MS_MAX)
    return limit.run('reading the tokenizer', () => {
      const library = openTokenizerLibrary(file.model)
      return {
        vocabulary: new Vocabulary(library, file),
        offsets: new OffsetTokenizer(library, file),
      }
    })
  } catch (error) {
    if (isServiceError(error)) throw error
    const message = `tokenizer.json: ${messageOf(error)}`
    throw new ServiceError('INVALID_ARGUMENT', message, { cause: error })
  }
}

function isTimeout(error: unknown): boolean {
  return isServiceError(error) && error.code === 'DEADLINE_EXCEEDED'
}

/** A long text may be slow with any tokenizer; only a slow text of usual length shows a bad one. */
function textTooLong(length: number): ServiceError {
  const message = `the text of ${length} characters takes too long to tokenize; send it in parts`
  return new ServiceError('INVALID_ARGUMENT', message)
}
