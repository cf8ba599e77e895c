import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../lib/sliced.ts'
import type { JsonValue } from '../../../../node/document/exact-json.ts'
import { compileTemplate } from '../../../../node/template/compile-template.ts'
import { RENDER_LIMITS_DEFAULT } from '../../../../node/template/render-budget.ts'
import { renderTemplate } from '../../../../node/template/render-template.ts'
import { errorOf } from '../../../support/error-of.ts'

const TEMPLATE = runAtOnce(compileTemplate('{{texts this}}'))

function* rendering(document: JsonValue) {
  const parts = yield* renderTemplate(TEMPLATE, document, RENDER_LIMITS_DEFAULT)
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')
}

const linesOf = (document: JsonValue): readonly string[] =>
  runAtOnce(rendering(document)).split('\n')

const CASES: Readonly<Record<string, readonly [JsonValue, readonly string[]]>> = {
  'names first, and no numbers, keys or dates': [
    {
      id: 'b-0017',
      published: '2024-05-01T10:00:00Z',
      price: 9.5,
      inStock: true,
      body: 'Tide tables for the north coast, of 2024.',
      tags: ['sea', 'charts'],
      title: 'Tides',
    },
    ['Tides', 'Tide tables for the north coast, of 2024.', 'sea', 'charts'],
  ],
  'the text of HTML': [
    { html: '<h1>Harbours</h1><p>of the <b>north</b> &amp; west</p><script>x()</script>' },
    ['Harbours', 'of the north & west'],
  ],
  'comparisons as they are': [{ text: 'smaller if a < b and so on' }, ['smaller if a < b and so on']], // prettier-ignore
  'no addresses, data, paths, hosts and names of programs': [
    {
      url: 'https://example.org/a',
      image: 'data:image/png;base64,iVBORw0KGgo',
      file: 'lib/tides.ts',
      host: 'www.example.org',
      mail: 'ann@example.org',
      constant: 'MAX_TIDES',
      hash: 'a94a8fe5ccb19ba61c4c',
      version: '1.2.3-beta',
      kept: 'Emma',
    },
    ['Emma'],
  ],
  'a name whatever it is, and a model with its number': [
    { model: 'Boeing 747', Title: 1984, name: 'C++', label: null },
    ['1984', 'C++', 'Boeing 747'],
  ],
  'what lies deeper, with the names of each object first': [
    { id: 'x1', book: { note: 'about a village', title: 'Emma', author: { name: 'Jane Austen' } } },
    ['Emma', 'about a village', 'Jane Austen'],
  ],
  'every script': [
    { a: '潮汐表，北海岸。', b: 'مدّ وجزر', c: 'приливы', d: 'ज्वार भाटा', e: '조석' },
    ['潮汐表，北海岸。', 'مدّ وجزر', 'приливы', 'ज्वार भाटा', '조석'],
  ],
  'all of a document without words': [
    { n: 5, at: '2024-05-01', list: [1, 2] },
    ['n: 5', 'at: 2024-05-01', 'list[#2]: 1,2'],
  ],
  'a text that is no document': ['tide', ['tide']],
  'nothing of nothing': [{}, ['']],
}

describe('the texts of a document', () => {
  for (const [what, [document, lines]] of Object.entries(CASES)) {
    it(`are ${what}`, () => {
      expect(linesOf(document)).to.deep.equal(lines)
    })
  }

  it('have every text of words of any document once for each place, and stay the same when they are read again', () => {
    const word = fc.constantFrom('river', 'harbour wall', 'Fluss', '河流', 'море')
    const { any } = fc.letrec<{ any: JsonValue }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        word,
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('any'), { maxLength: 4 }),
        fc.dictionary(fc.constantFrom('title', 'a', 'b', 'name'), tie('any')),
      ),
    }))
    const wordsIn = (value: JsonValue): readonly string[] => {
      if (typeof value === 'string') return [value]
      if (typeof value !== 'object' || value === null) return []
      return Object.values(value).flatMap((one: JsonValue) => wordsIn(one))
    }
    fc.assert(
      fc.property(any, (document) => {
        const words = wordsIn(document)
        fc.pre(words.length > 0)

        const lines = linesOf({ document })

        const left = lines.filter((line) => !/^(?:-?\d+|true|false)$/.test(line))
        expect(left.toSorted()).to.deep.equal(words.toSorted())
      }),
    )
  })

  it('are read in steps, and refused where they nest too deep or are too long', async () => {
    const many = Array.from({ length: 20_000 }, (_, i) => ({ text: `river and harbour ${i}` }))
    const work = rendering(many)
    let steps = 0
    while (work.next().done !== true) steps += 1
    let deep: JsonValue = 'river'
    for (let i = 0; i < 200; i++) deep = [deep]

    expect(steps).to.be.above(100)
    expect(String(await errorOf(() => runAtOnce(rendering(deep))))).to.include('nests deeper')
    const long = { text: 'river '.repeat(200_000) }
    expect(String(await errorOf(() => runAtOnce(rendering(long))))).to.include(
      'what texts makes is larger than 1048576 bytes',
    )
  })
})
