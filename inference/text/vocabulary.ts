import { isText } from './json-values.ts'
import { buildDecoder } from './stages/decoders.ts'
import type { Decoder } from './stages/decoders.ts'
import type { TokenizerFile } from './tokenizer-file.ts'
import type { TokenizerLibrary } from './tokenizer-library.ts'

/** All tokens of a tokenizer, those of the model and the added ones, and what texts they make. */
export class Vocabulary {
  readonly #library: TokenizerLibrary
  readonly #addedIds: ReadonlyMap<string, number>
  readonly #addedTokens: ReadonlyMap<number, string>
  readonly #decoder: Decoder
  readonly #endOfWordSuffix: string

  constructor(library: TokenizerLibrary, { addedTokens, tokenizer, model }: TokenizerFile) {
    this.#library = library
    this.#addedIds = new Map(addedTokens.map(({ content, id }) => [content, id]))
    this.#addedTokens = new Map(addedTokens.map(({ content, id }) => [id, content]))
    this.#decoder = buildDecoder(tokenizer['decoder'])
    const suffix = model['end_of_word_suffix']
    this.#endOfWordSuffix = tokenizer['decoder'] !== null && isText(suffix) ? suffix : ''
  }

  idOf(token: string): number | undefined {
    return this.#addedIds.get(token) ?? this.#library.token_to_id(token)
  }

  tokenOf(id: number): string | undefined {
    return this.#addedTokens.get(id) ?? this.#library.id_to_token(id)
  }

  /** Ids without a token have no text. A suffix of words that no decoder took away is a space. */
  decode(ids: readonly number[]): string {
    const tokens = ids.map((id) => this.tokenOf(id)).filter((token) => token !== undefined)
    const text = this.#decoder(tokens).join('')
    return this.#endOfWordSuffix === '' ? text : text.replaceAll(this.#endOfWordSuffix, ' ')
  }
}
