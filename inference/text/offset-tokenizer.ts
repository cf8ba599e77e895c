import { must } from '../../lib/assert.ts'
import { isText } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import { AddedTokenSplitter } from './added-token-splitter.ts'
import type { AddedTokenShape } from './added-token-splitter.ts'
import { alignOriginal, placeOf, sliceAligned, withoutPlaces } from './stages/aligned-text.ts'
import type { AlignedText, TextStage } from './stages/aligned-text.ts'
import { buildNormalizer } from './stages/normalizers.ts'
import { buildPreTokenizer } from './stages/pre-tokenizers.ts'
import type { PreTokenizer } from './stages/pre-tokenizers.ts'
import { PieceCache } from './piece-cache.ts'
import { locateTokens, spanInOriginal, trimSpan } from './token-offsets.ts'
import type { PieceRules, Span } from './token-offsets.ts'
import type { AddedTokenRecord, TokenizerFile } from './tokenizer-file.ts'
import type { TokenizerLibrary } from './stages/tokenizer-library.ts'

interface Tokens {
  readonly ids: number[]
  readonly spans: Span[]
}

interface SectionContext {
  readonly original: string
  readonly tokens: Tokens
  readonly unmatchedAt?: ReadonlySet<number> | undefined
}

/** One token of the model, or neighbouring unknown tokens that count as one. */
interface TokenGroup {
  readonly from: number
  readonly to: number
  readonly isUnknown: boolean
}

/**
 * Turns a text into ids by the stages of tokenizer.json, in the order of the reference
 * implementation: added tokens in the raw text, normalizer, added tokens in the normalized text,
 * pre-tokenizer, model. `tokenize` also finds the span of each token; `idsOf` does not and costs
 * less.
 */
export class OffsetTokenizer {
  readonly #library: TokenizerLibrary
  readonly #rules: PieceRules
  readonly #normalizers: readonly TextStage[]
  readonly #preTokenize: PreTokenizer
  readonly #verbatim: AddedTokenSplitter
  readonly #normalized: AddedTokenSplitter
  readonly #fallsBackToBytes: boolean
  readonly #pieces = new PieceCache()
  readonly #encode = (piece: string): readonly number[] => {
    const found = this.#library.model.encode([piece])
    return this.#group(found).flatMap((group) => this.#idsOfGroup(found, group))
  }

  constructor(library: TokenizerLibrary, file: TokenizerFile) {
    const { tokenizer, model, modelType, addedTokens } = file
    this.#library = library
    this.#rules = buildRules(library, file)
    this.#normalizers = [
      ...stagesOfConfig(file.config),
      ...buildNormalizer(tokenizer['normalizer']),
    ]
    this.#preTokenize = buildPreTokenizer(tokenizer['pre_tokenizer'])
    this.#verbatim = new AddedTokenSplitter(addedTokens.filter((token) => !token.isNormalized))
    this.#normalized = new AddedTokenSplitter(
      addedTokens.filter((token) => token.isNormalized).map((token) => this.#normalizeShape(token)),
    )
    this.#fallsBackToBytes = modelType === 'Unigram' && model['byte_fallback'] === true
  }

  /** The ids of a text and the span of each; both lists have one length. */
  tokenize(text: string): { ids: readonly number[]; spans: readonly Span[] } {
    return this.#run(alignOriginal(text), text)
  }

  /** The ids of a text. Added tokens of the raw text do not begin at `unmatchedAt`. */
  idsOf(text: string, unmatchedAt?: ReadonlySet<number>): readonly number[] {
    return this.#run(withoutPlaces(text), text, unmatchedAt).ids
  }

  #run(input: AlignedText, original: string, unmatchedAt?: ReadonlySet<number>): Tokens {
    const tokens: Tokens = { ids: [], spans: [] }
    const append = (piece: AlignedText): void => this.#appendPiece(piece, original, tokens)
    const verbatim = { original, tokens, unmatchedAt }
    this.#eachSection(this.#verbatim, input, verbatim, (section) => {
      const normalized = this.#normalize(section)
      this.#eachSection(this.#normalized, normalized, { original, tokens }, (part) => {
        this.#preTokenize(part).forEach(append)
      })
    })
    return tokens
  }

  /** Appends the ids of added tokens, and visits the texts between them. */
  #eachSection(
    splitter: AddedTokenSplitter,
    input: AlignedText,
    { original, tokens, unmatchedAt }: SectionContext,
    visit: (section: AlignedText) => void,
  ): void {
    for (const { start, end, id } of splitter.split(input.text, unmatchedAt)) {
      if (id === undefined) {
        visit(sliceAligned(input, start, end))
        continue
      }
      tokens.ids.push(id)
      if (input.places !== undefined) {
        tokens.spans.push(trimSpan(original, placeOf(input, start, end)))
      }
    }
  }

  #normalize(section: AlignedText): AlignedText {
    return this.#normalizers.reduce((text, stage) => stage(text), section)
  }

  #appendPiece(piece: AlignedText, original: string, tokens: Tokens): void {
    if (piece.places === undefined) {
      for (const id of this.#pieces.idsOf(piece.text, this.#encode)) tokens.ids.push(id)
      return
    }
    const found = this.#library.model.encode([piece.text])
    const located = locateTokens(piece.text, found, this.#rules)
    for (const group of this.#group(found)) {
      const { from, to } = group
      const ids = this.#idsOfGroup(found, group)
      for (const id of ids) tokens.ids.push(id)
      const start = located[from]?.start ?? 0
      const span = spanInOriginal(piece, original, { start, end: located[to - 1]?.end ?? start })
      for (let index = 0; index < ids.length; index += 1) tokens.spans.push(span)
    }
  }

  #idsOfGroup(tokens: readonly string[], { from, to, isUnknown }: TokenGroup): readonly number[] {
    return isUnknown ? this.#idsOfUnknown(tokens.slice(from, to)) : [this.#idOf(tokens[from])]
  }

  /** Joins neighbouring unknown tokens of a piece where the model fuses them. */
  #group(tokens: readonly string[]): TokenGroup[] {
    const { fuse_unk: fuses, unk_token_id: unknownId } = this.#library.model
    const groups: TokenGroup[] = []
    for (const [at, token] of tokens.entries()) {
      const isUnknown = fuses && this.#idOf(token) === unknownId
      const last = groups.at(-1)
      if (isUnknown && last?.isUnknown === true) groups.pop()
      const from = isUnknown && last?.isUnknown === true ? last.from : at
      groups.push({ from, to: at + 1, isUnknown })
    }
    return groups
  }

  /** The loader checked that a model with unknown texts has a token for them. */
  #idOf(token: string | undefined): number {
    const known = token === undefined ? undefined : this.#library.token_to_id(token)
    return must(known ?? this.#library.model.unk_token_id, 'id of a token')
  }

  #idsOfUnknown(tokens: readonly string[]): readonly number[] {
    const bytes = this.#fallsBackToBytes ? Buffer.from(tokens.join('')) : Buffer.of()
    const ids = Array.from(bytes, (byte) =>
      this.#library.token_to_id(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`),
    )
    const areKnown = ids.length > 0 && ids.every((id) => id !== undefined)
    return areKnown ? ids : [this.#idOf(undefined)]
  }

  #normalizeShape(token: AddedTokenRecord): AddedTokenShape {
    return { ...token, content: this.#normalize(withoutPlaces(token.content)).text }
  }
}

/** XLM models name these stages only in tokenizer_config.json. The reference ignores them there. */
function stagesOfConfig(config: JsonRecord): readonly TextStage[] {
  return config['do_lowercase_and_remove_accent'] === true
    ? [...buildNormalizer({ type: 'Lowercase' }), ...buildNormalizer({ type: 'StripAccents' })]
    : []
}

function buildRules(library: TokenizerLibrary, file: TokenizerFile): PieceRules {
  const { model, modelType } = file
  const prefix = model['continuing_subword_prefix']
  const suffix = model['end_of_word_suffix']
  return {
    modelType,
    unknownToken: library.model.unk_token,
    continuingPrefix: isText(prefix) ? prefix : '',
    endOfWordSuffix: isText(suffix) ? suffix : '',
  }
}
