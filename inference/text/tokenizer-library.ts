// The part of @huggingface/tokenizers that is used here. Its own declarations import each other
// without file extensions, which this project's module resolution does not follow.

import { Tokenizer } from '@huggingface/tokenizers'

export interface TokenizerLibrary {
  readonly normalizer: LibraryNormalizer | null
  readonly pre_tokenizer: LibraryPreTokenizer | null
  readonly model: LibraryModel
  encode(
    text: string,
    options: { readonly add_special_tokens: boolean },
  ): { readonly ids: readonly number[] }
  decode(
    ids: readonly number[],
    options: {
      readonly skip_special_tokens: boolean
      readonly clean_up_tokenization_spaces: boolean
    },
  ): string
  token_to_id(token: string): number | undefined
  id_to_token(id: number): string | undefined
  get_added_tokens_decoder(): ReadonlyMap<number, LibraryAddedToken>
}

export interface LibraryNormalizer {
  normalize(text: string): string
  /** Of a sequence alone: its members. */
  readonly normalizers?: readonly (LibraryNormalizer | null)[]
}

export interface LibraryPreTokenizer {
  pre_tokenize(text: string, options: { readonly section_index: number }): readonly string[]
}

export interface LibraryModel {
  readonly unk_token_id?: number
  readonly unk_token?: string
  readonly fuse_unk: boolean
  encode(pieces: readonly string[]): readonly string[]
}

export interface LibraryAddedToken {
  readonly content: string
  readonly normalized: boolean
  readonly lstrip: boolean
  readonly rstrip: boolean
}

const Library: new (tokenizer: object, config: object) => TokenizerLibrary = Tokenizer

export function openTokenizerLibrary(tokenizer: object, config: object): TokenizerLibrary {
  return new Library(tokenizer, config)
}
