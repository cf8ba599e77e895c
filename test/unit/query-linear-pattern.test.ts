import { expect } from 'chai'
import { array, assert, constantFrom, property, string, tuple } from 'fast-check'
import { isServiceError } from '../../lib/errors.ts'
import { parseLinearPattern } from '../../node/query/linear-pattern.ts'

const atom = constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\w', '\\.', '(a|b)', '(?:ab)', '(b|)')
const quantifier = constantFrom('', '', '*', '+', '?', '{2}', '{1,}', '{0,2}', '*?')
const piece = tuple(atom, quantifier).map(([one, repeat]) => one + repeat)
const pattern = array(array(piece, { maxLength: 4 }), { minLength: 1, maxLength: 3 }).chain(
  (branches) => {
    const text = branches.map((branch) => branch.join('')).join('|')
    return constantFrom(text, `^${text}`, `${text}$`, `^(${text})$`, `(${text})+`)
  },
)
const name = string({ unit: constantFrom('a', 'b', 'c', '.', '-', '1'), maxLength: 8 })

describe('parseLinearPattern', () => {
  it('agrees with RegExp', () => {
    assert(
      property(pattern, name, (text, candidate) => {
        const anywhere = parseLinearPattern(text, { match: 'anywhere' })
        const whole = parseLinearPattern(text, { match: 'whole' })
        expect(anywhere(candidate)).to.equal(new RegExp(text).test(candidate))
        expect(whole(candidate)).to.equal(new RegExp(`^(?:${text})$`).test(candidate))
      }),
      { numRuns: 2000 },
    )
  })

  for (const text of [
    '^(a+)+$',
    '^(a|a)*$',
    '^(a|aa)+$',
    `^${'a*'.repeat(200)}$`,
    '^(.*)*(.*)*(.*)*b$',
  ]) {
    it(`answers ${text.slice(0, 20)} in time linear in the name`, () => {
      const matches = parseLinearPattern(text, { match: 'anywhere' })

      expect(matches(`${'a'.repeat(255)}!`)).to.equal(false)
    })
  }

  for (const text of [
    '(',
    'a)',
    '[a',
    '*a',
    'a**',
    'a{2}{3}',
    'a{3,2}',
    'a{2000}',
    '(a{1000}){1000}',
    '((()+){1000}){1000}*{2}',
    '\\',
    '\\1',
    '\\k<a>',
    '\\b',
    '(?=a)',
    '(?<!a)',
    '(?<n>a)',
    '[b-a]',
    `${'('.repeat(51)}${')'.repeat(51)}`,
    'a'.repeat(501),
  ]) {
    it(`refuses ${text.slice(0, 30)}`, () => {
      let thrown: unknown
      try {
        parseLinearPattern(text, { match: 'anywhere' })
      } catch (error) {
        thrown = error
      }
      expect(isServiceError(thrown) && thrown.code).to.equal('INVALID_ARGUMENT')
      expect(String(thrown)).to.include('pattern ')
    })
  }

  it('compiles nested repetition of nothing at once', () => {
    const text = `${'('.repeat(40)}${'){1000}'.repeat(40)}`

    expect(parseLinearPattern(text, { match: 'anywhere' })('')).to.equal(true)
  })
})
