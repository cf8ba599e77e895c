// The pre-tokenizers of tokenizer.json, after the reference implementation. Each splits a piece into
// pieces, and a sequence runs them in order.

import { isJsonRecord } from '../../../lib/json-record.ts'
import type { JsonRecord } from '../../../lib/json-record.ts'
import { stageOfMatches } from '../aligned-text.ts'
import type { AlignedText } from '../aligned-text.ts'
import { isText, isWhole } from '../json-values.ts'
import { compilePattern } from '../tokenizer-library.ts'
import { spellBytes } from './byte-alphabet.ts'
import { parseSplitBehavior, splitAligned } from './split-behavior.ts'
import type { SplitBehavior } from './split-behavior.ts'

/** Splits a piece of text. The pieces are in order; the model encodes each by itself. */
export type PreTokenizer = (piece: AlignedText) => readonly AlignedText[]
type Build = (config: JsonRecord) => PreTokenizer

const WHITE_SPACE = /\p{White_Space}/gu
/** Includes every printable ASCII character that is neither a letter nor a digit. */
const PUNCTUATION = /[\p{P}!-/:-@[-`{-~]/gu
const NUMBER = /\p{N}/gu
const WORDS =
  /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d\p{White_Space}]+/gu
const BYTE_LEVEL =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu

const builders: Readonly<Record<string, Build>> = {
  BertPreTokenizer: () =>
    inTurn([splitter(WHITE_SPACE, 'Removed'), splitter(PUNCTUATION, 'Isolated')]),
  ByteLevel: buildByteLevel,
  Digits: ({ individual_digits: individual }) =>
    splitter(NUMBER, individual === true ? 'Isolated' : 'Contiguous'),
  FixedLength: ({ length }) => {
    const characters = isWhole(length) ? length : 1
    return splitter(new RegExp(`.{1,${characters}}`, 'gsu'), 'Isolated')
  },
  Metaspace: buildMetaspace,
  Punctuation: ({ behavior }) => splitter(PUNCTUATION, parseSplitBehavior(behavior ?? 'Isolated')),
  Replace: ({ pattern, content }) => {
    const inserted = isText(content) ? content : ''
    const replace = stageOfMatches(compilePattern(pattern), () => inserted)
    return (piece) => [replace(piece)]
  },
  Sequence: ({ pretokenizers }) =>
    inTurn((Array.isArray(pretokenizers) ? pretokenizers : []).map(buildPreTokenizer)),
  Split: ({ pattern, behavior, invert }) => {
    const split = { behavior: parseSplitBehavior(behavior), isInverted: invert === true }
    const compiled = compilePattern(pattern)
    return (piece) => splitAligned(piece, compiled, split)
  },
  Whitespace: () => (piece) =>
    splitAligned(piece, WORDS, { behavior: 'Removed', isInverted: true }),
  WhitespaceSplit: () => splitter(WHITE_SPACE, 'Removed'),
}

/** Builds a pre-tokenizer whose type was checked before. Without one, a text stays one piece. */
export function buildPreTokenizer(config: unknown): PreTokenizer {
  if (!isJsonRecord(config) || !isText(config['type'])) return (piece) => [piece]
  return builders[config['type']]?.(config) ?? ((piece) => [piece])
}

function inTurn(members: readonly PreTokenizer[]): PreTokenizer {
  return (piece) =>
    members.reduce<readonly AlignedText[]>((pieces, member) => pieces.flatMap(member), [piece])
}

function splitter(pattern: RegExp, behavior: SplitBehavior): PreTokenizer {
  return (piece) => splitAligned(piece, pattern, { behavior, isInverted: false })
}

function buildByteLevel({
  add_prefix_space: prefixed,
  use_regex: usesRegex,
}: JsonRecord): PreTokenizer {
  const isPrefixed = prefixed === true
  const split = usesRegex === false ? undefined : splitter(BYTE_LEVEL, 'Isolated')
  return (piece) => {
    const spaced = isPrefixed && !piece.text.startsWith(' ') ? prefix(piece, ' ', 'none') : piece
    return (split?.(spaced) ?? [spaced]).map(toBytes)
  }
}

/** One character for each byte. All bytes of a character have the character's place. */
function toBytes({ text, places, isFirst }: AlignedText): AlignedText {
  const spelled = spellBytes(text)
  if (places === undefined) return { text: spelled, places, isFirst }
  const starts = new Int32Array(spelled.length)
  const ends = new Int32Array(spelled.length)
  let unit = 0
  let byte = 0
  for (const character of text) {
    const after = byte + Buffer.byteLength(character)
    starts.fill(places.starts[unit] ?? 0, byte, after)
    unit += character.length
    ends.fill(places.ends[unit - 1] ?? 0, byte, after)
    byte = after
  }
  return { text: spelled, places: { starts, ends }, isFirst }
}

function buildMetaspace(config: JsonRecord): PreTokenizer {
  const mark = isText(config['replacement']) ? config['replacement'] : '\u2581'
  const scheme = schemeOf(config)
  const borders = compilePattern({ String: mark })
  return (piece) => {
    const marked = { ...piece, text: piece.text.replaceAll(' ', mark) }
    const isPrefixed = scheme === 'always' || (scheme === 'first' && piece.isFirst)
    const whole =
      isPrefixed && !marked.text.startsWith(mark) ? prefix(marked, mark, 'first') : marked
    if (config['split'] === false) return [whole]
    return splitAligned(whole, borders, { behavior: 'MergedWithNext', isInverted: false })
  }
}

/** Older files have `add_prefix_space` in place of the scheme. */
function schemeOf({ add_prefix_space: prefixed, prepend_scheme: scheme }: JsonRecord): unknown {
  if (prefixed === false) return 'never'
  return scheme ?? 'always'
}

/** Puts one character before a piece. Its place is empty, or that of the first character. */
function prefix(piece: AlignedText, mark: string, place: 'none' | 'first'): AlignedText {
  const { text, places, isFirst } = piece
  if (places === undefined) return { text: mark + text, places, isFirst }
  const start = places.starts[0] ?? 0
  const firstUnits = String.fromCodePoint(text.codePointAt(0) ?? 0).length
  const end = place === 'none' ? start : (places.ends[firstUnits - 1] ?? start)
  return {
    text: mark + text,
    places: {
      starts: Int32Array.of(start, ...places.starts),
      ends: Int32Array.of(end, ...places.ends),
    },
    isFirst,
  }
}
