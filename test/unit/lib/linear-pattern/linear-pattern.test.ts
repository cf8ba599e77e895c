import { expect } from 'chai'
import { array, assert, constantFrom, property, string, tuple } from 'fast-check'
import type { Arbitrary } from 'fast-check'
import { isServiceError } from '../../../../lib/errors.ts'
import { compileLinearPattern } from '../../../../lib/linear-pattern/linear-pattern.ts'
import { runAtOnce } from '../../../../lib/sliced.ts'

const atom = constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\w', '\\.', '(a|b)', '(?:ab)', '(b|)')
const quantifier = constantFrom('', '', '*', '+', '?', '{2}', '{1,}', '{0,2}', '*?')
const ecmaAtom = constantFrom(
  'a',
  '.',
  '[a-😀]',
  '[^]',
  '[]',
  '\\s',
  '\\W',
  '\\b',
  '\\B',
  '^',
  '$',
  '\\p{L}',
  '😀',
  '\\u0061',
  '\\u{1F600}',
  '\\ud83d\\ude00',
  '\\x61',
  '\\cJ',
  '\\n',
  '[\\b\\-]',
  '\\/',
)

function patternOf(atoms: Arbitrary<string>, quantified: RegExp) {
  const piece = tuple(atoms, quantifier).map(
    ([one, repeat]) => one + (quantified.test(one) ? repeat : ''),
  )
  return array(array(piece, { maxLength: 4 }), { minLength: 1, maxLength: 3 }).chain((branches) => {
    const text = branches.map((branch) => branch.join('')).join('|')
    return constantFrom(text, `^${text}`, `${text}$`, `^(${text})$`, `(${text})+`, `(?<n>${text})`)
  })
}

const name = string({ unit: constantFrom('a', 'b', 'c', '.', '-', '1'), maxLength: 8 })
const anyText = string({
  unit: constantFrom('a', '\n', ' ', '\u00a0', 'é', '😀', '\ud83d', '\b', '/', '\u2028'),
  maxLength: 8,
})

describe('compileLinearPattern', () => {
  it('agrees with RegExp', () => {
    assert(
      property(patternOf(atom, /./), name, (text, candidate) => {
        const anywhere = compileLinearPattern(text, { match: 'anywhere' })
        const whole = compileLinearPattern(text, { match: 'whole' })
        expect(anywhere.test(candidate)).to.equal(new RegExp(text).test(candidate))
        expect(whole.test(candidate)).to.equal(new RegExp(`^(?:${text})$`).test(candidate))
      }),
      { numRuns: 2000 },
    )
  })

  it('agrees with RegExp under the flag u in the dialect of ECMA-262', () => {
    const patterns = patternOf(ecmaAtom, /^(?!\\[bB]$|[\^$]$)/)
    assert(
      property(patterns, anyText, (text, candidate) => {
        const pattern = compileLinearPattern(text, { match: 'anywhere', dialect: 'ecma-262' })
        const expected = new RegExp(text, 'u').test(candidate)
        expect(pattern.test(candidate)).to.equal(expected)
        expect(runAtOnce(pattern.testSliced(candidate))).to.equal(expected)
      }),
      { numRuns: 4000 },
    )
  })

  it('matches an emoji with one dot', () => {
    const pattern = compileLinearPattern('a.c', { match: 'whole' })

    expect(pattern.test('a😀c')).to.equal(true)
  })

  it('matches a line end with a dot only in the dialect of queries', () => {
    const inQuery = compileLinearPattern('a.c', { match: 'whole' })
    const inSchema = compileLinearPattern('a.c', { match: 'whole', dialect: 'ecma-262' })

    expect(inQuery.test('a\nc')).to.equal(true)
    expect(inSchema.test('a\nc')).to.equal(false)
  })

  for (const text of [
    '^(a+)+$',
    '^(a|a)*$',
    '^(a|aa)+$',
    `^${'a*'.repeat(200)}$`,
    '^(.*)*(.*)*(.*)*b$',
  ]) {
    it(`answers ${text.slice(0, 20)} in time linear in the name`, () => {
      const pattern = compileLinearPattern(text, { match: 'anywhere' })

      expect(pattern.test(`${'a'.repeat(255)}!`)).to.equal(false)
      expect(pattern.spent).to.be.below(256 * pattern.size * 4)
    })
  }

  it('spends a quarter of a unit on a character once its states are cached', () => {
    const pattern = compileLinearPattern('.*ing', { match: 'whole' })
    for (let i = 0; i < 1000; i += 1) pattern.test(`swim${i}ing`)
    const before = pattern.spent

    pattern.test('swim12345ing')

    expect(pattern.spent - before).to.equal('swim12345ing'.length / 4)
  })

  it('pauses within a long text whose states are all new, and gives the same answer', () => {
    // Which of the last 700 characters was an "a" is another state nearly each time.
    const pattern = compileLinearPattern('(a|b)*a(a|b){700}c', { match: 'anywhere' })
    const text = Array.from({ length: 3000 }, (_, i) => 'ab'[((i * i * 7) % 11) % 2]).join('')
    const work = pattern.testSliced(`${text}c`)

    let steps = 0
    let step = work.next()
    for (; step.done !== true; step = work.next()) {
      steps += 1
    }

    expect(steps).to.be.above(10)
    expect(step.value).to.equal(/[ab]*a[ab]{700}c/.test(`${text}c`))
  })

  it('gives the same answers for interleaved texts after it has emptied its cache', () => {
    const pattern = compileLinearPattern('(a|b)*a(a|b){301}c', { match: 'whole' })
    const text = 'ab'.repeat(40_000)
    const first = pattern.testSliced(`${text}c`)
    const second = pattern.testSliced(text)

    let [one, two] = [first.next(), second.next()]
    while (one.done !== true || two.done !== true) {
      pattern.forget()
      one = one.done === true ? one : first.next()
      two = two.done === true ? two : second.next()
    }

    expect([one.value, two.value]).to.deep.equal([true, false])
  })

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
    '(a{1,1000}){1,1000}',
    '((()+){1000}){1000}*{2}',
    '\\',
    '\\1',
    '\\k<a>',
    '\\y',
    '\\p{Nonsense}',
    '\\u{110000}',
    '(?=a)',
    '(?<!a)',
    '(?i:a)',
    '[b-a]',
    `${'('.repeat(51)}${')'.repeat(51)}`,
    'a'.repeat(501),
  ]) {
    it(`refuses ${text.slice(0, 30)}`, () => {
      let thrown: unknown
      try {
        compileLinearPattern(text, { match: 'anywhere' })
      } catch (error) {
        thrown = error
      }
      expect(isServiceError(thrown) && thrown.code).to.equal('INVALID_ARGUMENT')
      expect(String(thrown)).to.include('pattern ')
    })
  }

  it('compiles nested repetition of nothing at once', () => {
    const text = `${'('.repeat(40)}${'){1000}'.repeat(40)}`

    expect(compileLinearPattern(text, { match: 'anywhere' }).test('')).to.equal(true)
  })

  it('counts up to 9,999 characters in the dialect of ECMA-262', () => {
    const pattern = compileLinearPattern('^.{2,4000}$', { match: 'anywhere', dialect: 'ecma-262' })

    expect(pattern.test('é'.repeat(4000))).to.equal(true)
    expect(pattern.test('é'.repeat(4001))).to.equal(false)
  })
})
