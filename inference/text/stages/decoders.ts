// The decoders of tokenizer.json. Each turns a list of texts into another, and a sequence runs them
// in order. They follow the reference implementation except for bytes that are not UTF-8: here every
// broken character becomes one U+FFFD. Later bytes then never change an earlier text, and streams can
// send it at once.

import { isJsonRecord } from '../../../lib/json-record.ts'
import type { JsonRecord } from '../../../lib/json-record.ts'
import { isText, isWhole } from '../json-values.ts'
import { compilePattern } from '../tokenizer-library.ts'
import { bytesOfToken } from './byte-alphabet.ts'

/** Turns tokens into texts, which the caller joins. */
export type Decoder = (tokens: readonly string[]) => readonly string[]
type Build = (config: JsonRecord) => Decoder

const BYTE_TOKEN = /^<0x([0-9A-Fa-f]{2})>$/
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

const builders: Readonly<Record<string, Build>> = {
  BPEDecoder: ({ suffix }) => {
    const mark = textOr(suffix, '</w>')
    return (tokens) =>
      tokens.map((token, at) => token.replaceAll(mark, at === tokens.length - 1 ? '' : ' '))
  },
  ByteFallback: () => joinByteTokens,
  ByteLevel: () => (tokens) => [decodeBytes(tokens.flatMap((token) => bytesOfToken(token)))],
  CTC: buildCtc,
  Fuse: () => (tokens) => [tokens.join('')],
  Metaspace: buildMetaspace,
  Replace: ({ pattern, content }) => {
    const compiled = compilePattern(pattern)
    const inserted = textOr(content, '')
    return (tokens) => tokens.map((token) => token.replaceAll(compiled, () => inserted))
  },
  Sequence: ({ decoders }) => {
    const members = (Array.isArray(decoders) ? decoders : []).map(buildDecoder)
    return (tokens) => members.reduce((texts, member) => member(texts), tokens)
  },
  Strip: buildStrip,
  WordPiece: buildWordPiece,
}

/**
 * Builds a decoder whose type was checked before. Without a decoder, tokens are words between
 * spaces.
 */
export function buildDecoder(config: unknown): Decoder {
  const build =
    isJsonRecord(config) && isText(config['type']) ? builders[config['type']] : undefined
  return build === undefined || !isJsonRecord(config)
    ? (tokens) => [tokens.join(' ')]
    : build(config)
}

function decodeBytes(bytes: readonly number[]): string {
  return utf8.decode(Uint8Array.from(bytes))
}

function joinByteTokens(tokens: readonly string[]): string[] {
  const texts: string[] = []
  const bytes: number[] = []
  const flush = (): void => {
    if (bytes.length > 0) texts.push(decodeBytes(bytes.splice(0)))
  }
  for (const token of tokens) {
    const [, hex] = BYTE_TOKEN.exec(token) ?? []
    if (hex !== undefined) {
      bytes.push(Number.parseInt(hex, 16))
      continue
    }
    flush()
    texts.push(token)
  }
  flush()
  return texts
}

/** Removes every mark of the first token, where the tokenizer put one before the text. */
function buildMetaspace(config: JsonRecord): Decoder {
  const mark = textOr(config['replacement'], '\u2581')
  const isPrefixed = config['add_prefix_space'] !== false && config['prepend_scheme'] !== 'never'
  return (tokens) =>
    tokens.map((token, at) => token.replaceAll(mark, at === 0 && isPrefixed ? '' : ' '))
}

function buildStrip({ content, start, stop }: JsonRecord): Decoder {
  const stripped = textOr(content, '')
  const [startMax, stopMax] = [start, stop].map((count) => (isWhole(count) ? count : 0))
  return (tokens) =>
    tokens.map((token) => {
      let from = 0
      while (from < (startMax ?? 0) && token[from] === stripped) from += 1
      let to = token.length
      while (token.length - to < (stopMax ?? 0) && to > from && token[to - 1] === stripped) to -= 1
      return token.slice(from, to)
    })
}

function buildWordPiece({ prefix, cleanup }: JsonRecord): Decoder {
  const mark = textOr(prefix, '##')
  const clean = cleanup === false ? (text: string): string => text : cleanUp
  return (tokens) =>
    tokens.map((token, at) => {
      if (at === 0) return clean(token)
      return clean(token.startsWith(mark) ? token.slice(mark.length) : ` ${token}`)
    })
}

/** A repeated token counts once, and the pad token has no text. */
function buildCtc(config: JsonRecord): Decoder {
  const pad = textOr(config['pad_token'], '<pad>')
  const delimiter = textOr(config['word_delimiter_token'], '|')
  const clean =
    config['cleanup'] === false
      ? (text: string): string => text
      : (text: string): string => cleanUp(text).replaceAll(delimiter, ' ')
  return (tokens) =>
    tokens
      .filter((token, at) => token !== tokens[at - 1])
      .map((token) => clean(token.replaceAll(pad, '')))
      .filter((text) => text !== '')
}

const CLEAN_UPS: readonly (readonly [string, string])[] = [
  [' .', '.'],
  [' ?', '?'],
  [' !', '!'],
  [' ,', ','],
  [" ' ", "'"],
  [" n't", "n't"],
  [" 'm", "'m"],
  [' do not', " don't"],
  [" 's", "'s"],
  [" 've", "'ve"],
  [" 're", "'re"],
]

function cleanUp(text: string): string {
  return CLEAN_UPS.reduce((cleaned, [from, to]) => cleaned.replaceAll(from, to), text)
}

function textOr(value: unknown, fallback: string): string {
  return isText(value) ? value : fallback
}
