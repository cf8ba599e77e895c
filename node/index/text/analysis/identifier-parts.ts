// The parts of words that are put together: java.lang.NullPointerException, getUserName, snake_case, index.ts, 1.2.3,
// and sentences without a space between them. Documents get the parts at the position of the whole word.

import { buildFromSteps, type Analyzer, type Emit } from './analyzer.ts'
import { isAscii } from './fold-term.ts'

const IS_COMPOUND = /[\p{L}\p{N}][._][\p{L}\p{N}]|\p{Ll}\p{Lu}/u
/** The same for ASCII. What is rare in a sentence is looked for first, which takes a tenth of the time. */
const IS_COMPOUND_ASCII = /[._](?<=[A-Za-z\d].)[A-Za-z\d]|[A-Z](?<=[a-z].)/
const BETWEEN_DOTS = /[^._]+/g
/** getUserName has three, HTMLParser two. */
const HUMPS = /\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?[^\p{Lu}]+|\p{Lu}+/gu
/** A word with more parts, or longer, is data. */
const PARTS_MAX = 24
const LENGTH_MAX = 255

/** A part and its place in the word. */
interface WordPart {
  readonly text: string
  readonly at: number
}

export function isCompound(text: string): boolean {
  return (isAscii(text) ? IS_COMPOUND_ASCII : IS_COMPOUND).test(text)
}

/** What lies between dots and underscores, and the humps of each; none for a word of one part. */
function partsOf(word: string): readonly WordPart[] {
  if (word.length > LENGTH_MAX || !isCompound(word)) return []
  const parts: WordPart[] = []
  for (const { 0: piece, index } of word.matchAll(BETWEEN_DOTS)) {
    if (piece.length < word.length) parts.push({ text: piece, at: index })
    for (const { 0: hump, index: at } of piece.matchAll(HUMPS)) {
      if (hump.length < piece.length) parts.push({ text: hump, at: index + at })
    }
  }
  return parts.slice(0, PARTS_MAX)
}

/** What lies between dots and underscores, or the humps of a word without: each part once. */
export function piecesOf(word: string): readonly string[] {
  const parts = partsOf(word)
  const outer = parts.filter(({ text, at }) => !parts.some((other) => contains(other, text, at)))
  return outer.map(({ text }) => text)
}

function contains(other: WordPart, text: string, at: number): boolean {
  const end = other.at + other.text.length
  return other.text.length > text.length && other.at <= at && end >= at + text.length
}

/** The analyzer, and behind each word its parts, at the same position. */
export function withParts(inner: Analyzer): Analyzer {
  const emitting =
    (text: string, emit: Emit): Emit =>
    (term, position, start, end) => {
      emit(term, position, start, end)
      for (const part of partsOf(text.slice(start, end))) {
        const from = start + part.at
        inner.emitTokens(part.text, (own) => emit(own, position, from, from + part.text.length))
      }
    }
  return buildFromSteps({
    name: inner.name,
    inSteps: (text, emit) =>
      inner.analyzeInSteps(text, isCompound(text) ? emitting(text, emit) : emit),
    atOnce: (text, emit) => inner.emitTokens(text, isCompound(text) ? emitting(text, emit) : emit),
    normalize: (term) => inner.normalize(term),
    beginsStopWord: (begun) => inner.beginsStopWord(begun),
  })
}
