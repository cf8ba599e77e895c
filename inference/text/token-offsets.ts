// Finds the span of each token in the original text. It walks a piece and its tokens together; the
// code units of the piece know their places.

import { placeOf } from './aligned-text.ts'
import type { AlignedText } from './aligned-text.ts'

/** A part of the original text in UTF-16 code units. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** How a model spells tokens, as far as the spelling differs from the text. */
export interface PieceRules {
  readonly modelType: 'WordPiece' | 'BPE' | 'Unigram'
  readonly unknownToken: string | undefined
  /** The prefix of a token within a word, such as `##`; empty: none. */
  readonly continuingPrefix: string
  readonly endOfWordSuffix: string
}

const BYTE_TOKEN = /^<0x[0-9A-Fa-f]{2}>$/

/** The span of each token within its piece. */
export function locateTokens(piece: string, tokens: readonly string[], rules: PieceRules): Span[] {
  let at = 0
  let pendingBytes = 0
  return tokens.map((token) => {
    if (rules.modelType === 'BPE' && BYTE_TOKEN.test(token) && !piece.startsWith(token, at)) {
      const character = String.fromCodePoint(piece.codePointAt(at) ?? 0)
      const located = { start: at, end: at + character.length }
      pendingBytes += 1
      if (pendingBytes === Buffer.byteLength(character)) {
        at += character.length
        pendingBytes = 0
      }
      return located
    }
    const length = tokenLength(piece, token, at, rules)
    const start = startOfToken(piece, token, at, rules)
    const end = Math.min(start + length, piece.length)
    at = end
    return { start, end }
  })
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

/**
 * Some models drop characters without giving a token, so a token may start after the last one's
 * end.
 */
function startOfToken(piece: string, token: string, at: number, rules: PieceRules): number {
  if (isUnknown(piece, token, at, rules)) return at
  const found = piece.indexOf(coreOf(token, at, rules), at)
  return found < 0 ? at : found
}

/** The span of a token in the original text, without white space at its ends. */
export function spanInOriginal(piece: AlignedText, original: string, token: Span): Span {
  return trimSpan(original, placeOf(piece, token.start, token.end))
}

/** A span without white space at its ends. A span of white space stays as it is. */
export function trimSpan(text: string, { start, end }: Span): Span {
  const slice = text.slice(start, end)
  const trimmed = slice.trim()
  if (trimmed === '') return { start, end }
  const trimmedStart = start + slice.indexOf(trimmed)
  return { start: trimmedStart, end: trimmedStart + trimmed.length }
}
