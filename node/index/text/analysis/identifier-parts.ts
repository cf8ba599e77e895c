// The parts of words that are put together: java.lang.NullPointerException, getUserName, snake_case, index.ts, 1.2.3,
// and sentences without a space between them. Documents get the parts at the position of the whole word.

import { buildFromSteps, type Analyzer, type Emit, type WordAnalysis } from './analyzer.ts'

const IS_COMPOUND = /[\p{L}\p{N}][._][\p{L}\p{N}]|\p{Ll}\p{Lu}/u
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

/** What a code unit is in a word that may be put together. Letters and digits are `alone` and above. */
const Kind = { other: 0, joint: 1, surrogate: 2, alone: 3, lower: 4, upper: 5 } as const

const KIND_BY_CODE_UNIT: Uint8Array = kindsOfCodeUnits()

/** Whether a word of a text is put together. It is asked for each word: a look at its units takes less than a pattern. */
function isCompoundAt(text: string, start: number, end: number): boolean {
  let before = KIND_BY_CODE_UNIT[text.charCodeAt(start)] ?? Kind.other
  for (let at = start + 1; at < end; at += 1) {
    const kind = KIND_BY_CODE_UNIT[text.charCodeAt(at)] ?? Kind.other
    if (kind === Kind.upper && before === Kind.lower) return true
    if (kind === Kind.joint && before >= Kind.alone && at + 1 < end) {
      if ((KIND_BY_CODE_UNIT[text.charCodeAt(at + 1)] ?? Kind.other) >= Kind.alone) return true
    }
    if (kind === Kind.surrogate) return IS_COMPOUND.test(text.slice(start, end))
    before = kind
  }
  return false
}

export function isCompound(word: string): boolean {
  return isCompoundAt(word, 0, word.length)
}

/** A pattern finds its characters in a text of all code units, because asking for each one takes longer. */
function kindsOfCodeUnits(): Uint8Array {
  const kinds = new Uint8Array(0x10000)
  const all = Array.from(kinds, (_, code) => String.fromCharCode(code)).join('')
  const patterns = [
    [/[._]/g, Kind.joint],
    [/[\p{L}\p{N}]+/gu, Kind.alone],
    [/\p{Ll}+/gu, Kind.lower],
    [/\p{Lu}+/gu, Kind.upper],
  ] as const
  for (const [pattern, kind] of patterns) {
    for (const { index, 0: run } of all.matchAll(pattern)) {
      kinds.fill(kind, index, index + run.length)
    }
  }
  return kinds.fill(Kind.surrogate, 0xd800, 0xe000)
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
      if (!isCompoundAt(text, start, end)) return
      for (const part of partsOf(text.slice(start, end))) {
        const from = start + part.at
        inner.emitTokens(part.text, (own) => emit(own, position, from, from + part.text.length))
      }
    }
  return buildFromSteps({
    name: inner.name,
    inSteps: (text, emit) => inner.analyzeInSteps(text, emitting(text, emit)),
    atOnce: (text, emit) => inner.emitTokens(text, emitting(text, emit)),
    words: inner.words && wordsWithParts(inner, inner.words),
    normalize: (term) => inner.normalize(term),
    beginsStopWord: (begun) => inner.beginsStopWord(begun),
  })
}

function wordsWithParts(inner: Analyzer, words: WordAnalysis): WordAnalysis {
  return {
    ...words,
    termsOf: (word) => {
      const terms = words.termsOf(word)
      if (terms.length === 0 || !isCompound(word)) return terms
      const parts: string[] = []
      for (const { text } of partsOf(word)) inner.emitTokens(text, (term) => parts.push(term))
      return terms.flatMap((term) => [term, ...parts])
    },
  }
}
