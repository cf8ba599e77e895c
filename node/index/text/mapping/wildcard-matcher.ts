// Wildcards over terms: `*` any text, `?` one character, `\` takes the next character as it is.
// Going back only to the last `*`, a match takes at most pattern × term steps.

import type { TermMatcher } from '../engine-query.ts'

type Part = { readonly kind: 'any' } | { readonly kind: 'one' } | Literal
interface Literal {
  readonly kind: 'literal'
  readonly code: number
}

export function wildcardMatcher(pattern: string): TermMatcher {
  const parts = parseParts(pattern)
  return {
    prefix: literalPrefix(parts),
    upTo: undefined,
    matches: (term) => matches(parts, term),
  }
}

function parseParts(pattern: string): readonly Part[] {
  const parts: Part[] = []
  let isEscaped = false
  for (const character of pattern) {
    if (!isEscaped && character === '\\') {
      isEscaped = true
      continue
    }
    parts.push(partOf(character, isEscaped))
    isEscaped = false
  }
  // A backslash at the end has nothing to escape and stands for itself.
  return isEscaped ? [...parts, partOf('\\', true)] : parts
}

function partOf(character: string, isEscaped: boolean): Part {
  if (!isEscaped && character === '*') return { kind: 'any' }
  if (!isEscaped && character === '?') return { kind: 'one' }
  return { kind: 'literal', code: character.codePointAt(0) ?? 0 }
}

function literalPrefix(parts: readonly Part[]): string {
  const end = parts.findIndex(({ kind }) => kind !== 'literal')
  const literals = parts.slice(0, end < 0 ? parts.length : end)
  return literals
    .map((part) => (part.kind === 'literal' ? String.fromCodePoint(part.code) : ''))
    .join('')
}

function matches(parts: readonly Part[], term: string): boolean {
  let at = 0
  let next = 0
  /** Behind the last `any`, and where the term went on when it had swallowed nothing more. */
  let resumePart = -1
  let resumeAt = 0
  while (at < term.length) {
    const part = parts[next]
    if (part?.kind === 'any') {
      next += 1
      resumePart = next
      resumeAt = at
    } else if (takes(part, term, at)) {
      next += 1
      at += widthAt(term, at)
    } else if (resumePart >= 0) {
      resumeAt += widthAt(term, resumeAt)
      at = resumeAt
      next = resumePart
    } else {
      return false
    }
  }
  return parts.slice(next).every(({ kind }) => kind === 'any')
}

function takes(part: Part | undefined, term: string, at: number): boolean {
  if (part?.kind === 'literal') return part.code === term.codePointAt(at)
  return part?.kind === 'one'
}

function widthAt(term: string, at: number): number {
  return (term.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
}
