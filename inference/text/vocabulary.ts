import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import { isText } from './json-values.ts'
import { bytesOfToken } from './stages/byte-alphabet.ts'
import { buildDecoder } from './stages/decoders.ts'
import type { Decoder } from './stages/decoders.ts'
import type { TokenizerFile } from './tokenizer-file.ts'
import type { TokenizerLibrary } from './tokenizer-library.ts'

const BYTE_TOKEN = /^<0x([0-9A-F]{2})>$/

/** All tokens of a tokenizer, the model's and the added ones, with their ids and texts. */
export class Vocabulary {
  readonly #library: TokenizerLibrary
  readonly #addedIds: ReadonlyMap<string, number>
  readonly #addedTokens: ReadonlyMap<number, string>
  readonly #decoder: Decoder
  readonly #endOfWordSuffix: string
  /** The types of the decoder and of its members. */
  readonly #stages: ReadonlySet<unknown>

  constructor(library: TokenizerLibrary, { addedTokens, tokenizer, model }: TokenizerFile) {
    this.#library = library
    this.#addedIds = new Map(addedTokens.map(({ content, id }) => [content, id]))
    this.#addedTokens = new Map(addedTokens.map(({ content, id }) => [id, content]))
    this.#decoder = buildDecoder(tokenizer['decoder'])
    this.#stages = new Set(stagesOf(tokenizer['decoder']).map(({ type }) => type))
    const suffix = model['end_of_word_suffix']
    this.#endOfWordSuffix = tokenizer['decoder'] !== null && isText(suffix) ? suffix : ''
  }

  idOf(token: string): number | undefined {
    return this.#addedIds.get(token) ?? this.#library.token_to_id(token)
  }

  tokenOf(id: number): string | undefined {
    return this.#addedTokens.get(id) ?? this.#library.id_to_token(id)
  }

  /** The bytes of a byte token, which may be part of a character; undefined for other tokens. */
  bytesOf(id: number): readonly number[] | undefined {
    const token = this.#library.id_to_token(id)
    if (token === undefined || this.#addedTokens.has(id)) return undefined
    if (this.#stages.has('ByteLevel')) return bytesOfToken(token)
    const hex = this.#stages.has('ByteFallback') ? BYTE_TOKEN.exec(token)?.[1] : undefined
    return hex === undefined ? undefined : [Number.parseInt(hex, 16)]
  }

  /**
   * The text of ids; ids without a token have no text. A word suffix that the decoder left in place
   * becomes a space.
   */
  decode(ids: readonly number[]): string {
    const tokens = ids.map((id) => this.tokenOf(id)).filter((token) => token !== undefined)
    const text = this.#decoder(tokens).join('')
    return this.#endOfWordSuffix === '' ? text : text.replaceAll(this.#endOfWordSuffix, ' ')
  }
}

function stagesOf(decoder: unknown): readonly JsonRecord[] {
  if (!isJsonRecord(decoder)) return []
  const members: readonly unknown[] = Array.isArray(decoder['decoders']) ? decoder['decoders'] : []
  return [decoder, ...members.flatMap(stagesOf)]
}
