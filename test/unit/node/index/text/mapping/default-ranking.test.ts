// The order of a search box without fields, sentence by sentence of the contract (SimpleClause in the contract).

import { expect } from 'chai'
import { seededRandom } from '../../../../../../lib/random.ts'
import type { JsonObject } from '../../../../../../node/document/exact-json.ts'
import { parseQuery } from '../../../../../../node/query/language/parse-query.ts'
import { mergeStatistics } from '../../../../../../node/index/text/search/merge-statistics.ts'
import { weightByName } from '../../../../../../node/index/text/mapping/field-roles.ts'
import { parseTableSchema } from '../../../../../../node/schema/table-schema.ts'
import {
  EVERYTHING,
  MemoryTextIndex,
  type Documents,
} from '../../../../../support/worlds/memory-text-index.ts'
import { parseTestSettings } from '../../../../../support/worlds/test-settings.ts'

const { seed } = parseTestSettings(process.env)

function found(text: string, index: MemoryTextIndex, more: JsonObject = {}) {
  const query = parseQuery({ simple: { query: text, ...more } }, 'query')
  const window = { kind: 'first', limit: 100 } as const
  const conditions = { ...EVERYTHING.conditions, query }
  return index.search({ ...EVERYTHING, window, conditions }).hits.map(({ key, score }) => {
    return { key: Buffer.from(key).toString(), score }
  })
}

function keys(text: string, documents: Documents, more: JsonObject = {}): readonly string[] {
  return found(text, new MemoryTextIndex(documents), more).map(({ key }) => key)
}

/** Texts that say nothing about the question, so that words are rare and lengths differ. */
function others(count: number): Documents {
  const entries = Array.from({ length: count }, (_, at): [string, JsonObject] => [
    `other${at}`,
    {
      name: `thing ${at}`,
      about: `what number ${at} is good for`,
      uses: [`part${at}`, `tool${at}`],
    },
  ])
  return Object.fromEntries(entries)
}

function titleOf(document: JsonObject | undefined): string {
  const title = document?.['title']
  return typeof title === 'string' ? title : ''
}

const NAMES: Readonly<Record<string, readonly [name: string, typed: string]>> = {
  Latin: ['Firefox', 'firefox'],
  'several words': ['Visual Studio Code', 'visual studio code'],
  accents: ['Éclair', 'eclair'],
  humps: ['JavaScript', 'javascript'],
  'humps that are typed': ['postgresql', 'PostgreSQL'],
  Cyrillic: ['Ёжик', 'ежик'],
  Greek: ['Οδυσσεύς', 'ΟΔΥΣΣΕΥΣ'],
  Arabic: ['كِتَاب', 'كتاب'],
  Hebrew: ['שָׁלוֹם', 'שלום'],
  Chinese: ['北京大学', '北京大学'],
  Japanese: ['東京タワー', '東京タワー'],
  Korean: ['한국어', '한국어'],
  Thai: ['ภาษาไทย', 'ภาษาไทย'],
  Devanagari: ['हिन्दी', 'हिन्दी'],
  'stop words alone': ['It', 'It'],
  'an emoji': ['🦊', '🦊'],
}

describe('a search box without fields', () => {
  for (const [what, [name, typed]] of Object.entries(NAMES)) {
    it(`puts the document first whose name is the question: ${what}`, () => {
      const documents = {
        a: { name: `${name} extras`, about: `${name} ${name}`, uses: [name] },
        b: { name: 'one that depends', about: `for ${name}: ${name}, ${name}`, uses: [name] },
        m: { name, about: 'a thing of its own, described by words of no question' },
        z: { name: `more of ${name}`, about: name, uses: [name, name] },
        ...others(20),
      }

      expect(keys(typed, documents)[0]).to.equal('m')
    })
  }

  it('puts it before names and texts that say it again and again', () => {
    const again = 'sea chart '.repeat(12)
    const documents = {
      a: { name: again, about: again, uses: [again, 'sea chart'], extra: 'sea chart' },
      b: { name: 'sea chart', about: 'drawn by hand' },
      ...others(60),
    }

    expect(keys('sea chart', documents)[0]).to.equal('b')
  })

  for (const field of ['title', 'titre', 'название', '名前', 'Label', 'اسم']) {
    it(`knows a name by the field "${field}"`, () => {
      const documents = {
        a: { [field]: 'whale songs', about: 'whale' },
        b: { [field]: 'whale', about: 'of many long words that are not of the question' },
        c: { [field]: 'of the sea', about: 'whale whale whale' },
        ...others(20),
      }

      expect(keys('whale', documents)[0]).to.equal('b')
    })
  }

  it('knows names by the last word of a field, and less so', () => {
    const weights = [
      'name',
      'author.name',
      'full_name',
      'displayName',
      'names',
      'surname',
      'n',
    ].map(weightByName)
    expect(weights).to.deep.equal([2, Math.sqrt(2), Math.sqrt(2), Math.sqrt(2), 1, 1, 1])
  })

  for (const [what, weaker] of Object.entries({
    'a list of others': { uses: ['whale', 'squid', 'shark', 'crab'] },
    'a long text': { about: `whale ${'and other things of the sea '.repeat(30)}` },
    'a web address': { homepage: 'https://whale.example/whale' },
  })) {
    it(`counts a word in a name more than in ${what}`, () => {
      const fill = Object.entries(others(20)).map(([key, document]): [string, JsonObject] => {
        const homepage = `https://example.org/${key}`
        return [key, { ...document, homepage, about: 'words of a text that is long '.repeat(20) }]
      })
      const documents = {
        a: { name: 'one', about: 'x', homepage: 'https://a.example', ...weaker },
        b: { name: 'songs of a whale', homepage: 'https://b.example', about: 'x' },
        ...Object.fromEntries(fill),
      }

      expect(keys('whale', documents)).to.deep.equal(['b', 'a'])
    })
  }

  for (const [what, weaker] of Object.entries({
    'a web address': { homepage: 'https://whale.example' },
    'a field that few documents have': { remark: 'seen with a whale' },
    'a long list': {
      uses: ['whale', 'whale', ...Array.from({ length: 30 }, (_, at) => `tool${at}`)],
    },
  })) {
    it(`counts a word in a short text more than in ${what}`, () => {
      const fill = Object.entries(others(30)).map(([key, document]): [string, JsonObject] => {
        const uses = Array.from({ length: 40 }, (_, at) => `part${at}`)
        return [key, { ...document, homepage: `https://example.org/${key}`, uses }]
      })
      const documents = {
        a: { name: 'one', about: 'what it is good for', homepage: 'https://a.example', ...weaker },
        b: {
          name: 'two',
          about: 'what a whale is good for, and how',
          homepage: 'https://b.example',
        },
        ...Object.fromEntries(fill),
      }

      expect(keys('whale', documents)).to.deep.equal(['b', 'a'])
    })
  }

  it('puts a name first before it is typed to its end, and in spite of a typo', () => {
    const documents = {
      a: { name: 'extras', about: 'firefox firefox', uses: ['firefox'] },
      b: { name: 'firefox', about: 'a browser' },
      c: { name: 'more', about: 'for firefox', uses: ['firefox'] },
      ...others(20),
    }

    expect(keys('firef', documents)[0]).to.equal('b')
    expect(keys('fierfox', documents)[0]).to.equal('b')
  })

  it('puts words in a row before the same words apart, in any field', () => {
    for (const field of ['name', 'about', 'uses']) {
      const documents = {
        a: { [field]: 'sea of the north chart' },
        b: { [field]: 'north sea chart old one' },
        ...others(20),
      }
      expect(keys('north sea', documents), field).to.deep.equal(['b', 'a'])
    }
  })

  it('takes a value of few documents for one of their own, and a kind of many for none', () => {
    const documents = {
      a: { sku: 'web', about: 'one of its own' },
      ...Object.fromEntries(
        Array.from({ length: 30 }, (_, at) => [`k${at}`, { kind: 'web', sku: `s${at}` }]),
      ),
    }
    expect(keys('web', documents)[0]).to.equal('a')
  })

  it('is ordered by the weights of a schema alone, if it has any', () => {
    const properties = { about: { type: 'string', 'x-service-boost': 5 } }
    const schema = parseTableSchema({ type: 'object', properties }, undefined)
    const documents = {
      a: { name: 'whale songs', about: 'x' },
      b: { name: 'y', about: 'whale songs' },
    }
    const own = found('whale', new MemoryTextIndex({ ...documents, ...others(20) }))
    const weighted = found('whale', new MemoryTextIndex({ ...documents, ...others(20) }, schema))

    expect([own[0]?.key, weighted[0]?.key]).to.deep.equal(['a', 'b'])
  })

  it('is ordered by the weights of the query, if it names fields', () => {
    const documents = { a: { name: 'whale', about: 'x' }, b: { name: 'y', about: 'whale' } }

    expect(keys('whale', documents, { fields: ['name', 'about^5'] })).to.deep.equal(['b', 'a'])
  })

  it('gives a document the same score in any division into shards', () => {
    const documents: Documents = {
      a: { name: 'north sea', about: 'a sea', uses: ['north'] },
      b: { name: 'sea', about: 'the north sea', homepage: 'https://sea.example' },
      c: { title: 'north', about: 'sea north' },
      ...others(9),
    }
    const whole = found('north se', new MemoryTextIndex(documents))
    const shards = Object.entries(documents).map(
      ([key, one]) => new MemoryTextIndex({ [key]: one }),
    )
    const query = parseQuery({ simple: { query: 'north se' } }, 'query')
    const conditions = { ...EVERYTHING.conditions, query }
    const statistics = mergeStatistics(shards.map((shard) => shard.statistics(conditions)))
    const apart = shards
      .flatMap((shard) => shard.search({ ...EVERYTHING, conditions, statistics }).hits)
      .map(({ key, score }) => ({ key: Buffer.from(key).toString(), score }))
      .toSorted((one, other) => other.score - one.score)

    expect(apart).to.deep.equal(whole)
    expect(apart).to.have.length(3)
  })

  it(`puts whole names before all others in random tables (QUARRY_TEST_SEED=${seed})`, () => {
    const random = seededRandom(seed)
    const below = (bound: number): number => Math.floor(random() * bound)
    const WORDS = [
      'sea',
      'north',
      'Chart',
      'öl',
      'карта',
      '北',
      'نور',
      'ab',
      'seas',
      'charts',
      'x1',
    ]
    const some = (most: number): string[] =>
      Array.from({ length: 1 + below(most) }, () => WORDS[below(WORDS.length)] ?? '')
    for (let round = 0; round < 150; round += 1) {
      const documents = Object.fromEntries(
        Array.from({ length: 2 + below(25) }, (_, at): [string, JsonObject] => [
          `k${at}`,
          {
            title: some(3).join(' '),
            about: some(30).join(' '),
            uses: some(8),
            kind: some(1)[0] ?? '',
          },
        ]),
      )
      const picked = titleOf(documents[`k${below(Object.keys(documents).length)}`])
      const asked = picked.toUpperCase()
      const areWhole = found(asked, new MemoryTextIndex(documents)).map(({ key }) => {
        return titleOf(documents[key]).toLowerCase() === asked.toLowerCase()
      })

      expect(areWhole[0], asked).to.equal(true)
      expect(areWhole.lastIndexOf(true), asked).to.be.below(
        areWhole.includes(false) ? areWhole.indexOf(false) : Infinity,
      )
    }
  })
})
