import { expect } from 'chai'
import { parseQuery } from '../../../../../../node/query/language/parse-query.ts'
import { parseTableSchema } from '../../../../../../node/schema/table-schema.ts'
import { EVERYTHING, MemoryTextIndex } from '../../../../../support/worlds/memory-text-index.ts'

/** The keys that a search box finds for a text, the best first. */
function typed(index: MemoryTextIndex, text: string): readonly string[] {
  return found(index, { simple: { query: text } })
}

function found(index: MemoryTextIndex, query: object): readonly string[] {
  const parsed = parseQuery(JSON.parse(JSON.stringify(query)), 'query')
  const conditions = { ...EVERYTHING.conditions, query: parsed }
  const { hits } = index.search({ ...EVERYTHING, conditions })
  return hits.map(({ key }) => Buffer.from(key).toString())
}

/** Two spellings of one word, each of which finds the other. */
const SPELLINGS: readonly (readonly [string, string])[] = [
  ['Καλημέρα', 'ΚΑΛΗΜΕΡΑ'],
  ['οδός', 'οδοσ'],
  ['ΟΔΟΣ', 'οδός'],
  ['ᾅδης', 'αδης'],
  ['ёлка', 'елка'],
  ['ЁЖ', 'еж'],
  ['за\u0301мок', 'замок'],
  ['مُحَمَّد', 'محمد'],
  ['أحمد', 'احمد'],
  ['إسلام', 'اسلام'],
  ['آمن', 'امن'],
  ['مسؤول', 'مسوول'],
  ['كـــتاب', 'كتاب'],
  ['مدرسة', 'مدرسه'],
  ['شَبَكَة', 'شبكة'],
  ['שָׁלוֹם', 'שלום'],
  ['fo\u200bobar', 'foobar'],
  ['می\u200cخواهم', 'میخواهم'],
  ['foo\u2060bar', 'foobar'],
  ['\ufefffoobar', 'foobar'],
  ['foo\u00adbar', 'foobar'],
  ['क\u094d\u200dष', 'क्ष'],
  ['❤\ufe0f', '❤'],
  ['naïve', 'naive'],
]

/** Words that differ by a mark, and are two words. */
const OTHERS: readonly (readonly [string, string])[] = [
  ['йод', 'иод'],
  ['की', 'क'],
  ['が', 'か'],
  ['กา', 'ก่า'],
  ['😀', '😁'],
  ['👍🏽', '👎🏽'],
  ['🇫🇷', '🇩🇪'],
]

describe('what people type', () => {
  for (const [one, other] of SPELLINGS) {
    it(`finds ${JSON.stringify(one)} by ${JSON.stringify(other)}, and the other way round`, () => {
      const index = new MemoryTextIndex({ a: { t: `x ${one} y` }, b: { t: `x ${other} y` } })

      expect(found(index, { match: one, field: 't' }), one).to.have.members(['a', 'b'])
      expect(found(index, { match: other, field: 't' }), other).to.have.members(['a', 'b'])
      expect(found(index, { match_phrase: `x ${one} y`, field: 't' })).to.have.members(['a', 'b'])
      expect(found(index, { prefix: one, field: 't' })).to.have.members(['a', 'b'])
      expect(typed(index, other), other).to.have.members(['a', 'b'])
    })
  }

  for (const [one, other] of OTHERS) {
    it(`tells ${one} from ${other}`, () => {
      const index = new MemoryTextIndex({ a: { t: `x ${one} y` }, b: { t: `x ${other} y` } })

      expect(found(index, { match: one, field: 't' })).to.deep.equal(['a'])
      expect(found(index, { match: other, field: 't' })).to.deep.equal(['b'])
    })
  }

  it('finds an emoji by itself, in a sentence and in a sequence of others', () => {
    const index = new MemoryTextIndex({
      a: { t: 'done 🎉' },
      b: { t: 'a 👩‍🔬 in a lab🎉🎉' },
      c: { t: 'from 🇫🇷🇩🇪 to ☕' },
    })

    expect(typed(index, '🎉')).to.have.members(['a', 'b'])
    expect(typed(index, '👩‍🔬')).to.deep.equal(['b'])
    expect(typed(index, '🇩🇪')).to.deep.equal(['c'])
    expect(typed(index, '☕')).to.deep.equal(['c'])
    expect(typed(index, '🔬')).to.deep.equal([])
  })

  it('keeps the hits of the words before, letter by letter', () => {
    const documents = { a: { t: 'the king of the hill' }, b: { t: 'King of their hearts' } }
    const schemas = ['english', 'german', undefined].map((language) =>
      parseTableSchema(language === undefined ? {} : { language }, undefined),
    )
    for (const schema of schemas) {
      const index = new MemoryTextIndex(documents, schema)
      const whole = 'king of the hill'
      for (let length = 2; length <= whole.length; length += 1) {
        const text = whole.slice(0, length)
        expect(typed(index, text), text).to.include('a')
      }
    }
  })

  it('finds words that begin with a stop word', () => {
    const index = new MemoryTextIndex({ a: { t: 'thermal springs' }, b: { t: 'cold springs' } })

    for (const text of ['th', 'the', 'ther', 'therm']) {
      expect(typed(index, text), text).to.deep.equal(['a'])
    }
    const multi_match = { query: 'the', fields: ['t'], type: 'bool_prefix' }
    expect(found(index, { multi_match })).to.deep.equal(['a'])
    expect(typed(index, 'the '), 'a word that has ended').to.deep.equal([])
  })

  it('finds Korean nouns with their particles, beside other words', () => {
    const index = new MemoryTextIndex({
      a: { t: '학교에서 도서관을 찾았다' },
      b: { t: '집에서 공부했다' },
    })

    expect(typed(index, '학교 도서관')).to.deep.equal(['a'])
    expect(typed(index, '도서관 학교 ')).to.deep.equal(['a'])
    expect(typed(index, '집 공부')).to.deep.equal(['b'])
  })
})

const WHOLE_AND_PARTS: readonly (readonly [string, readonly string[]])[] = [
  ['java.lang.NullPointerException', ['NullPointerException', 'java.lang', 'Pointer', 'lang']],
  ['getUserName', ['UserName', 'user', 'get', 'name']],
  ['XMLHttpRequest', ['request', 'xml', 'http']],
  ['snake_case_name', ['snake', 'case_name', 'name']],
  ['src/index.test.ts', ['index', 'index.test', 'ts', 'src']],
  ['libfoo-1.2.3', ['1.2', 'libfoo', '1.2.3']],
  ['works.Then', ['works', 'works.Then']],
  ['report_2024.pdf', ['report', 'pdf', '2024']],
]

describe('words that are put together', () => {
  for (const [whole, parts] of WHOLE_AND_PARTS) {
    it(`finds ${whole} by its parts`, () => {
      const index = new MemoryTextIndex({
        a: { t: `see ${whole} here` },
        b: { t: 'nothing of it' },
      })

      for (const part of [...parts, whole]) {
        expect(typed(index, `${part} `), part).to.deep.equal(['a'])
        expect(found(index, { match: part, field: 't', operator: 'and' }), part).to.deep.equal([
          'a',
        ])
        expect(found(index, { query: `t:${part}` }), part).to.deep.equal(['a'])
      }
    })
  }

  it('puts the whole before its parts', () => {
    const index = new MemoryTextIndex({
      a: { t: 'a java.lang.NullPointerException here' },
      b: { t: 'a NullPointerException here' },
      c: { t: 'java and lang, NullPointerException' },
    })

    expect(typed(index, 'NullPointerException')[0]).to.equal('b')
    expect(typed(index, 'java.lang.NullPointerException')[0]).to.equal('a')
    expect(typed(index, 'java.lang.NullPointerException')).to.have.members(['a', 'c'])
  })

  it('finds a sentence without a space by words around its full stop', () => {
    const index = new MemoryTextIndex({ a: { t: 'It works. Then it stops.' } })

    expect(typed(index, 'works.Then')).to.deep.equal(['a'])
    expect(typed(index, 'stops')).to.deep.equal(['a'])
  })

  it('finds values that are composed or not by either', () => {
    const index = new MemoryTextIndex({ a: { t: 'cafe\u0301' }, b: { t: 'café' } })

    for (const text of ['cafe\u0301', 'café']) {
      expect(found(index, { term: text, field: 't.keyword' })).to.have.members(['a', 'b'])
      expect(found(index, { prefix: text, field: 't.keyword' })).to.have.members(['a', 'b'])
      const range = { min: text, max: text, inclusive_max: true, field: 't.keyword' }
      expect(found(index, range)).to.have.members(['a', 'b'])
    }
  })
})
