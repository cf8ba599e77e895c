// Cuts a prefix or wildcard pattern into words where the field's analyzer would cut the text that it
// stands for: `python3-req*` is the word `python3` followed by a word that begins with `req`.

import { parseWildcard, type Wildcard } from '../../../query/wildcard.ts'
import type { Analyzer, OffsetToken } from '../analysis/analyzer.ts'

/** One word of a pattern. */
export interface PatternWord {
  /** Relative to the first word. A word of wildcards alone is left out, and its position is a gap. */
  readonly offset: number
  /** The term that the analyzer makes of a word without wildcards. */
  readonly term?: string
  /** The part of the pattern with wildcards, normalized by the analyzer. */
  readonly pattern?: string
}

const IS_WORD_CHARACTER = /[\p{L}\p{N}]/u
const HAS_MEANING = /[*?\\]/

/** A literal text, as a pattern that matches what begins with it. */
export function patternOfPrefix(prefix: string): string {
  const literal = Array.from(prefix, (one) => (HAS_MEANING.test(one) ? `\\${one}` : one))
  return `${literal.join('')}*`
}

/** Empty if the analyzer keeps the pattern in one piece, or if nothing but wildcards is left. */
export function wordsOfPattern(pattern: string, analyzer: Analyzer): readonly PatternWord[] {
  const parts = parseWildcard(pattern)
  const sample = sampleOf(parts)
  const tokens = analyzer.analyzeWithOffsets(sample.text)
  const [only] = tokens
  if (tokens.length === 1 && only?.start === 0 && only.end === sample.text.length) return []
  const words = tokens.flatMap((token) => wordOf(token, { parts, sample, analyzer }))
  const first = words[0]?.offset ?? 0
  return words.map((word) => ({ ...word, offset: word.offset - first }))
}

/** A text that the pattern matches. */
interface Sample {
  readonly text: string
  /** For each UTF-16 unit of the text, and its end: the first part that begins there or later. */
  readonly partFrom: readonly number[]
}

/** A wildcard becomes a digit beside a digit and a letter elsewhere, so that it joins its word. */
function sampleOf(parts: Wildcard): Sample {
  const characters = parts.map((part) => {
    return part.kind === 'literal' ? String.fromCodePoint(part.code) : undefined
  })
  let nearest = characters.find(isInWord) ?? 'x'
  const partFrom: number[] = [0]
  let text = ''
  for (const [part, character] of characters.entries()) {
    if (isInWord(character)) nearest = character
    text += character ?? (/\p{N}/u.test(nearest) ? '0' : 'x')
    while (partFrom.length <= text.length) partFrom.push(part + 1)
  }
  return { text, partFrom }
}

function isInWord(character: string | undefined): character is string {
  return character !== undefined && IS_WORD_CHARACTER.test(character)
}

interface Cut {
  readonly parts: Wildcard
  readonly sample: Sample
  readonly analyzer: Analyzer
}

function wordOf(token: OffsetToken, { parts, sample, analyzer }: Cut): readonly PatternWord[] {
  const { term, position: offset, start, end } = token
  const own = parts.slice(sample.partFrom[start], sample.partFrom[end])
  if (own.every(({ kind }) => kind === 'literal')) return [{ offset, term }]
  if (own.every(({ kind }) => kind !== 'literal')) return []
  return [{ offset, pattern: analyzer.normalize(textOf(own)) }]
}

function textOf(parts: Wildcard): string {
  return parts
    .map((part) => {
      if (part.kind !== 'literal') return part.kind === 'any' ? '*' : '?'
      const character = String.fromCodePoint(part.code)
      return HAS_MEANING.test(character) ? `\\${character}` : character
    })
    .join('')
}
