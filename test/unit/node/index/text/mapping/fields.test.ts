import { expect } from 'chai'
import * as fc from 'fast-check'
import { parseExact } from '../../../../../../node/document/exact-json.ts'
import { isJsonObject } from '../../../../../../node/document/json-object.ts'
import { FieldMapping } from '../../../../../../node/index/text/mapping/field-mapping.ts'
import { WORDLESS_SUFFIX } from '../../../../../../node/index/text/mapping/field-names.ts'
import { parseTableSchema } from '../../../../../../node/schema/table-schema.ts'
import type { IndexableField } from '../../../../../../node/index/text/indexable-document.ts'
import { tokensOf } from '../../../../../support/worlds/field-tokens.ts'

const KEY = Buffer.from('k')

function mappingFor(schema?: unknown): FieldMapping {
  return new FieldMapping(schema === undefined ? undefined : parseTableSchema(schema, undefined))
}

/** A table with one document type, the default. */
function typed(schema: object, more: object = {}): FieldMapping {
  return mappingFor({ default_type: 'doc', document_schemas: { doc: { schema } }, ...more })
}

function shown(field: IndexableField): unknown {
  return field.kind === 'text'
    ? tokensOf(field)
        .map(({ term }) => term)
        .join(' ')
    : field.values
}

function indexed(mapping: FieldMapping, document: unknown): Record<string, unknown> {
  const json = parseExact(JSON.stringify(document))
  if (!isJsonObject(json)) throw new TypeError('a document is an object')
  const { fields } = mapping.mapDocument(KEY, json, 0)
  return Object.fromEntries(fields.map((field) => [field.name, shown(field)]))
}

const types = (...names: string[]) => ({ 'x-service-types': names })

describe('FieldMapping without a schema', () => {
  it('infers every field and searches all text by default', () => {
    const document = {
      title: 'Blue Whales',
      size: 30.5,
      big: true,
      at: '2024-01-02T03:04:05Z',
      none: null,
    }

    expect(indexed(mappingFor(), document)).to.deep.equal({
      title: 'blue whales',
      title__keyword: ['Blue Whales'],
      _all: 'blue whales 2024 01 02t03 04 05z',
      size: [30.5],
      big: ['true'],
      at: '2024 01 02t03 04 05z',
      at__keyword: ['2024-01-02T03:04:05Z'],
    })
  })

  it('reads nested objects and arrays by dotted paths', () => {
    const document = { a: { b: [{ c: 'x' }, { c: ['y', ['z']] }] }, n: [1, [2]] }

    const fields = indexed(mappingFor(), document)

    expect(fields['a.b.c']).to.equal('x y z')
    expect(fields['a.b.c__keyword']).to.deep.equal(['x', 'y', 'z'])
    expect(fields['n']).to.deep.equal([1, 2])
  })

  it('leaves a gap between the values of a field', () => {
    const { fields } = mappingFor().mapDocument(
      KEY,
      { t: ['a b', 'c'].map((one) => `${one} x`) },
      0,
    )
    const text = fields.find(({ name }) => name === 't')

    expect(text?.kind === 'text' && tokensOf(text).map(({ position }) => position)).to.deep.equal([
      1, 2, 102, 103,
    ])
    expect(text?.kind === 'text' && text.length).to.equal(4)
  })

  it('has no keyword of strings above 256 characters', () => {
    const mapping = mappingFor()

    expect(indexed(mapping, { t: 'x '.repeat(200) })).to.not.have.property('t__keyword')
    expect(mapping.dropped.counts.overLimit).to.equal(0)
  })

  it('keeps the first type of a field and counts other values', () => {
    const mapping = mappingFor()
    indexed(mapping, { n: 1, s: 'text' })

    expect(indexed(mapping, { n: 'one', s: 7 })).to.deep.equal({
      s: '7',
      s__keyword: ['7'],
      _all: '7',
    })
    expect(mapping.dropped.counts.badValues).to.equal(1)
  })

  it('does not index vectors and edges, and knows _type', () => {
    const document = { _type: 'x', _embeddings: { v: [1] }, _edges: { e: [] }, _all: 'no' }

    expect(indexed(mappingFor(), document)).to.deep.equal({ _type: ['x'] })
  })

  it('indexes summaries and the content of chunks', () => {
    const document = {
      _summaries: { i: 'short' },
      _chunks: { i: [{ _id: 'c', _content: 'part' }] },
    }

    expect(indexed(mappingFor(), document)).to.deep.equal({
      '_summaries.i': 'short',
      '_chunks.i._content': 'part',
    })
  })

  it('limits the number of fields', () => {
    const mapping = mappingFor()
    const many = Object.fromEntries(Array.from({ length: 10_050 }, (_, at) => [`f${at}`, 1]))

    expect(Object.keys(indexed(mapping, many)).length).to.equal(10_000)
    expect(mapping.fieldCount).to.equal(10_000)
    expect(mapping.dropped.counts.overLimit).to.equal(50)
  })

  it('bounds the depth', () => {
    const mapping = mappingFor()
    let document: object = { leaf: 1 }
    for (let depth = 0; depth < 40; depth += 1) document = { d: document }

    expect(indexed(mapping, document)).to.deep.equal({})
    expect(mapping.dropped.counts.overLimit).to.equal(1)
  })

  it('maps any JSON without an error', () => {
    const mapping = mappingFor()
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (document) => {
        const fields = indexed(mapping, document)
        // What a field has beside it, no query names.
        const owners = Object.keys(fields).map((name) => name.replace(WORDLESS_SUFFIX, ''))
        const unknown = owners.filter((name) => !mapping.resolveField(name))
        expect(unknown).to.deep.equal([])
      }),
    )
  })
})

describe('FieldMapping with document schemas', () => {
  const combinations: readonly {
    types: string[]
    value: unknown
    expected: Record<string, unknown>
  }[] = [
    { types: ['text'], value: 'Big Cat', expected: { f: 'big cat' } },
    { types: ['html'], value: '<b>Big</b> Cat', expected: { f: 'big cat' } },
    { types: ['keyword'], value: 'Big Cat', expected: { f: ['Big Cat'] } },
    { types: ['link'], value: 'http://x/Y', expected: { f: ['http://x/Y'] } },
    { types: ['text', 'keyword'], value: 'Big', expected: { f: 'big', f__keyword: ['Big'] } },
    {
      types: ['text', 'search_as_you_type'],
      value: 'Cats',
      expected: { f: 'cats', f__2gram: 'ca cat cats' },
    },
    { types: ['search_as_you_type'], value: 'Cat', expected: { f: 'cat', f__2gram: 'ca cat' } },
    {
      types: ['search_as_you_type', 'keyword'],
      value: 'Ox',
      expected: { f: 'ox', f__keyword: ['Ox'], f__2gram: 'ox' },
    },
    { types: ['numeric'], value: 1.5, expected: { f: [1.5] } },
    { types: ['numeric'], value: 'x', expected: {} },
    { types: ['boolean'], value: false, expected: { f: ['false'] } },
    { types: ['boolean'], value: 1, expected: {} },
    { types: ['datetime'], value: '1970-01-01T00:00:01.5Z', expected: { f: [1500] } },
    { types: ['datetime'], value: '1970-01-02', expected: { f: [86_400_000] } },
    { types: ['datetime'], value: 'yesterday', expected: {} },
    { types: ['geopoint'], value: [1, 2], expected: { f: [{ lon: 1, lat: 2 }] } },
    {
      types: ['geopoint'],
      value: [[1, 2], '3,4'],
      expected: {
        f: [
          { lon: 1, lat: 2 },
          { lon: 4, lat: 3 },
        ],
      },
    },
    { types: ['geopoint'], value: { lat: 2, lng: 1 }, expected: { f: [{ lon: 1, lat: 2 }] } },
    { types: ['geopoint'], value: { lat: 91, lon: 1 }, expected: {} },
    { types: ['geopoint'], value: '1,2,3', expected: {} },
    {
      types: ['geoshape'],
      value: { type: 'Point', coordinates: [1, 2] },
      expected: { f: ['[[1,2,1,2],["point",[1,2]]]'] },
    },
    {
      types: ['geoshape'],
      value: [
        {
          type: 'LineString',
          coordinates: [
            [179, 0],
            [-179, 1],
          ],
        },
        '2,1',
      ],
      expected: { f: ['[[179,0,181,1],["line",[179,0,181,1]]]', '[[1,2,1,2],["point",[1,2]]]'] },
    },
    { types: ['geoshape'], value: { type: 'Circle', coordinates: [1, 2] }, expected: {} },
    { types: ['embedding'], value: [1, 2], expected: {} },
    { types: ['blob'], value: 'AAAA', expected: {} },
    { types: ['text', 'html'], value: 'x', expected: {} },
    { types: ['text', 'numeric'], value: 'x', expected: {} },
    { types: ['link', 'keyword'], value: 'x', expected: {} },
  ]
  for (const { types: names, value, expected } of combinations) {
    it(`${names.join('+')} of ${JSON.stringify(value)}`, () => {
      const schema = { properties: { f: types(...names) }, 'x-service-include-in-all': [] }

      expect(indexed(typed(schema), { f: value })).to.deep.equal(expected)
    })
  }

  const rules: readonly { schema: object; expected: Record<string, unknown> }[] = [
    {
      schema: { properties: { a: { type: 'string' } } },
      expected: { a: 'x', a__keyword: ['x'], _all: 'x', b: [1] },
    },
    {
      schema: { properties: { a: { type: ['null', 'string'], format: 'date-time' } } },
      expected: { b: [1] },
    },
    {
      schema: { properties: { a: {} } },
      expected: { a: 'x', a__keyword: ['x'], _all: 'x', b: [1] },
    },
    { schema: { properties: { a: types('text') } }, expected: { a: 'x', _all: 'x', b: [1] } },
    { schema: { properties: { a: types('keyword') } }, expected: { a: ['x'], b: [1] } },
    {
      schema: { properties: { b: { type: 'number' } } },
      expected: { a: 'x', a__keyword: ['x'], _all: 'x', b: [1] },
    },
    {
      schema: { additionalProperties: true, 'x-service-dynamic': false },
      expected: { a: 'x', a__keyword: ['x'], _all: 'x', b: [1] },
    },
    {
      schema: { 'x-service-dynamic': false, properties: { b: { type: 'number' } } },
      expected: { b: [1] },
    },
    {
      schema: { 'x-service-dynamic': 'strict', properties: { b: { type: 'number' } } },
      expected: { b: [1] },
    },
    { schema: { additionalProperties: types('keyword') }, expected: { a: ['x'], b: ['1'] } },
    {
      schema: { additionalProperties: false, properties: { b: { type: 'number' } } },
      expected: { b: [1] },
    },
    {
      schema: { patternProperties: { '^a$': types('keyword') } },
      expected: { a: ['x'], b: [1] },
    },
    {
      schema: { properties: { a: { type: 'string', 'x-service-index': false } } },
      expected: { b: [1] },
    },
    {
      schema: { $ref: '#/$defs/d', $defs: { d: { properties: { a: types('keyword') } } } },
      expected: { a: ['x'], b: [1] },
    },
    {
      schema: { allOf: [{ properties: { b: { type: 'integer' } } }], 'x-service-dynamic': false },
      expected: { b: [1] },
    },
    {
      schema: { 'x-service-dynamic': false, 'x-service-dynamic-indexing': { mode: 'infer_types' } },
      expected: { a: 'x', a__keyword: ['x'], _all: 'x', b: [1] },
    },
    {
      schema: { properties: { a: types('text') }, 'x-service-include-in-all': ['a'] },
      expected: { a: 'x', _all: 'x', b: [1] },
    },
    {
      schema: { 'x-service-include-in-all': ['c'] },
      expected: { a: 'x', a__keyword: ['x'], b: [1] },
    },
  ]
  for (const { schema, expected } of rules) {
    it(`obeys ${JSON.stringify(schema)}`, () => {
      const mapping = typed(schema, { enforce_types: true })

      expect(indexed(mapping, { a: 'x', b: 1 })).to.deep.equal(expected)
    })
  }

  it('applies the setting of an object to the objects in it, unless they have their own', () => {
    const mapping = typed({
      'x-service-dynamic': false,
      properties: {
        shut: { type: 'object', properties: { k: types('keyword') } },
        open: { type: 'object', 'x-service-dynamic': true },
      },
    })

    const fields = indexed(mapping, { shut: { k: 'x', n: 1 }, open: { n: { m: 2 } }, n: 3 })

    expect(fields).to.deep.equal({ 'shut.k': ['x'], 'open.n.m': [2] })
    expect(['n', 'shut.n', 'shut.n.m'].map((name) => mapping.isLeftOut(name))).to.deep.equal([
      true,
      true,
      true,
    ])
    expect(['shut.k', 'open.x', 'open.n.x'].some((name) => mapping.isLeftOut(name))).to.equal(false)
  })

  it('indexes a field that another type declares as that one does', () => {
    const name = { ...types('text'), 'x-service-analyzer': 'english' }
    const mapping = mappingFor({
      document_schemas: { a: { schema: { properties: { name } } }, b: { schema: {} } },
    })

    expect(indexed(mapping, { _type: 'b', name: 'Running' })).to.deep.equal({
      _type: ['b'],
      name: 'run',
      _all: 'running',
    })
  })

  it('applies a plain JSON Schema to documents without a type', () => {
    const mapping = mappingFor({ type: 'object', properties: { f: types('keyword') } })

    expect(indexed(mapping, { f: 'X', g: 'Y' })).to.deep.equal({
      f: ['X'],
      g: 'y',
      g__keyword: ['Y'],
      _all: 'y',
    })
  })

  it('follows a schema that refers to itself', () => {
    const mapping = typed({ properties: { name: types('keyword'), child: { $ref: '#' } } })

    expect(indexed(mapping, { child: { child: { name: 'x' } } })).to.deep.equal({
      'child.child.name': ['x'],
    })
  })

  it('uses the analyzer of the field, else that of the schema', () => {
    const mapping = typed({
      'x-service-analyzer': 'english',
      'x-service-include-in-all': [],
      properties: { a: types('text'), b: { ...types('text'), 'x-service-analyzer': 'simple' } },
    })

    expect(indexed(mapping, { a: 'running 1', b: 'running 1' })).to.deep.equal({
      a: 'run 1',
      b: 'running',
    })
  })

  it('selects the schema by _type and infers unknown types', () => {
    const mapping = mappingFor({
      document_schemas: {
        a: { schema: { properties: { f: types('keyword') } } },
        b: { schema: {} },
      },
    })

    expect(indexed(mapping, { _type: 'a', f: 'X' })).to.deep.equal({ _type: ['a'], f: ['X'] })
    expect(indexed(mapping, { _type: 'b', f: 'X' })).to.deep.equal({ _type: ['b'], f: ['X'] })
    expect(indexed(mapping, { g: 'X' })).to.deep.equal({ g: 'x', g__keyword: ['X'], _all: 'x' })
  })

  it('keeps the type of a field when a later document schema declares another', () => {
    const mapping = mappingFor({
      document_schemas: {
        a: { schema: { properties: { f: types('numeric') } } },
        b: { schema: { properties: { f: types('text') } } },
      },
    })

    expect(indexed(mapping, { _type: 'b', f: 'x' })).to.deep.equal({ _type: ['b'] })
    expect(mapping.resolveField('f')?.kind).to.equal('number')
  })
})

describe('dynamic templates', () => {
  const cases: readonly {
    template: object
    document: object
    expected: Record<string, unknown>
  }[] = [
    {
      template: { match: '*_id', mapping: { type: 'keyword' } },
      document: { a_id: 'X' },
      expected: { a_id: ['X'] },
    },
    {
      template: { path_match: 'a.**', mapping: { type: 'keyword' } },
      document: { a: { b: { c: 'X' } } },
      expected: { 'a.b.c': ['X'] },
    },
    {
      template: { path_match: 'a.*', mapping: { type: 'keyword' } },
      document: { a: { b: { c: 'X' } } },
      expected: {},
    },
    {
      template: { path_match: '**', path_unmatch: 'a.**', mapping: { type: 'keyword' } },
      document: { a: { b: 'X' } },
      expected: {},
    },
    {
      template: { match_mapping_type: 'date' },
      document: { a: '1970-01-01T00:00:00Z', b: 'x' },
      expected: { a: [0] },
    },
    {
      template: { match: '*', mapping: { type: 'text', doc_values: true, analyzer: 'whitespace' } },
      document: { a: 'X' },
      expected: { a: 'X', a__keyword: ['X'] },
    },
    {
      template: { match: 'a', mapping: { index: false } },
      document: { a: { b: 'x' } },
      expected: {},
    },
    {
      template: { match: 'loc', mapping: { type: 'geopoint' } },
      document: { loc: { lat: 1, lon: 2 } },
      expected: { loc: [{ lon: 2, lat: 1 }] },
    },
    { template: { match: 'a', unmatch: 'a', mapping: {} }, document: { a: 'x' }, expected: {} },
    {
      template: { match: 'a', mapping: { type: 'keyword', include_in_all: true } },
      document: { a: 'X Y' },
      expected: { a: ['X Y'], _all: 'x y' },
    },
  ]
  for (const { template, document, expected } of cases) {
    it(`${JSON.stringify(template)} of ${JSON.stringify(document)}`, () => {
      const schema = { 'x-service-dynamic': false, 'x-service-include-in-all': [] }
      const mapping = typed(schema, { dynamic_templates: [template] })

      expect(indexed(mapping, document)).to.deep.equal(expected)
    })
  }

  it('do not add fields that a schema forbids', () => {
    const mapping = typed({ additionalProperties: false }, { dynamic_templates: [{ match: '*' }] })

    expect(indexed(mapping, { a: 'x' })).to.deep.equal({})
  })
})

describe('resolveField', () => {
  it('knows declared fields and their aliases before any document', () => {
    const mapping = typed({
      properties: { f: types('text', 'keyword', 'search_as_you_type'), k: types('keyword') },
    })

    for (const [name, indexField] of [
      ['f', 'f'],
      ['f.keyword', 'f__keyword'],
      ['f__2gram', 'f__2gram'],
      ['f._2gram', 'f__2gram'],
      ['k.keyword', 'k'],
      ['k__keyword', 'k'],
    ] as const) {
      const field = mapping.resolveField(name)
      expect(field !== undefined && field.kind !== 'unindexed' && field.indexField, name).to.equal(
        indexField,
      )
    }
    expect(mapping.resolveField('g')).to.equal(undefined)
    expect(mapping.resolveField(undefined)).to.include({ indexField: '_all' })
    expect(typed({ 'x-service-include-in-all': [] }).resolveField(undefined)).to.equal(undefined)
  })

  it('follows from the fields of the table', () => {
    const mapping = mappingFor()
    indexed(mapping, { a: { b: 'x' }, n: 1 })

    const again = new FieldMapping(undefined, JSON.parse(JSON.stringify(mapping.fields)))

    expect(again.resolveField('a.b__keyword')).to.deep.equal(mapping.resolveField('a.b__keyword'))
    expect(indexed(again, { n: 'text' })).to.deep.equal({})
  })
})
