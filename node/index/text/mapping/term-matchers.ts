// Matchers for the terms of a prefix, a wildcard, a regular expression, a range or a network of
// addresses. Each takes time linear in the term, whatever the client wrote.

import ipaddr from 'ipaddr.js'
import { compileLinearPattern } from '../../../../lib/linear-pattern/linear-pattern.ts'
import { editDistanceTest, type EditDistance } from '../../../query/edit-distance.ts'
import {
  matchesWildcard,
  matchesWildcardSliced,
  parseWildcard,
  prefixOfWildcard,
} from '../../../query/wildcard.ts'
import { compareTexts, endOfPrefix } from '../encoding/compare-texts.ts'
import { RANKED_TERMS_MAX, type TermMatcher, type TermRanking } from '../engine-query.ts'
import type { QueryBounds } from '../../../query/query-tree.ts'

/**
 * The costs of a cell in a table of distances, and of a unit of a pattern's work, in postings read.
 */
const POSTINGS_PER_CELL = 2
const POSTINGS_PER_PATTERN_UNIT = 5

export function prefixMatcher(prefix: string): TermMatcher {
  return {
    prefix,
    upTo: undefined,
    range: { from: prefix, to: endOfPrefix(prefix) },
    matches: (term) => term.startsWith(prefix),
  }
}

/** Matches the terms within the given number of edits. */
export function fuzzyMatcher(word: string, options: EditDistance): TermMatcher {
  const test = editDistanceTest(word, options)
  return {
    prefix: test.prefix,
    upTo: undefined,
    matches: (term) => test.distanceTo(term) < Infinity,
    deadEnd: test.deadEnd,
    spent: () => test.cells() * POSTINGS_PER_CELL,
  }
}

/** The word itself has the factor 1, and each edit halves it. */
export function fuzzyRanking(word: string, options: EditDistance): TermRanking {
  const test = editDistanceTest(word, { ...options, prefixLength: 0 })
  const { distance, prefixLength } = options
  return {
    name: `~${distance},${prefixLength} ${word}`,
    termsMax: RANKED_TERMS_MAX,
    closeness: (term) => 0.5 ** Math.min(test.distanceTo(term), distance),
  }
}

/**
 * A longer written part of the term ranks higher: 1 for the whole term, and more than a half for
 * any part.
 */
export function prefixRanking(prefix: string): TermRanking {
  return {
    name: `^ ${prefix}`,
    termsMax: RANKED_TERMS_MAX,
    closeness: (term) => closenessOf(prefix.length, term),
  }
}

export function wildcardRanking(pattern: string): TermRanking {
  const written = parseWildcard(pattern).filter(({ kind }) => kind === 'literal').length
  return {
    name: `* ${pattern}`,
    termsMax: RANKED_TERMS_MAX,
    closeness: (term) => closenessOf(written, term),
  }
}

function closenessOf(writtenLength: number, term: string): number {
  return (1 + Math.min(1, writtenLength / Math.max(1, term.length))) / 2
}

export function wildcardMatcher(pattern: string): TermMatcher {
  const wildcard = parseWildcard(pattern)
  return {
    prefix: prefixOfWildcard(wildcard),
    upTo: undefined,
    matches: (term) => matchesWildcard(wildcard, term),
    matchesSliced: (term) => matchesWildcardSliced(wildcard, term),
  }
}

/** The expression must match the whole term. */
export function regexpMatcher(pattern: string): TermMatcher {
  const compiled = compileLinearPattern(pattern, { match: 'whole' })
  return {
    prefix: literalPrefix(pattern),
    upTo: undefined,
    matches: (term) => compiled.test(term),
    matchesSliced: (term) => compiled.testSliced(term),
    spent: () => compiled.spent * POSTINGS_PER_PATTERN_UNIT,
    forget: () => compiled.forget(),
  }
}

/**
 * Matches the text in any case, for each way to begin it. Terms that begin otherwise are not walked: a letter whose
 * cases are not these two is written in one of them.
 */
export function anyCaseMatchers(text: string): readonly TermMatcher[] {
  const wanted = text.toLowerCase()
  const first = String.fromCodePoint(text.codePointAt(0) ?? 0)
  const beginnings = new Set([first, first.toLowerCase(), first.toUpperCase()])
  return [...beginnings].map((prefix) => {
    let deadEnd: string | undefined
    return {
      prefix,
      upTo: undefined,
      matches: (term) => {
        const lower = term.toLowerCase()
        // A letter whose lower case is longer moves those behind it.
        const isAligned = lower.length === term.length
        const common = commonPrefix(lower, wanted).length
        deadEnd = isAligned && common < term.length ? term.slice(0, common + 1) : undefined
        return lower === wanted
      },
      deadEnd: () => deadEnd,
    }
  })
}

/** Exactly these terms match. */
export function listMatcher(terms: readonly string[]): TermMatcher {
  const known = new Set(terms)
  return { prefix: '', upTo: undefined, terms: known, matches: (term) => known.has(term) }
}

export function termRangeMatcher(bounds: QueryBounds<string>): TermMatcher {
  const { min, max, inclusiveMin, inclusiveMax } = bounds
  return {
    range: rangeOf(bounds),
    prefix: min === undefined || max === undefined ? '' : commonPrefix(min, max),
    upTo: max,
    matches: (term) => {
      const toMin = min === undefined ? 1 : compareTexts(term, min)
      const toMax = max === undefined ? -1 : compareTexts(term, max)
      return (
        (toMin > 0 || (toMin === 0 && inclusiveMin)) && (toMax < 0 || (toMax === 0 && inclusiveMax))
      )
    },
  }
}

function rangeOf({ min, max, inclusiveMin, inclusiveMax }: QueryBounds<string>) {
  // No text sorts between a text and the same text with U+0000 appended.
  const from = min === undefined ? '' : min + (inclusiveMin ? '' : '\0')
  return { from, to: max === undefined ? undefined : max + (inclusiveMax ? '\0' : '') }
}

/**
 * Matches terms that are addresses in the network, IPv4 in dotted decimals. Undefined if `cidr` is
 * not a network.
 */
export function networkMatcher(cidr: string): TermMatcher | undefined {
  if (!ipaddr.isValidCIDR(cidr)) return undefined
  const [network, bits] = ipaddr.parseCIDR(cidr)
  const isV4 = network.kind() === 'ipv4'
  return {
    prefix: isV4 ? octetPrefix(network.toString(), bits) : '',
    upTo: undefined,
    matches: (term) => {
      const isAddress = isV4 ? ipaddr.IPv4.isValidFourPartDecimal(term) : ipaddr.IPv6.isValid(term)
      return isAddress && ipaddr.parse(term).match([network, bits])
    },
  }
}

function octetPrefix(address: string, bits: number): string {
  const octets = address.split('.').slice(0, Math.floor(bits / 8))
  return octets.map((octet, index) => (index === 3 ? octet : `${octet}.`)).join('')
}

function commonPrefix(left: string, right: string): string {
  let at = 0
  while (at < left.length && left[at] === right[at]) at += 1
  // Half a character is not a prefix of a term in UTF-8.
  const unit = left.charCodeAt(at - 1)
  return left.slice(0, at > 0 && unit >= 0xd800 && unit <= 0xdbff ? at - 1 : at)
}

/** The literal characters that every match begins with, as far as a simple scan finds them. */
function literalPrefix(pattern: string): string {
  if (pattern.includes('|')) return ''
  const plain = /^[\p{L}\p{N} _\-:/@#]*/u.exec(pattern)?.[0] ?? ''
  // A quantifier makes the character before it optional.
  const isOptional = '*?{'.includes(pattern[plain.length] ?? ' ')
  return isOptional ? Array.from(plain).slice(0, -1).join('') : plain
}
