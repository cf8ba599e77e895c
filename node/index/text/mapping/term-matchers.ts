// Which terms of a dictionary a prefix, a wildcard, a regular expression, a range or a network of
// addresses means. Each takes time linear in the term, whatever the client wrote.

import ipaddr from 'ipaddr.js'
import { parseLinearPattern } from '../../../query/linear-pattern.ts'
import { matchesWildcard, parseWildcard, prefixOfWildcard } from '../../../query/wildcard.ts'
import type { TermMatcher } from '../engine-query.ts'
import type { QueryBounds } from '../../../query/query-tree.ts'

export function prefixMatcher(prefix: string): TermMatcher {
  return { prefix, upTo: undefined, matches: (term) => term.startsWith(prefix) }
}

export function wildcardMatcher(pattern: string): TermMatcher {
  const wildcard = parseWildcard(pattern)
  return {
    prefix: prefixOfWildcard(wildcard),
    upTo: undefined,
    matches: (term) => matchesWildcard(wildcard, term),
  }
}

/** The expression must match the whole term. */
export function regexpMatcher(pattern: string): TermMatcher {
  const matches = parseLinearPattern(pattern, { match: 'whole' })
  return { prefix: literalPrefix(pattern), upTo: undefined, matches }
}

export function termRangeMatcher(bounds: QueryBounds<string>): TermMatcher {
  const { min, max, inclusiveMin, inclusiveMax } = bounds
  return {
    prefix: min === undefined || max === undefined ? '' : commonPrefix(min, max),
    // Surrogates come before U+E000 as units and behind U+FFFF as characters.
    upTo: max !== undefined && /[\ud800-\udfff]/.test(max) ? undefined : max,
    matches: (term) => {
      const toMin = min === undefined ? 1 : compareTerms(term, min)
      const toMax = max === undefined ? -1 : compareTerms(term, max)
      return (
        (toMin > 0 || (toMin === 0 && inclusiveMin)) && (toMax < 0 || (toMax === 0 && inclusiveMax))
      )
    },
  }
}

/** The order of terms: by code points, which is the order of their UTF-8 bytes. */
export function compareTerms(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  for (let at = 0; at < length; at += 1) {
    if (left.charCodeAt(at) === right.charCodeAt(at)) continue
    return rankOf(left.charCodeAt(at)) - rankOf(right.charCodeAt(at))
  }
  return left.length - right.length
}

/** Terms that are addresses in the network, IPv4 in four decimals; undefined if `cidr` is none. */
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

/** Surrogates stand for code points beyond every other unit. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}

function commonPrefix(left: string, right: string): string {
  let at = 0
  while (at < left.length && left[at] === right[at]) at += 1
  // Half a character is no prefix of a term in UTF-8.
  const unit = left.charCodeAt(at - 1)
  return left.slice(0, at > 0 && unit >= 0xd800 && unit <= 0xdbff ? at - 1 : at)
}

/** The characters that every match begins with, as far as plain reading can tell. */
function literalPrefix(pattern: string): string {
  if (pattern.includes('|')) return ''
  const plain = /^[\p{L}\p{N} _\-:/@#]*/u.exec(pattern)?.[0] ?? ''
  // A quantifier makes the character before it optional.
  const isOptional = '*?{'.includes(pattern[plain.length] ?? ' ')
  return isOptional ? Array.from(plain).slice(0, -1).join('') : plain
}
