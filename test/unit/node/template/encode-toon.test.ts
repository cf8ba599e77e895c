// TOON beside its reference implementation: what we write, its decoder reads back; and where both
// versions of the notation agree, its encoder writes the same.

import { decode, encode } from '@toon-format/toon'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../lib/sliced.ts'
import type { JsonValue } from '../../../../node/document/exact-json.ts'
import { encodeToon, parseToonOptions } from '../../../../node/template/encode-toon.ts'
import type { ToonOptions } from '../../../../node/template/encode-toon.ts'
import { RENDER_LIMITS_DEFAULT, RenderBudget } from '../../../../node/template/render-budget.ts'

const NOTHING = { lengthMarker: undefined, indent: undefined, delimiter: undefined }
const DEFAULTS = parseToonOptions(NOTHING)

function toon(value: JsonValue, options: Partial<ToonOptions> = {}): string {
  const budget = new RenderBudget(RENDER_LIMITS_DEFAULT)
  return runAtOnce(encodeToon(value, { ...DEFAULTS, ...options }, budget))
}

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.constantFrom(
    'true',
    'null',
    '1',
    '-1',
    '1e3',
    '007',
    '+5',
    '- a',
    '#a',
    'a,b',
    'a|b',
    'a\tb',
    'a: b',
    '"',
    '\\',
  ),
  fc.constantFrom('', ' a', 'a ', '[1]', '{a}', 'a\nb', '\u0001', 'zwei Wörter'),
)
const number = fc.oneof(fc.integer(), fc.constantFrom(0.5, -1.25, 1e-7, 123456.789))
const scalar = fc.oneof(text, number, fc.boolean(), fc.constant(null))
const name = fc.oneof(fc.constantFrom('a', 'b', 'c_d', 'e.f', 'two words', '1', '', '-', '"'), text)
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.record({ a: scalar, 'b c': scalar }), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
}))

describe('encodeToon', () => {
  const books = [
    { id: 1, title: 'Emma' },
    { id: 2, title: 'A, B' },
  ]
  const cases: Readonly<
    Record<string, readonly [value: JsonValue, text: string, options?: Partial<ToonOptions>]>
  > = {
    'a scalar': ['a', 'a'],
    'an object': [{ a: 1, b: { c: null } }, 'a: 1\nb:\n  c: null'],
    'an empty list': [{ a: [] }, 'a[#0]:'],
    'a list of scalars': [{ a: [1, 'x', true] }, 'a[#3]: 1,x,true'],
    'a table': [{ books }, 'books[#2]{id,title}:\n  1,Emma\n  2,"A, B"'],
    'a table without markers': [
      { books },
      'books[2]{id,title}:\n  1,Emma\n  2,"A, B"',
      { lengthMarker: false },
    ],
    'a table with tabs': [
      { books },
      'books[#2\t]{id\ttitle}:\n    1\tEmma\n    2\tA, B',
      { delimiter: '\t', indent: 4 },
    ],
    'a table with bars': [books, '[#2|]{id|title}:\n  1|Emma\n  2|A, B', { delimiter: '|' }],
    'other lists': [
      { a: [1, { b: 2, c: [3] }, [4], {}] },
      'a[#4]:\n  - 1\n  - b: 2\n    c[#1]: 3\n  - [#1]: 4\n  -',
    ],
  }
  for (const [what, [given, expected, options]] of Object.entries(cases)) {
    it(`writes ${what}`, () => {
      expect(toon(given, options)).to.equal(expected)
    })
  }

  it('takes a tab as \\t, because templates have no escapes', () => {
    expect(parseToonOptions({ ...NOTHING, delimiter: '\\t' }).delimiter).to.equal('\t')
    expect(parseToonOptions({ ...NOTHING, delimiter: '\t' }).delimiter).to.equal('\t')
  })

  it('writes what the reference implementation reads back', () => {
    const options = fc.record({
      delimiter: fc.constantFrom(...([',', '\t', '|'] as const)),
      indent: fc.constantFrom(2, 4),
    })
    fc.assert(
      fc.property(
        fc.dictionary(name, value, { maxKeys: 4, noNullPrototype: true }),
        options,
        (given, { delimiter, indent }) => {
          const written = toon(given, { lengthMarker: false, delimiter, indent })

          expect(decode(written, { indentSize: indent }), written).to.deep.equal(given)
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('writes lists and tables as the reference implementation does', () => {
    const list = fc.oneof(
      fc.array(scalar, { minLength: 1, maxLength: 4 }),
      fc.array(fc.record({ a: scalar, b: scalar }), { minLength: 1, maxLength: 4 }),
    )
    fc.assert(
      fc.property(list, (given) => {
        expect(toon({ given }, { lengthMarker: false })).to.equal(encode({ given }))
      }),
      { numRuns: 1000 },
    )
  })
})
