// The part of @huggingface/tokenizers that is used here: its models, and its translation of regular
// expressions from Oniguruma's dialect. Its own declarations import each other without file
// extensions, which this project's module resolution does not follow.

import { Tokenizer } from '@huggingface/tokenizers'
import { ServiceError } from '../../../lib/errors.ts'
import { isJsonRecord, isText } from '../../../lib/json-record.ts'
import type { JsonRecord } from '../../../lib/json-record.ts'

export interface TokenizerLibrary {
  readonly model: LibraryModel
  token_to_id(token: string): number | undefined
  id_to_token(id: number): string | undefined
}

export interface LibraryModel {
  readonly unk_token_id?: number
  readonly unk_token?: string
  readonly fuse_unk: boolean
  encode(pieces: readonly string[]): readonly string[]
}

const Library: new (tokenizer: object, config: object) => TokenizerLibrary = Tokenizer
const Splitter: new (
  tokenizer: object,
  config: object,
) => {
  readonly pre_tokenizer: { readonly pattern: RegExp }
} = Tokenizer
const STAGES = { normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null }

/** The model alone: it must not find added tokens inside words. */
export function openTokenizerLibrary(model: JsonRecord): TokenizerLibrary {
  return new Library({ ...STAGES, added_tokens: [], model }, {})
}

/**
 * A global expression of a pattern of tokenizer.json: `{ String }` or `{ Regex }`. The library shows
 * its translation in a pre-tokenizer only.
 */
export function compilePattern(pattern: unknown): RegExp {
  if (!isJsonRecord(pattern)) throw refusal('a pattern must be an object')
  const { String: literal } = pattern
  if (isText(literal)) return new RegExp(RegExp.escape(literal), 'gu')
  const split = { type: 'Split', pattern, behavior: 'Isolated' }
  const model = { type: 'WordPiece', vocab: {}, unk_token: '' }
  const file = { ...STAGES, pre_tokenizer: split, added_tokens: [], model }
  return new Splitter(file, {}).pre_tokenizer.pattern
}

function refusal(problem: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `tokenizer.json: ${problem}`)
}
