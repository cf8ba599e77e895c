// One table for both evaluators of filters: the one that reads documents and the one of the index.

import { expect } from 'chai'
import {
  stringifyExact,
  type JsonObject,
  type JsonValue,
} from '../../../../node/document/exact-json.ts'
import { buildDocumentFilter } from '../../../../node/query/filter/filter-of-query.ts'
import { matchesFilter } from '../../../../node/query/filter/document-filter.ts'
import { parseQuery } from '../../../../node/query/language/parse-query.ts'
import { parseTableSchema } from '../../../../node/schema/table-schema.ts'
import { EVERYTHING, MemoryTextIndex } from '../../../support/worlds/memory-text-index.ts'

/** More different values than any list of terms may name. */
const MANY = 1500
const DOCUMENTS: Record<string, JsonObject> = {
  a: { name: 'Sea chart', n: 1, on: true, at: '2024-05-01T00:00:00Z', ip: '10.1.2.3', e: 'x😀y' },
  b: { name: 'sea', n: 2.5, on: false, at: '2024-06-01T00:00:00Z', ip: '10.200.0.1', e: 'x-y' },
  c: { name: 'The Chart of the sea', n: -3, at: '1969-01-01T00:00:00Z', ip: '11.0.0.1' },
  d: { name: 'chart sea', n: [1, 40], tags: ['red', 'green'], ip: '2001:db8::1', e: '\uffee' },
  e: { name: '', tags: [], n: null, e: '😀' },
  g: { said: "don't" },
  f: { name: 'seaside', tags: ['Red'], e: '\uffee\uffee' },
}
for (let i = 0; i < MANY; i += 1) {
  DOCUMENTS[`k${i}`] = {
    sku: `sku${String(i).padStart(5, '0')}`,
    host: `10.9.${i >> 8}.${i & 255}`,
  }
}
const SCHEMA = parseTableSchema(
  {
    default_type: 'one',
    document_schemas: {
      one: {
        schema: {
          type: 'object',
          'x-service-dynamic-indexing': { mode: 'infer_types' },
          properties: { at: { type: 'string', 'x-service-types': ['datetime'] } },
        },
      },
    },
  },
  undefined,
)
const index = new MemoryTextIndex(DOCUMENTS, SCHEMA)

const many = (count: number, begin = 0) =>
  Array.from({ length: count }, (_, i) => `k${i + begin}`).toSorted()

/** The same documents from both. */
const SAME: readonly (readonly [JsonValue, readonly string[]])[] = [
  [{ term: 'sea', field: 'name.keyword' }, ['b']],
  [{ term: 1, field: 'n' }, ['a', 'd']],
  [{ term: 'red', field: 'tags.keyword' }, ['d']],
  [{ match: 'SEA', field: 'name' }, ['a', 'b', 'c', 'd']],
  [{ match: 'sea chart', field: 'name', operator: 'and' }, ['a', 'c', 'd']],
  [{ match: 'seaside sea', field: 'name' }, ['a', 'b', 'c', 'd', 'f']],
  [{ match_phrase: 'sea chart', field: 'name' }, ['a']],
  [{ terms: ['sea', ['chart', 'map']], field: 'name' }, ['a']],
  [{ prefix: 'sea', field: 'name.keyword' }, ['b', 'f']],
  [{ prefix: 'sku', field: 'sku.keyword' }, many(MANY)],
  [{ prefix: 'sku000', field: 'sku.keyword' }, many(100)],
  [{ prefix: '', field: 'sku.keyword' }, many(MANY)],
  [{ wildcard: 'sku0*', field: 'sku.keyword' }, many(MANY)],
  [{ wildcard: '*99', field: 'sku.keyword' }, many(MANY).filter((key) => key.endsWith('99'))],
  [{ wildcard: 'x?y', field: 'e.keyword' }, ['a', 'b']],
  [{ min: 'sku00000', max: 'sku00999', field: 'sku.keyword' }, many(999)],
  [{ min: 'sku00000', max: 'sku01499', inclusive_max: true, field: 'sku.keyword' }, many(MANY)],
  [{ min: 'sku01400', inclusive_min: false, field: 'sku.keyword' }, many(99, 1401)],
  [{ max: 'sku00003', field: 'sku.keyword' }, many(3)],
  [{ min: '\uffee', field: 'e.keyword' }, ['d', 'e', 'f']],
  [{ min: '\uffee', max: '😀', field: 'e.keyword' }, ['d', 'f']],
  [{ min: 0, max: 3, field: 'n' }, ['a', 'b', 'd']],
  [{ start: '2024-05-01', end: '2024-05-02', field: 'at' }, ['a']],
  [{ cidr: '10.0.0.0/8', field: 'ip' }, ['a', 'b']],
  [{ cidr: '10.9.0.0/16', field: 'host' }, many(MANY)],
  [{ cidr: '2001:db8::/32', field: 'ip' }, ['d']],
  [{ bool: true, field: 'on' }, ['a']],
  [{ query: 'n:>=2' }, ['b', 'd']],
  [{ query: 'tags.keyword:*' }, ['d', 'f']],
  [{ ids: ['a', 'z'] }, ['a']],
  [{ must_not: { prefix: 'sku', field: 'sku.keyword' } }, ['a', 'b', 'c', 'd', 'e', 'f', 'g']],
  [
    {
      disjuncts: [
        { term: 1, field: 'n' },
        { bool: true, field: 'on' },
        { match: 'sea', field: 'name' },
      ],
      min: 2,
    },
    ['a', 'd'],
  ],
]

/** A document alone does not tell which of its texts an index cuts into words, and how. */
const DIFFERENT: readonly {
  readonly filter: JsonValue
  readonly why: string
  readonly scan: readonly string[]
  readonly indexed: readonly string[]
}[] = [
  {
    filter: { prefix: 'sea', field: 'name' },
    why: 'a scan compares values, an index words',
    scan: ['b', 'f'],
    indexed: ['a', 'b', 'c', 'd', 'f'],
  },
  {
    filter: { match: 'don', field: 'said' },
    why: 'a scan cuts at each sign, an index by the rules of Unicode',
    scan: ['g'],
    indexed: [],
  },
  {
    filter: { term: 'chart', field: 'name' },
    why: 'a scan compares values, an index words',
    scan: [],
    indexed: ['a', 'c', 'd'],
  },
]

describe('a filter', () => {
  for (const [filter, keys] of SAME) {
    it(`gives the same documents in a scan and in an index: ${stringifyExact(filter).slice(0, 90)}`, () => {
      expect(scan(filter)).to.deep.equal(keys)
      expect(indexed(filter)).to.deep.equal(keys)
    })
  }

  for (const { filter, why, ...expected } of DIFFERENT) {
    it(`differs, since ${why}: ${stringifyExact(filter).slice(0, 60)}`, () => {
      expect({ scan: scan(filter), indexed: indexed(filter) }).to.deep.equal(expected)
    })
  }
})

function scan(filter: JsonValue): readonly string[] {
  const test = buildDocumentFilter(parseQuery(filter, 'filter_query'), 'filter_query')
  return Object.entries(DOCUMENTS)
    .filter(([key, document]) => matchesFilter(test, document, Buffer.from(key)))
    .map(([key]) => key)
    .toSorted()
}

function indexed(filter: JsonValue): readonly string[] {
  const conditions = { ...EVERYTHING.conditions, filter: parseQuery(filter, 'filter_query') }
  const window = { kind: 'first', limit: 10_000 } as const
  const { hits } = index.search({ ...EVERYTHING, conditions, window })
  return hits.map(({ key }) => Buffer.from(key).toString()).toSorted()
}
