import { expect } from 'chai'
import { parseTableSchema, type TableSchema } from '../../../../node/schema/table-schema.ts'
import {
  SETTING_LENGTH_MAX,
  STOP_WORDS_MAX,
  SYNONYM_RULES_MAX,
  SYNONYM_TEXTS_MAX,
  SYNONYM_TEXTS_TOTAL_MAX,
} from '../../../../node/schema/text-settings.ts'

const parse = (value: unknown, previous?: TableSchema) => parseTableSchema(value, previous)
const texts = (count: number) => Array.from({ length: count }, (_, at) => `t${at}`)
const PAIR = ['tv', 'television']

describe('the settings of text in a schema', () => {
  it('are kept unchanged, also beside a plain JSON Schema', () => {
    const settings = {
      language: 'german',
      stop_words: ['und', 'oder'],
      synonyms: [PAIR, { from: ['ny'], to: ['new york', 'the big apple'] }],
    }
    const plain = parse({ ...settings, type: 'object' })

    expect(parse(settings)).to.deep.equal({ version: 0, ...settings })
    expect(plain).to.include({ language: 'german' })
    expect(plain.document_schemas).to.have.keys('_default')
    for (const stopWords of [[], 'none', 'french']) {
      expect(parse({ stop_words: stopWords }).stop_words).to.deep.equal(stopWords)
    }
  })

  it('require a new build of indexes for a language and stop words, but not for synonyms', () => {
    const first = parse({ language: 'german' })

    expect(parse({ language: 'german', synonyms: [PAIR] }, first).version).to.equal(0)
    expect(parse({ language: 'english' }, first).version).to.equal(1)
    expect(parse({ language: 'german', stop_words: 'none' }, first).version).to.equal(1)
  })

  const long = 'x'.repeat(SETTING_LENGTH_MAX + 1)
  const refusals: readonly (readonly [string, unknown, string])[] = [
    ['an unknown language', { language: 'klingon' }, 'schema.language: must be one of arabic'],
    ['a language that is no text', { language: 5 }, 'schema.language: must be one of'],
    [
      'stop words of an unknown language',
      { stop_words: 'de' },
      'schema.stop_words: must be one of',
    ],
    [
      'stop words that are not a list',
      { stop_words: 5 },
      'schema.stop_words: must be a list of words',
    ],
    ['two words in one', { stop_words: ['a', 'b c'] }, 'schema.stop_words[1]: must be one word'],
    ['an empty stop word', { stop_words: [' '] }, 'schema.stop_words[0]: must be a text'],
    ['a long stop word', { stop_words: [long] }, 'schema.stop_words[0]: may have at most'],
    [
      'too many stop words',
      { stop_words: texts(STOP_WORDS_MAX + 1) },
      `schema.stop_words: may hold at most ${STOP_WORDS_MAX} words`,
    ],
    ['synonyms that are no list', { synonyms: {} }, 'schema.synonyms: must be a list of rules'],
    ['a rule that is a text', { synonyms: ['a, b'] }, 'schema.synonyms[0]: must be a list such as'],
    ['a rule of nothing', { synonyms: [null] }, 'schema.synonyms[0]: must be an object'],
    ['one word for itself', { synonyms: [PAIR, ['a']] }, 'schema.synonyms[1]: must be a list of 2'],
    ['a rule without a target', { synonyms: [{ from: ['a'] }] }, 'schema.synonyms[0].to: must be'],
    [
      'a rule with other members',
      { synonyms: [{ from: ['a'], to: ['b'], boost: 2 }] },
      'schema.synonyms[0]: unknown field "boost"',
    ],
    ['a number', { synonyms: [['a', 5]] }, 'schema.synonyms[0][1]: must be a text'],
    ['a long synonym', { synonyms: [['a', long]] }, 'schema.synonyms[0][1]: may have at most'],
    [
      'a synonym of many words',
      { synonyms: [['a', 'b c d e f g h i j']] },
      'schema.synonyms[0][1]: may have at most 8 words',
    ],
    [
      'too many texts in a rule',
      { synonyms: [texts(SYNONYM_TEXTS_MAX + 1)] },
      `schema.synonyms[0]: must be a list of 2 to ${SYNONYM_TEXTS_MAX} texts`,
    ],
    [
      'too many rules',
      { synonyms: Array.from({ length: SYNONYM_RULES_MAX + 1 }, () => PAIR) },
      `schema.synonyms: may hold at most ${SYNONYM_RULES_MAX} rules`,
    ],
    [
      'too many texts in all',
      { synonyms: Array.from({ length: 100 }, () => texts(SYNONYM_TEXTS_MAX)) },
      `schema.synonyms: may hold at most ${SYNONYM_TEXTS_TOTAL_MAX} texts in all`,
    ],
  ]
  for (const [what, schema, message] of refusals) {
    it(`are refused for ${what}, with the place`, () => {
      expect(() => parse(schema)).to.throw(message)
    })
  }
})
