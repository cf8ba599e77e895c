import { expect } from 'chai'
import * as fc from 'fast-check'
import { isServiceError } from '../../../../../lib/errors.ts'
import { parseQueryString } from '../../../../../node/query/language/query-string.ts'
import type { FieldName, Query, QueryBounds } from '../../../../../node/query/query-tree.ts'
import { cpuMsOf } from '../../../../support/slices/step-time.ts'

const OTHERS = ['[', ']', '{', '}', '~', '^', ':', '*', '?', '+', '-', '!', '<', '>', '=', ' ']
const CPU_MS_MAX = 1000

const match = (text: string, field?: FieldName, more: object = {}) => ({
  kind: 'match',
  field,
  text,
  operator: 'or',
  fuzziness: 0,
  prefixLength: 0,
  analyzer: undefined,
  boost: 1,
  ...more,
})
const phrase = (text: string, field?: FieldName, more: object = {}) => ({
  kind: 'phrase',
  field,
  text,
  slop: 0,
  fuzziness: 0,
  analyzer: undefined,
  boost: 1,
  ...more,
})
const boolean = (parts: object) => ({
  kind: 'boolean',
  must: [],
  should: [],
  minShould: 0,
  mustNot: [],
  filter: [],
  boost: 1,
  ...parts,
})
const any = (...should: readonly object[]) => boolean({ should, minShould: 1 })
const every = (...must: readonly object[]) => boolean({ must })
const not = (...mustNot: readonly object[]) => boolean({ mustNot })
const range = (field: string, bounds: object) => ({
  kind: 'untyped-range',
  field,
  bounds: { min: undefined, max: undefined, inclusiveMin: false, inclusiveMax: false, ...bounds },
  boost: 1,
})
const [a, b, c] = [match('a'), match('b'), match('c')]
const ALL = { kind: 'all', boost: 1 }

const [BOTH_A, BOTH_B, BOTH_C] = ['a', 'b', 'c'].map((text) =>
  match(text, undefined, { operator: 'and' }),
)

describe('parseQueryString', () => {
  const cases: Record<string, object> = {
    '': ALL,
    ' \t': ALL,
    '*:*': ALL,
    '*': ALL,
    '*:*^3': { kind: 'all', boost: 3 },
    a: a,
    ' a ': a,
    'a b': any(a, b),
    'a OR b': any(a, b),
    'a || b': any(a, b),
    'a AND b': every(a, b),
    'a && b': every(a, b),
    'a b AND c': any(a, every(b, c)),
    'a AND b OR c': any(every(a, b), c),
    '(a OR b) AND c': every(any(a, b), c),
    '((a))': a,
    '(a)^2': match('a', undefined, { boost: 2 }),
    '(a^3)^2': match('a', undefined, { boost: 6 }),
    '(a b)^.5': { ...any(a, b), boost: 0.5 },
    '+a b -c': boolean({ must: [a], should: [b], mustNot: [c] }),
    'a -b': boolean({ should: [a], minShould: 1, mustNot: [b] }),
    'a !b': boolean({ should: [a], minShould: 1, mustNot: [b] }),
    'a NOT b': boolean({ should: [a], minShould: 1, mustNot: [b] }),
    'NOT a': not(a),
    '-a': not(a),
    'a OR NOT b': any(a, not(b)),
    '-a OR b': any(not(a), b),
    'a AND NOT b': boolean({ must: [a], mustNot: [b] }),
    'NOT a AND NOT b': not(a, b),
    '+a AND b c': boolean({ must: [every(a, b)], should: [c] }),
    'and or not to': any(match('and'), match('or'), match('not'), match('to')),
    '\\AND': match('AND'),
    'ANDROID NOTE': any(match('ANDROID'), match('NOTE')),
    'f:a': match('a', 'f'),
    'f: a': match('a', 'f'),
    'a.b__keyword:x': match('x', 'a.b__keyword'),
    'a\\:b:x': match('x', 'a:b'),
    'f:(a b)': any(match('a', 'f'), match('b', 'f')),
    'f:(a g:b)': any(match('a', 'f'), match('b', 'g')),
    'f:"a b"': phrase('a b', 'f'),
    '"a b"~3^2': phrase('a b', undefined, { slop: 3, boost: 2 }),
    '"say \\"hi\\" \\\\"': phrase('say "hi" \\'),
    '""': phrase(''),
    'a~': match('a', undefined, { fuzziness: 1 }),
    'a~2^4': match('a', undefined, { fuzziness: 2, boost: 4 }),
    'pre*': { kind: 'prefix', field: undefined, prefix: 'pre', boost: 1 },
    'f:*': { kind: 'exists', field: 'f', boost: 1 },
    'a\\**': { kind: 'prefix', field: undefined, prefix: 'a*', boost: 1 },
    'a\\*': match('a*'),
    'a*b?': { kind: 'wildcard', field: undefined, pattern: 'a*b?', boost: 1 },
    'a\\*?\\\\': { kind: 'wildcard', field: undefined, pattern: 'a\\*?\\\\', boost: 1 },
    '?*?*?*': { kind: 'wildcard', field: undefined, pattern: '?*?*?*', boost: 1 },
    '/(a+)+$/': { kind: 'regexp', field: undefined, pattern: '(a+)+$', boost: 1 },
    'f:/a\\/b\\d/^2': { kind: 'regexp', field: 'f', pattern: 'a/b\\d', boost: 2 },
    'and/or': match('and/or'),
    'wi-fi c++ hello!': any(match('wi-fi'), match('c++'), match('hello!')),
    'f:-5': match('-5', 'f'),
    'f:>5': range('f', { min: '5' }),
    'f:>=-5.5': range('f', { min: '-5.5', inclusiveMin: true }),
    'f:<a': range('f', { max: 'a' }),
    'f:<=2024-01-01T10:00:00Z': range('f', { max: '2024-01-01T10:00:00Z', inclusiveMax: true }),
    'f:>"2024-01-01"': range('f', { min: '2024-01-01' }),
    'f:(>1 AND <3)': every(range('f', { min: '1' }), range('f', { max: '3' })),
    'f:[1 TO 3]': range('f', { min: '1', max: '3', inclusiveMin: true, inclusiveMax: true }),
    'f:{1 TO 3}': range('f', { min: '1', max: '3' }),
    'f:[1 TO 3}^2': { ...range('f', { min: '1', max: '3', inclusiveMin: true }), boost: 2 },
    'f:[* TO "x y" ]': range('f', { max: 'x y', inclusiveMin: true, inclusiveMax: true }),
    'f:[\\* TO *]': range('f', { min: '*', inclusiveMin: true, inclusiveMax: true }),
    '>5': match('>5'),
    '(a)(b)"c"': any(a, b, phrase('c')),
    '😀 b': any(match('😀'), b),
  }
  for (const [text, expected] of Object.entries(cases)) {
    it(`reads ${text}`, () => {
      expect(parseQueryString(text)).to.deep.equal(expected)
    })
  }

  it('joins adjacent clauses with AND on request', () => {
    const query = parseQueryString('a b OR -c a', { defaultOperator: 'and' })

    expect(query).to.deep.equal(
      any(boolean({ must: [BOTH_A, BOTH_B] }), boolean({ must: [BOTH_A], mustNot: [BOTH_C] })),
    )
  })

  it('gives clauses without a field the field of the caller', () => {
    expect(parseQueryString('a g:b', { field: 'f' })).to.deep.equal(
      any(match('a', 'f'), match('b', 'g')),
    )
  })

  const refused: Record<string, string> = {
    'a AND (b OR': 'column 12: expected a term, a phrase, a field or "(", found the end',
    'a (b': 'column 5: expected ")" to close the "(" of column 3, found the end',
    'a) b': 'column 2: ")" without a "("',
    '()': 'column 2: expected a term, a phrase, a field or "(", found ")"',
    'OR a': 'column 1: expected a term',
    'a AND OR b': 'column 7: expected a term',
    NOT: 'column 4: expected a term',
    'NOT NOT a': 'column 5: expected a term',
    'NOT -a': 'column 5: expected a term',
    'a - b': 'column 4: expected a term, a phrase, a field or "(", found " "',
    '+-a': 'column 2: expected a term',
    ':': 'column 1: expected a term, a phrase, a field or "(", found ":"',
    ':a': 'column 1: expected a term',
    'f:': 'column 3: expected a value: a term, a phrase, a range or "(", found the end',
    'f:)': 'column 3: expected a value',
    'f:a:b': 'column 4: second ":" in a clause; write \\:',
    'f*:a': 'column 1: expected a field without wildcards',
    'a f..g:x': 'column 3: field: empty segment in path "f..g"',
    '"a b': 'column 5: expected "\\"" to close the phrase of column 1, found the end',
    '/a': 'column 3: expected "/" to close the regular expression of column 1',
    '//': 'column 1: expected a regular expression between the slashes',
    'a http://x.org/b c':
      'column 3: a URL needs quotes, because ":" and "/" have a meaning in a query string: ' +
      'write "http://x.org/b", or use a simple query',
    'site:http://x': 'column 6: a URL needs quotes',
    '(http://x)': 'column 2: a URL needs quotes',
    'site: //': 'column 7: expected a regular expression',
    '~9': 'column 1: expected a term, a phrase, a field or "(", found "~"',
    'a~9': 'column 3: expected 0, 1 or 2 edits behind "~"',
    'a~0.8': 'column 3: expected 0, 1 or 2 edits',
    'a*~1': 'column 3: a term with wildcards cannot be fuzzy',
    '"a"~1.5': 'column 5: expected a whole number up to 1000 behind "~"',
    '"a"~1001': 'column 5: expected a whole number',
    'a^': 'column 3: expected a number from 0 to 10000 behind "^"',
    'a^-1': 'column 3: expected a number',
    'a^2b': 'column 3: expected a number',
    'a^1e9': 'column 3: expected a number',
    'a^10001': 'column 3: expected a number',
    'a\\': 'column 3: expected a character behind the "\\", found the end',
    'f:>': 'column 4: expected a value to compare with, found the end',
    'f:> 5': 'column 4: expected a value to compare with, found " "',
    'f:[1 TO': 'column 8: expected a bound of the range, or *, found the end',
    'f:[1 TO 2': 'column 10: expected "]" or "}" to close the range, found the end',
    'f:[1 to 2]': 'column 6: expected TO between the bounds',
    'f:[1]': 'column 5: expected TO between the bounds',
    'f:[]': 'column 4: expected a bound',
    'a]': 'column 2: expected a term, a phrase, a field or "(", found "]"',
    '😀😀 )': 'column 4: ")" without a "("',
    [`${'('.repeat(21)}a`]: 'column 21: nested deeper than 20 levels',
    [`*${'a'.repeat(1000)}`]: 'column 1: a pattern may have at most 1000 characters',
    [`/${'a'.repeat(1001)}/`]: 'column 1: a pattern may have at most 1000 characters',
    [`${'a '.repeat(1024)}b`]: 'column 2049: a query may have at most 1024 clauses',
  }
  for (const [text, message] of Object.entries(refused)) {
    it(`refuses ${text.slice(0, 60)}`, () => {
      expect(() => parseQueryString(text))
        .to.throw(`query string, ${message}`)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }

  it('reads up to the limits', () => {
    expect(parseQueryString(`${'('.repeat(20)}a${')'.repeat(20)}`)).to.deep.equal(a)
    expect(parseQueryString('a '.repeat(1024))).to.have.nested.property('should.length', 1024)
    expect(() => parseQueryString('a'.repeat(10_000))).not.to.throw()
    expect(() => parseQueryString('a'.repeat(10_001))).to.throw('at most 10000 characters')
  })

  it('parses hostile text in linear time', () => {
    const hostile = [
      '(',
      '(a) ',
      'f:a ',
      'a OR ',
      '\\',
      '"',
      '/',
      '[',
      '*',
      '?*',
      '-',
      'f:',
      '^',
      '~',
      '😀',
    ]
    const cpuMs = cpuMsOf(() => {
      for (const part of hostile) {
        for (const length of [10_000, 100_000]) {
          refusedOnlyByServiceError(part.repeat(length).slice(0, length))
        }
      }
    })

    expect(cpuMs).to.be.lessThan(CPU_MS_MAX)
  })

  it('throws nothing but refusals', () => {
    const piece = fc.oneof(
      fc.string({ unit: fc.constantFrom('(', ')', '"', '/', '\\', ...OTHERS), maxLength: 2 }),
      fc.constantFrom(' AND ', ' OR ', ' NOT ', ' TO ', '&&', '||'),
      fc.constantFrom('a', 'field:', '😀', '\ud800', '5', '.5', '2024-05-01'),
    )
    const text = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''))
    fc.assert(fc.property(text, refusedOnlyByServiceError), { numRuns: 5000 })
  })

  it('reads back the tree that was written', () => {
    fc.assert(
      fc.property(queryTree(3), (query) => {
        expect(parseQueryString(written(query))).to.deep.equal(query)
      }),
      { numRuns: 2000 },
    )
  })
})

function refusedOnlyByServiceError(text: string): void {
  try {
    parseQueryString(text)
  } catch (error) {
    if (!isServiceError(error)) throw error
    expect(error.code).to.equal('INVALID_ARGUMENT')
  }
}

// A tree in the form that the parser gives: no boolean of one clause that is not negated.

function queryTree(depth: number): fc.Arbitrary<Query> {
  if (depth === 0) return leaf()
  const inner = fc.array(queryTree(depth - 1), { maxLength: 3 })
  const compound = fc
    .record({ must: inner, should: inner, mustNot: inner, boost: boost() })
    .filter(({ must, should, mustNot }) => {
      const positive = must.length + should.length
      return positive + mustNot.length > 0 && !(positive === 1 && mustNot.length === 0)
    })
    .map(({ must, should, ...rest }): Query => {
      const minShould = must.length === 0 && should.length > 0 ? 1 : 0
      return { kind: 'boolean', must, should, minShould, filter: [], ...rest }
    })
  return fc.oneof(leaf(), compound)
}

function leaf(): fc.Arbitrary<Query> {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 })
  const name = fc.stringMatching(/^[a-z_:*. ]{1,6}$/).filter((path) => !/^\.|\.\.|\.$/.test(path))
  const field = fc.option(name, { nil: undefined })
  const flags = fc.record({ inclusiveMin: fc.boolean(), inclusiveMax: fc.boolean() })
  const bound = fc.option(text, { nil: undefined })
  const base = { field, boost: boost() }
  return fc.oneof(
    fc.record({ kind: fc.constant('all' as const), boost: boost() }),
    fc.record({
      ...base,
      kind: fc.constant('match' as const),
      text,
      operator: fc.constant('or' as const),
      fuzziness: fc.constantFrom(0 as const, 1 as const, 2 as const),
      prefixLength: fc.constant(0),
      analyzer: fc.constant(undefined),
    }),
    fc.record({
      ...base,
      kind: fc.constant('phrase' as const),
      text,
      slop: fc.nat(1000),
      fuzziness: fc.constant(0 as const),
      analyzer: fc.constant(undefined),
    }),
    fc.record({ ...base, kind: fc.constant('prefix' as const), prefix: text }),
    fc.record({
      ...base,
      kind: fc.constant('wildcard' as const),
      pattern: fc.stringMatching(/^[a-z ]{0,3}\*[a-z]{0,3}\?(?:\\\*|\\\\|[a-z]){0,3}$/),
    }),
    fc.record({
      ...base,
      kind: fc.constant('regexp' as const),
      pattern: fc.stringMatching(/^(?:[a-z./" ]\+?){1,4}(?:\([a-z]\))?$/),
    }),
    fc.record({
      ...base,
      kind: fc.constant('untyped-range' as const),
      bounds: fc
        .record({ min: bound, max: bound })
        .chain((ends) => flags.map((flag) => ({ ...ends, ...flag }))),
    }),
  )
}

function boost(): fc.Arbitrary<number> {
  return fc.constantFrom(1, 2, 0.5, 0, 10_000)
}

function written(query: Query): string {
  const suffix = query.boost === 1 ? '' : `^${query.boost}`
  return `${writtenValue(query)}${suffix}`
}

function writtenValue(query: Query): string {
  if (query.kind === 'all') return '*:*'
  if (query.kind === 'boolean') return writtenBoolean(query)
  return `${'field' in query ? fieldOf(query) : ''}${writtenLeaf(query)}`
}

function writtenLeaf(query: Query): string {
  if (query.kind === 'match') {
    return `${escaped(query.text)}${query.fuzziness === 0 ? '' : `~${query.fuzziness}`}`
  }
  if (query.kind === 'phrase') {
    const text = query.text.replaceAll(/["\\]/g, String.raw`\$&`)
    return `"${text}"${query.slop === 0 ? '' : `~${query.slop}`}`
  }
  if (query.kind === 'prefix') return `${escaped(query.prefix)}*`
  if (query.kind === 'wildcard') return query.pattern.replaceAll(' ', String.raw`\ `)
  if (query.kind === 'regexp') return `/${query.pattern.replaceAll('/', String.raw`\/`)}/`
  if (query.kind === 'untyped-range') return writtenRange(query.bounds)
  throw new Error(`the query string has no ${query.kind}`)
}

function writtenRange({ min, max, inclusiveMin, inclusiveMax }: QueryBounds<string>): string {
  const [low = '', high = ''] = [min, max].map((end) => (end === undefined ? '*' : escaped(end)))
  return `${inclusiveMin ? '[' : '{'}${low} TO ${high}${inclusiveMax ? ']' : '}'}`
}

function writtenBoolean(query: Extract<Query, { readonly kind: 'boolean' }>): string {
  const clauses = [
    ...query.must.map((inner) => `+${written(inner)}`),
    ...query.should.map(written),
    ...query.mustNot.map((inner) => `-${written(inner)}`),
  ]
  return `(${clauses.join(' ')})`
}

function fieldOf({ field }: { readonly field: FieldName }): string {
  return field === undefined ? '' : `${escaped(field)}:`
}

/** Every character escaped, so that none has a meaning. */
function escaped(text: string): string {
  return Array.from(text, (character) => `\\${character}`).join('')
}
