import { expect } from 'chai'
import { FIELD_TYPES } from '../../../../node/schema/field-types.ts'
import { parseTableSchema } from '../../../../node/schema/table-schema.ts'
import type { TableSchema } from '../../../../node/schema/table-schema.ts'

const parse = (value: unknown, previous?: TableSchema) => parseTableSchema(value, previous)
const withSchema = (schema: unknown) => ({ document_schemas: { book: { schema } } })

describe('parseTableSchema', () => {
  it('keeps every field and gives the first version', () => {
    const schema = {
      default_type: 'book',
      enforce_types: true,
      document_schemas: {
        book: {
          description: 'a book',
          schema: {
            type: 'object',
            'x-service-include-in-all': ['title'],
            properties: {
              title: {
                type: 'string',
                'x-service-types': [...FIELD_TYPES],
                'x-service-index': false,
              },
              other: {
                'x-service-analyzer': 'standard',
                'x-service-dynamic-indexing': { mode: 'x' },
              },
              email: { type: 'string', format: 'email', pattern: '^.+$' },
            },
          },
        },
      },
      ttl_duration: '7d',
      ttl_field: 'meta.until',
      dynamic_templates: [
        {
          name: 'ids',
          match: '*_id',
          unmatch: 'x*',
          path_match: 'a.**',
          path_unmatch: 'b.*',
          match_mapping_type: 'string',
          mapping: {
            type: 'keyword',
            analyzer: 'english',
            index: true,
            store: true,
            include_in_all: false,
            doc_values: true,
          },
        },
        {},
      ],
    }

    expect(parse({ version: 77, ...schema })).to.deep.equal({ version: 0, ...schema })
    expect(parse({})).to.deep.equal({ version: 0 })
  })

  it('accepts the maximum of dynamic templates with all members', () => {
    const mapping = { type: 'keyword', index: true, store: true, doc_values: true }
    const full = {
      name: 'n',
      match: '*',
      unmatch: 'x',
      path_match: 'a',
      path_unmatch: 'b',
      mapping,
    }
    const dynamic_templates = Array.from({ length: 1000 }, () => full)

    expect(parse({ dynamic_templates }).dynamic_templates?.length).to.equal(1000)
  })

  it('raises the version with every change but that of dynamic templates', () => {
    const base = {
      default_type: 'book',
      document_schemas: { book: { schema: { type: 'object' } } },
      ttl_duration: '1h',
      ttl_field: 'until',
    }
    const previous: TableSchema = { ...parse(base), version: 4 }

    expect(parse(base, previous).version).to.equal(4)
    expect(parse({ ...base, dynamic_templates: [{ match: '*' }] }, previous).version).to.equal(4)
    expect(parse(Object.fromEntries(Object.entries(base).toReversed()), previous).version).to.equal(
      4,
    )
    for (const change of [
      { default_type: undefined },
      { enforce_types: true },
      { document_schemas: { book: { schema: {} } } },
      { document_schemas: { book: { schema: { type: 'object' }, description: 'new' } } },
      { ttl_duration: '60m' },
      { ttl_field: 'other' },
    ]) {
      expect(parse({ ...base, ...change }, previous).version, JSON.stringify(change)).to.equal(5)
    }
  })

  it('reads drafts 2020-12 and 07', () => {
    for (const $schema of [
      'https://json-schema.org/draft/2020-12/schema',
      'http://json-schema.org/draft-07/schema#',
      'http://json-schema.org/draft-07/schema',
    ]) {
      expect(parse(withSchema({ $schema, type: 'object' })).version).to.equal(0)
    }
    const old = { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] }
    expect(parse(withSchema(old)).version).to.equal(0)
  })

  it('accepts references inside a schema and types named like the prototype', () => {
    const schema = {
      $defs: { name: { type: 'string' } },
      properties: { a: { $ref: '#/$defs/name' } },
    }
    expect(parse(withSchema(schema)).version).to.equal(0)
    const own = parse(
      JSON.parse('{"document_schemas":{"__proto__":{"schema":{}}},"default_type":"__proto__"}'),
    )
    expect(Object.keys(own.document_schemas ?? {})).to.deep.equal(['__proto__'])
  })

  it('reads a plain JSON Schema as that of documents without a type', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string' } },
      'x-service-dynamic': true,
    }

    expect(parse({ ...schema, ttl_duration: '1h' })).to.deep.equal({
      version: 0,
      ttl_duration: '1h',
      document_schemas: { _default: { schema } },
    })
    expect(parse({ properties: {} }).document_schemas).to.deep.equal({
      _default: { schema: { properties: {} } },
    })
  })

  const where = 'schema.document_schemas["book"]'
  const refused: [unknown, string][] = [
    [null, 'schema: must be an object'],
    [[], 'schema: must be an object'],
    ['x', 'schema: must be an object'],
    [{ foo: 1 }, 'schema: unknown field "foo"; allowed are version, default_type'],
    [{ type: 'object', foo: 1 }, 'schema: "foo" is neither a setting of the table nor a keyword'],
    [{ ...withSchema({}), type: 'object' }, 'schema: unknown field "type"'],
    [withSchema({ 'x-service-boost': 0 }), 'it must be a number above 0, at most 1000'],
    [withSchema({ 'x-service-dynamic': 'no' }), 'it must be true, false or "strict"'],
    [withSchema({ 'x-service-dynamic': 'strict' }), 'needs enforce_types: true'],
    [{ default_type: 5 }, 'schema.default_type: must be a string'],
    [{ default_type: '' }, 'schema.default_type: must be a string that is not empty'],
    [{ enforce_types: 'yes' }, 'schema.enforce_types: must be true or false'],
    [{ enforce_types: true }, 'schema.enforce_types: needs document_schemas'],
    [{ document_schemas: [] }, 'schema.document_schemas: must be an object'],
    [{ document_schemas: { '': { schema: {} } } }, 'a type name must have 1 to 255'],
    [{ document_schemas: { book: 5 } }, `${where}: must be an object`],
    [{ document_schemas: { book: {} } }, `${where}.schema: must be an object`],
    [{ document_schemas: { book: { schema: {}, x: 1 } } }, `${where}: unknown field "x"`],
    [
      { document_schemas: { book: { schema: {}, description: 1 } } },
      `${where}.description: must be`,
    ],
    [{ ...withSchema({}), default_type: 'film' }, 'schema.default_type: "film" is not one of'],
    [
      { ...withSchema({}), default_type: 'constructor' },
      'schema.default_type: "constructor" is not',
    ],
    [withSchema({ type: 'objekt' }), `${where}.schema: schema is invalid`],
    [withSchema({ properties: { a: { pattern: '(' } } }), `${where}.schema: `],
    [withSchema({ minimum: 'x' }), `${where}.schema: schema is invalid`],
    [
      withSchema({ $ref: 'https://example.com/schema.json' }),
      `${where}.schema: can't resolve reference`,
    ],
    [withSchema({ $ref: '#/$defs/missing' }), `${where}.schema: can't resolve reference`],
    [
      withSchema({ $schema: 'https://example.com/meta' }),
      `${where}.schema: no schema with key or ref`,
    ],
    [withSchema({ $async: true }), `${where}.schema: unknown keyword "$async"`],
    [
      withSchema({ properties: { a: { 'x-service-types': ['txt'] } } }),
      `${where}.schema: #/properties/a/x-service-types: unknown "txt"; known are text, html`,
    ],
    [withSchema({ 'x-service-types': 'text' }), '#/x-service-types: must be an array'],
    [
      withSchema({ 'x-service-include-in-all': [1] }),
      'keyword "x-service-include-in-all" value is invalid',
    ],
    [withSchema({ 'x-service-index': 'no' }), 'keyword "x-service-index" value is invalid'],
    [
      withSchema({ properties: { a: { 'x-service-analyzer': 'klingon' } } }),
      '#/properties/a/x-service-analyzer: unknown "klingon"; known are standard, html',
    ],
    [
      withSchema({ 'x-service-analyzer': 1 }),
      '#/x-service-analyzer: unknown 1; known are standard',
    ],
    [
      { dynamic_templates: [{ mapping: { analyzer: 'klingon' } }] },
      'schema.dynamic_templates[0].mapping.analyzer: must be one of standard, html',
    ],
    [withSchema({ description: 'x'.repeat(1024 * 1024) }), 'schema: may have at most'],
    [{ ttl_duration: 5 }, 'schema.ttl_duration: must be a string'],
    [{ ttl_duration: '7x' }, 'schema.ttl_duration: not a duration'],
    [{ ttl_field: 'a..b' }, 'schema.ttl_field: empty segment'],
    [{ dynamic_templates: {} }, 'schema.dynamic_templates: must be an array'],
    [{ dynamic_templates: [5] }, 'schema.dynamic_templates[0]: must be an object'],
    [{ dynamic_templates: [{ x: 1 }] }, 'schema.dynamic_templates[0]: unknown field "x"'],
    [{ dynamic_templates: [{ match: 5 }] }, 'schema.dynamic_templates[0].match: must be a string'],
    [{ dynamic_templates: [{ match: '*'.repeat(1025) }] }, '[0].match: may have at most 1024'],
    [
      { dynamic_templates: [{ match_mapping_type: 'x' }] },
      '[0].match_mapping_type: must be one of string',
    ],
    [{ dynamic_templates: [{ mapping: 5 }] }, '[0].mapping: must be an object'],
    [{ dynamic_templates: [{ mapping: { type: 'x' } }] }, '[0].mapping.type: must be one of text'],
    [
      { dynamic_templates: [{ mapping: { index: 1 } }] },
      '[0].mapping.index: must be true or false',
    ],
    [{ dynamic_templates: [{ mapping: { x: 1 } }] }, '[0].mapping: unknown field "x"'],
  ]
  for (const [value, message] of refused) {
    it(`refuses ${JSON.stringify(value).slice(0, 70)}`, () => {
      expect(() => parse(value))
        .to.throw(message)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }
})
