// The used part of @huggingface/tokenizers: its models, and its translation of regular expressions
// from Oniguruma's dialect. The types are declared here, because the package's own declarations
// import each other without file extensions, and this project's module resolution cannot follow them.

import { Tokenizer } from '@huggingface/tokenizers'
import { ServiceError } from '../../lib/errors.ts'
import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import { isText } from './json-values.ts'

/**
 * A tokenizer of the library, as far as it is used: its model and its vocabulary without added
 * tokens.
 */
export interface TokenizerLibrary {
  readonly model: LibraryModel
  token_to_id(token: string): number | undefined
  id_to_token(id: number): string | undefined
}

/** Splits pieces into tokens. `encode` takes a list, but callers here pass one piece at a time. */
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

/** Opens a model without added tokens, which the library would otherwise also find inside words. */
export function openTokenizerLibrary(model: JsonRecord): TokenizerLibrary {
  return new Library({ ...STAGES, added_tokens: [], model }, {})
}

/**
 * The global expression of a pattern of tokenizer.json: `{ String }` or `{ Regex }`. It builds a
 * pre-tokenizer, because the library shows its translation only there.
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
