// Wildcard patterns: `*` stands for any run of characters, `?` for exactly one, and `\` escapes the
// next character. A match backtracks only to the last `*`, so it takes at most pattern × text
// steps.

import { runAtOnce, type Sliced } from '../../lib/sliced.ts'

export type Wildcard = readonly WildcardPart[]

type WildcardPart = { readonly kind: 'any' } | { readonly kind: 'one' } | Literal
interface Literal {
  readonly kind: 'literal'
  readonly code: number
}

export function parseWildcard(pattern: string): Wildcard {
  const parts: WildcardPart[] = []
  let isEscaped = false
  for (const character of pattern) {
    if (!isEscaped && character === '\\') {
      isEscaped = true
      continue
    }
    parts.push(partOf(character, isEscaped))
    isEscaped = false
  }
  // A backslash at the end escapes nothing and stands for itself.
  return isEscaped ? [...parts, partOf('\\', true)] : parts
}

function partOf(character: string, isEscaped: boolean): WildcardPart {
  if (!isEscaped && character === '*') return { kind: 'any' }
  if (!isEscaped && character === '?') return { kind: 'one' }
  return { kind: 'literal', code: character.codePointAt(0) ?? 0 }
}

/** The common beginning of all matches. */
export function prefixOfWildcard(parts: Wildcard): string {
  const end = parts.findIndex(({ kind }) => kind !== 'literal')
  const literals = parts.slice(0, end < 0 ? parts.length : end)
  return literals
    .map((part) => (part.kind === 'literal' ? String.fromCodePoint(part.code) : ''))
    .join('')
}

/** The comparisons of one step, which take about a millisecond. */
const STEP_COMPARISONS = 50_000

export function matchesWildcard(parts: Wildcard, text: string): boolean {
  return runAtOnce(matchesWildcardSliced(parts, text))
}

/** Matches texts of any length in steps. */
export function* matchesWildcardSliced(parts: Wildcard, text: string): Sliced<boolean> {
  let left = STEP_COMPARISONS
  let at = 0
  let next = 0
  /** The part behind the last `*`, and the text position to resume at. */
  let resumePart = -1
  let resumeAt = 0
  while (at < text.length) {
    left -= 1
    if (left === 0) {
      left = STEP_COMPARISONS
      yield
    }
    const part = parts[next]
    if (part?.kind === 'any') {
      next += 1
      resumePart = next
      resumeAt = at
    } else if (takes(part, text, at)) {
      next += 1
      at += widthAt(text, at)
    } else if (resumePart >= 0) {
      resumeAt += widthAt(text, resumeAt)
      at = resumeAt
      next = resumePart
    } else {
      return false
    }
  }
  return parts.slice(next).every(({ kind }) => kind === 'any')
}

function takes(part: WildcardPart | undefined, text: string, at: number): boolean {
  if (part?.kind === 'literal') return part.code === text.codePointAt(at)
  return part?.kind === 'one'
}

function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
}
