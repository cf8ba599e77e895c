import { expect } from 'chai'
import { parseExact } from '../../../../../../node/document/exact-json.ts'
import { parseQuery } from '../../../../../../node/query/language/parse-query.ts'
import { parseTableSchema } from '../../../../../../node/schema/table-schema.ts'
import { EVERYTHING, MemoryTextIndex } from '../../../../../support/worlds/memory-text-index.ts'

const AT = { properties: { at: { 'x-service-types': ['datetime'] } } }
const index = new MemoryTextIndex(
  {
    before: { at: '2024-03-09T23:59:59.999Z' },
    first: { at: '2024-03-10' },
    naive: { at: '2024-03-10T15:00:00.123456' },
    printed: { at: '2024-03-11 12:00:00' },
    last: { at: '2024-03-11T23:59:59.999Z' },
    after: { at: '2024-03-12T00:00:00+00:00' },
  },
  parseTableSchema({ default_type: 'one', document_schemas: { one: { schema: AT } } }, undefined),
)

const DAYS: Readonly<Record<string, readonly string[]>> = {
  '{"query":"at:[2024-03-10 TO 2024-03-11]"}': ['first', 'last', 'naive', 'printed'],
  '{"query":"at:{2024-03-10 TO 2024-03-11]"}': ['last', 'printed'],
  '{"query":"at:[2024-03-10 TO 2024-03-11}"}': ['first', 'naive'],
  '{"query":"at:{2024-03-10 TO 2024-03-11}"}': [],
  '{"query":"at:>2024-03-10"}': ['after', 'last', 'printed'],
  '{"query":"at:>=2024-03-11"}': ['after', 'last', 'printed'],
  '{"query":"at:<2024-03-10"}': ['before'],
  '{"query":"at:<=2024-03-10"}': ['before', 'first', 'naive'],
  '{"query":"at:2024-03-10"}': ['first', 'naive'],
  '{"term":"2024-03-11","field":"at"}': ['last', 'printed'],
  '{"start":"2024-03-10","end":"2024-03-11","field":"at"}': ['first', 'naive'],
  '{"start":"2024-03-10","end":"2024-03-11","inclusive_end":true,"field":"at"}': [
    'first',
    'last',
    'naive',
    'printed',
  ],
  '{"start":"2024-03-10","inclusive_start":false,"field":"at"}': ['after', 'last', 'printed'],
  '{"start":"2024-03-10","end":"2024-03-10","inclusive_end":true,"field":"at"}': ['first', 'naive'],
  '{"start":"2024-03-10","end":"2024-03-10","inclusive_start":false,"field":"at"}': [],
  '{"min":"2024-03-10","max":"2024-03-11","inclusive_max":true,"field":"at"}': [
    'first',
    'last',
    'naive',
    'printed',
  ],
  '{"start":"2024-03-10T15:00:00.123","end":"2024-03-11T12:00:00","inclusive_end":true,"field":"at"}':
    ['naive', 'printed'],
}

describe('ranges of times', () => {
  for (const [filter, expected] of Object.entries(DAYS)) {
    it(`take days as whole days: ${filter}`, () => {
      const query = parseQuery(parseExact(filter), 'filter_query')
      const conditions = { ...EVERYTHING.conditions, filter: query }
      const { hits } = index.search({ ...EVERYTHING, conditions })

      expect(hits.map(({ key }) => Buffer.from(key).toString()).toSorted()).to.deep.equal(expected)
    })
  }
})
