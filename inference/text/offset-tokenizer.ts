import { must } from '../../lib/assert.ts'
import { AddedTokenSplitter } from './added-token-splitter.ts'
import type { AddedTokenShape } from './added-token-splitter.ts'
import { alignOriginal, applyStage, sliceAligned } from './aligned-text.ts'
import type { AlignedText } from './aligned-text.ts'
import { isJsonRecord, isText } from './json-record.ts'
import type { JsonRecord } from './json-record.ts'
import { locatePieces, locateTokens, spanInOriginal } from './token-offsets.ts'
import type { LocatedToken, PieceRules, Span } from './token-offsets.ts'
import type { TokenizerFile } from './tokenizer-file.ts'
import type { LibraryNormalizer, TokenizerLibrary } from './tokenizer-library.ts'

type Normalize = (text: string) => string

/** Tokenizes by the library's stages, one after another, so that each token's place is known. */
export class OffsetTokenizer {
  readonly #library: TokenizerLibrary
  readonly #rules: PieceRules
  readonly #stages: readonly Normalize[]
  readonly #verbatim: AddedTokenSplitter
  readonly #normalized: AddedTokenSplitter
  readonly #fusesUnknown: boolean

  constructor(library: TokenizerLibrary, file: TokenizerFile) {
    this.#library = library
    this.#rules = buildRules(library, file)
    this.#stages = [...stagesOfConfig(file.config), ...stagesOf(library.normalizer)]
    const added = [...library.get_added_tokens_decoder().values()]
    const isMatchedAsWritten = (token: { normalized: boolean }): boolean =>
      !token.normalized || library.normalizer === null
    this.#verbatim = new AddedTokenSplitter(added.filter(isMatchedAsWritten))
    this.#normalized = new AddedTokenSplitter(
      added
        .filter((token) => !isMatchedAsWritten(token))
        .map((token) => this.#normalizeShape(token)),
    )
    this.#fusesUnknown = library.model.fuse_unk
  }

  tokenize(text: string): { ids: number[]; spans: Span[] } {
    const original = alignOriginal(text)
    const found = this.#verbatim.split(text).flatMap((section, index) => {
      const part = sliceAligned(original, section.start, section.start + section.text.length)
      return section.isAdded
        ? [located(section.text, part)]
        : this.#tokenizeSection(part, index, text)
    })
    return {
      ids: found.map(({ token }) => this.#idOf(token)),
      spans: found.map(({ start, end }) => ({ start, end })),
    }
  }

  #tokenizeSection(section: AlignedText, index: number, original: string): LocatedToken[] {
    const normalized = this.#stages.reduce((text, stage) => applyStage(text, stage), section)
    return this.#normalized.split(normalized.text).flatMap((part) => {
      const aligned = sliceAligned(normalized, part.start, part.start + part.text.length)
      return part.isAdded
        ? [located(part.text, aligned)]
        : this.#tokenizePlain(aligned, index, original)
    })
  }

  #tokenizePlain(aligned: AlignedText, sectionIndex: number, original: string): LocatedToken[] {
    const { pre_tokenizer: preTokenizer, model } = this.#library
    const pieces =
      preTokenizer === null
        ? [aligned.text]
        : preTokenizer.pre_tokenize(aligned.text, { section_index: sectionIndex })
    const tokens = locatePieces(aligned.text, pieces, this.#rules).flatMap((piece) =>
      locateTokens(piece, model.encode([piece.piece]), this.#rules),
    )
    const placed = tokens.map((token) => ({
      token: token.token,
      ...spanInOriginal(aligned, original, token),
    }))
    return this.#fusesUnknown ? this.#fuseUnknown(placed) : placed
  }

  /** Neighbouring unknown tokens are one. */
  #fuseUnknown(tokens: readonly LocatedToken[]): LocatedToken[] {
    const fused: LocatedToken[] = []
    let wasUnknown = false
    for (const token of tokens) {
      const isUnknown = this.#isUnknown(token.token)
      const last = fused.at(-1)
      if (isUnknown && wasUnknown && last !== undefined) {
        fused[fused.length - 1] = { ...last, end: token.end }
      } else {
        fused.push(token)
      }
      wasUnknown = isUnknown
    }
    return fused
  }

  #isUnknown(token: string): boolean {
    const unknownId = this.#library.model.unk_token_id
    return unknownId !== undefined && this.#idOf(token) === unknownId
  }

  /** The loader made sure that a model whose texts may be unknown has a token for them. */
  #idOf(token: string): number {
    const id = this.#library.token_to_id(token) ?? this.#library.model.unk_token_id
    return must(id, 'id of a token')
  }

  #normalizeShape(token: AddedTokenShape): AddedTokenShape {
    const { content, lstrip, rstrip } = token
    return {
      content: this.#library.normalizer?.normalize(content) ?? content,
      lstrip,
      rstrip,
    }
  }
}

function located(token: string, { starts, ends }: AlignedText): LocatedToken {
  return { token, start: starts[0] ?? 0, end: ends.at(-1) ?? 0 }
}

function stagesOf(normalizer: LibraryNormalizer | null): readonly Normalize[] {
  if (normalizer === null) return []
  if (normalizer.normalizers !== undefined) return normalizer.normalizers.flatMap(stagesOf)
  return [(text) => normalizer.normalize(text)]
}

/** What the library does to a text before its normalizer, by tokenizer_config.json. */
function stagesOfConfig(config: JsonRecord): readonly Normalize[] {
  return [
    ...(config['remove_space'] === true ? [collapseSpace] : []),
    ...(config['do_lowercase_and_remove_accent'] === true ? [removeCaseAndAccents] : []),
  ]
}

function collapseSpace(text: string): string {
  return text.trim().split(/\s+/).join(' ')
}

function removeCaseAndAccents(text: string): string {
  return text.toLowerCase().replaceAll(/\p{M}/gu, '')
}

function buildRules(library: TokenizerLibrary, file: TokenizerFile): PieceRules {
  const { tokenizer, modelType, isByteLevel } = file
  const model = isJsonRecord(tokenizer['model']) ? tokenizer['model'] : {}
  const prefix = model['continuing_subword_prefix']
  const suffix = model['end_of_word_suffix']
  return {
    modelType,
    unknownToken: library.model.unk_token,
    continuingPrefix: isText(prefix) ? prefix : modelType === 'WordPiece' ? '##' : '',
    endOfWordSuffix: isText(suffix) ? suffix : '',
    isByteLevel,
    spaceMark: '\u2581',
  }
}
