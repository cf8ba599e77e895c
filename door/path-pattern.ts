// The paths of one operation: matched without express, and its parameters decoded.

import { must } from '../lib/assert.ts'
import type { Fits } from './checks.ts'

/** A template, cut at its parameters: there is one literal more than there are parameters. */
export interface PathPattern {
  readonly first: string
  readonly parameters: readonly PathParameter[]
}

interface PathParameter {
  readonly name: string
  readonly fits: Fits
  /** What follows up to the next parameter, or to the end. */
  readonly literal: string
}

/** `checks` has one for each parameter of the template. */
export function patternOf(template: string, checks: Readonly<Record<string, Fits>>): PathPattern {
  const [first = '', ...rest] = template.split('{')
  const parameters = rest.map((part) => {
    const [name = '', literal = ''] = part.split('}')
    return { name, literal, fits: must(checks[name], `schema of ${name}`) }
  })
  return { first, parameters }
}

/** The parameters of a path; undefined for a path that does not have exactly this form. */
export function paramsOf(
  { first, parameters }: PathPattern,
  url: string,
): Readonly<Record<string, string>> | undefined {
  if (!url.startsWith(first)) return undefined
  const params: Record<string, string> = {}
  let at = first.length
  for (const { name, literal, fits } of parameters) {
    const slash = url.indexOf('/', at)
    const end = slash === -1 ? url.length : slash
    if (!url.startsWith(literal, end)) return undefined
    const value = decoded(url.slice(at, end))
    if (value === undefined || !fits(value)) return undefined
    params[name] = value
    at = end + literal.length
  }
  return at === url.length ? params : undefined
}

/** Segments of these letters need no decoding, and hold neither a query nor a fragment. */
const PLAIN = /^[\w.~!$&'()*+,;=:@-]+$/
const ENCODED = /^[\w.~!$&'()*+,;=:@%-]+$/

function decoded(segment: string): string | undefined {
  if (!segment.includes('%')) return PLAIN.test(segment) ? segment : undefined
  if (!ENCODED.test(segment)) return undefined
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
