// Finds where each token of a text stands in it. The library answers tokens only, so its public
// stages are run one after another: pre-tokens are located in the normalized text in order, the
// model's tokens are walked along their pre-token, and the alignment leads back to the original.

import type { AlignedText } from './aligned-text.ts'

/** A part of the original text in UTF-16 code units. */
export interface Span {
  readonly start: number
  readonly end: number
}

export interface LocatedToken extends Span {
  readonly token: string
}

export interface PieceRules {
  readonly modelType: 'WordPiece' | 'BPE' | 'Unigram'
  readonly unknownToken: string | undefined
  /** What marks that a token goes on with a word, as `##`. */
  readonly continuingPrefix: string
  readonly endOfWordSuffix: string
  readonly isByteLevel: boolean
  readonly spaceMark: string
}

const BYTE_TOKEN = /^<0x[0-9A-Fa-f]{2}>$/
/** How many code units of a text a pre-tokenizer may leave out between two pieces. */
const MISSING_MAX = 256

export interface LocatedPiece {
  readonly piece: string
  /** The position in the text before each code unit of the piece, and after the last. */
  readonly bounds: readonly number[]
}

export function locatePieces(
  text: string,
  pieces: readonly string[],
  rules: PieceRules,
): LocatedPiece[] {
  let from = 0
  return pieces.map((piece) => {
    const surface = rules.isByteLevel ? decodeByteLevel(piece) : undefined
    const located =
      surface === undefined
        ? locatePlain(text, piece, from, rules)
        : locateBytes(text, piece, surface, from)
    from = located.bounds.at(-1) ?? from
    return located
  })
}

function locatePlain(text: string, piece: string, from: number, rules: PieceRules): LocatedPiece {
  const plain = piece.replaceAll(rules.spaceMark, ' ')
  const isMarked = plain !== piece
  const { at, hasAddedSpace } = locateSurface(text, isMarked ? [piece, plain] : [piece], from)
  return hasAddedSpace
    ? { piece, bounds: [at, ...consecutive(at, piece.length)] }
    : { piece, bounds: consecutive(at, piece.length + 1) }
}

/** A space that the pre-tokenizer put before a word has no place in the text. */
function locateSurface(
  text: string,
  surfaces: readonly string[],
  from: number,
): { at: number; hasAddedSpace: boolean } {
  const spaced = surfaces.find((surface) => surface.startsWith(' '))
  const attempts = [
    ...surfaces.map((surface) => ({ surface, hasAddedSpace: false })),
    ...(spaced === undefined ? [] : [{ surface: spaced.slice(1), hasAddedSpace: true }]),
  ]
  const here = attempts.find(({ surface }) => text.startsWith(surface, from))
  if (here !== undefined) return { at: from, hasAddedSpace: here.hasAddedSpace }
  const near = attempts
    .map(({ surface, hasAddedSpace }) => ({ at: indexNear(text, surface, from), hasAddedSpace }))
    .filter(({ at }) => at >= 0)
    .toSorted((left, right) => left.at - right.at)
  return near[0] ?? { at: from, hasAddedSpace: false }
}

function consecutive(from: number, length: number): number[] {
  return Array.from({ length }, (_, index) => from + index)
}

function indexNear(text: string, surface: string, from: number): number {
  const at = text.slice(from, from + surface.length + MISSING_MAX).indexOf(surface)
  return at < 0 ? -1 : from + at
}

/** Each character of a byte-level piece is one byte of the surface's UTF-8. */
function locateBytes(text: string, piece: string, surface: string, from: number): LocatedPiece {
  const { at, hasAddedSpace } = locateSurface(text, [surface], from)
  const shown = hasAddedSpace ? surface.slice(1) : surface
  const bounds = hasAddedSpace ? [at, at] : [at]
  let position = at
  for (const character of shown) {
    const bytes = utf8Length(character)
    for (let byte = 1; byte < bytes; byte += 1) bounds.push(position)
    position += character.length
    bounds.push(position)
  }
  return { piece, bounds }
}

function utf8Length(character: string): number {
  const point = character.codePointAt(0) ?? 0
  if (point < 0x80) return 1
  if (point < 0x800) return 2
  return point < 0x10000 ? 3 : 4
}

/** The tokens of one piece, each with its part of the normalized text. */
export function locateTokens(
  { piece, bounds }: LocatedPiece,
  tokens: readonly string[],
  rules: PieceRules,
): LocatedToken[] {
  let at = 0
  let pendingBytes = 0
  return tokens.map((token) => {
    if (rules.modelType === 'BPE' && BYTE_TOKEN.test(token) && !piece.startsWith(token, at)) {
      const point = piece.codePointAt(at) ?? 0
      const character = String.fromCodePoint(point)
      const located = locate(token, bounds, at, at + character.length)
      pendingBytes += 1
      if (pendingBytes === utf8Length(character)) {
        at += character.length
        pendingBytes = 0
      }
      return located
    }
    const length = tokenLength(piece, token, at, rules)
    const start = startOfToken(piece, token, at, rules)
    const end = Math.min(start + length, piece.length)
    at = end
    return locate(token, bounds, start, end)
  })
}

function locate(
  token: string,
  bounds: readonly number[],
  start: number,
  end: number,
): LocatedToken {
  const first = bounds[start] ?? bounds.at(-1) ?? 0
  const last = bounds[end] ?? bounds.at(-1) ?? first
  // A token that is the first bytes of a character stands for the whole character.
  const after =
    last > first || end <= start ? last : (bounds.find((bound) => bound > first) ?? last)
  return { token, start: first, end: after }
}

/** The text of a token without the marks of its model. */
function coreOf(token: string, at: number, rules: PieceRules): string {
  const continued =
    at > 0 && rules.continuingPrefix !== '' && token.startsWith(rules.continuingPrefix)
      ? token.slice(rules.continuingPrefix.length)
      : token
  const { endOfWordSuffix } = rules
  return endOfWordSuffix !== '' && continued.endsWith(endOfWordSuffix)
    ? continued.slice(0, -endOfWordSuffix.length)
    : continued
}

function isUnknown(piece: string, token: string, at: number, rules: PieceRules): boolean {
  return token === rules.unknownToken && !piece.startsWith(token, at)
}

function tokenLength(piece: string, token: string, at: number, rules: PieceRules): number {
  if (!isUnknown(piece, token, at, rules)) return coreOf(token, at, rules).length
  if (rules.modelType === 'WordPiece') return piece.length - at
  return String.fromCodePoint(piece.codePointAt(at) ?? 0).length
}

/** Some models drop characters without a token of their own, so a token may start later. */
function startOfToken(piece: string, token: string, at: number, rules: PieceRules): number {
  if (isUnknown(piece, token, at, rules)) return at
  const found = piece.indexOf(coreOf(token, at, rules), at)
  return found < 0 ? at : found
}

/** From the normalized text to the original, without the white space that a token carries. */
export function spanInOriginal(aligned: AlignedText, original: string, token: Span): Span {
  const { starts, ends } = aligned
  if (token.end <= token.start) {
    const at = starts[token.start] ?? ends.at(-1) ?? 0
    return { start: at, end: at }
  }
  const start = starts[token.start] ?? 0
  const end = ends[token.end - 1] ?? start
  return trimSpan(original, { start, end })
}

export function trimSpan(text: string, { start, end }: Span): Span {
  const slice = text.slice(start, end)
  const trimmed = slice.trim()
  if (trimmed === '') return { start, end }
  const trimmedStart = start + slice.indexOf(trimmed)
  return { start: trimmedStart, end: trimmedStart + trimmed.length }
}

/** The alphabet of byte-level vocabularies: printable bytes are themselves, others follow 255. */
const BYTE_BY_CHARACTER: ReadonlyMap<string, number> = buildByteAlphabet()

function buildByteAlphabet(): ReadonlyMap<string, number> {
  const alphabet = new Map<string, number>()
  let others = 0
  for (let byte = 0; byte < 256; byte += 1) {
    alphabet.set(String.fromCharCode(isPrintable(byte) ? byte : 256 + others), byte)
    if (!isPrintable(byte)) others += 1
  }
  return alphabet
}

function isPrintable(byte: number): boolean {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
}

function decodeByteLevel(piece: string): string | undefined {
  const bytes = Array.from(piece, (character) => BYTE_BY_CHARACTER.get(character))
  return bytes.every((byte) => byte !== undefined)
    ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(bytes))
    : undefined
}
