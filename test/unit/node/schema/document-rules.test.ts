import { expect } from 'chai'
import { runAtOnce } from '../../../../lib/sliced.ts'
import {
  DocumentRules,
  expiryMsAfter,
  expiryMsOf,
  expiryMsOfText,
} from '../../../../node/schema/document-rules.ts'
import { parseTableSchema } from '../../../../node/schema/table-schema.ts'

const KEY = Buffer.from('a/b')
const rulesOf = (schema: unknown) => new DocumentRules(parseTableSchema(schema, undefined))
const check = (schema: unknown, json: string) => rulesOf(schema).check(KEY, Buffer.from(json))

const BOOKS = {
  document_schemas: {
    book: {
      schema: {
        type: 'object',
        required: ['title'],
        properties: { title: { type: 'string' }, pages: { type: 'integer', minimum: 1 } },
      },
    },
    film: { schema: { type: 'object' } },
  },
}

describe('DocumentRules', () => {
  it('passes the same bytes on without a schema', () => {
    const json = Buffer.from('{"_type":5}')
    const checked = new DocumentRules(undefined).check(KEY, json)
    expect(checked.json).to.equal(json)
    expect(checked.expiry).to.deep.equal({ kind: 'none' })
  })

  it('leaves a document unchanged that needs no default type', () => {
    const json = Buffer.from('{"_type":"film","n":12345678901234567890}')
    expect(rulesOf({ ...BOOKS, default_type: 'book' }).check(KEY, json).json).to.equal(json)
    expect(rulesOf(BOOKS).check(KEY, json).json).to.equal(json)
  })

  it('writes the default type before the other bytes', () => {
    const schema = { ...BOOKS, default_type: 'book' }
    expect(String(check(schema, '{"n":12345678901234567890}').json)).to.equal(
      '{"_type":"book","n":12345678901234567890}',
    )
    expect(String(check(schema, '{}').json)).to.equal('{"_type":"book"}')
    expect(String(check({ default_type: 'a"b' }, '{}').json)).to.equal('{"_type":"a\\"b"}')
  })

  it('writes nothing into documents that a plain JSON Schema describes, and checks them', () => {
    const schema = { ...BOOKS.document_schemas.book.schema, enforce_types: true }
    const json = '{"title":"x"}'

    expect(String(check(schema, json).json)).to.equal(json)
    expect(String(check(schema, '{"_type":"_default","title":"x"}').json)).to.contain('_default')
    expect(() => check(schema, '{"title":1}')).to.throw('/title must be string')
    expect(() => check(schema, '{"_type":"film"}')).to.throw('/_type "film" is unknown')
  })

  for (const [json, problem] of [
    ['{"title":"x"}', undefined],
    ['{"title":"x","_type":"_default","_timestamp":"2030-01-31T12:00:00Z"}', undefined],
    ['{"author":{"name":"x"},"any":{"at":{"all":1}},"list":[{"n":1}]}', undefined],
    ['{"titel":"x"}', '/titel is not mentioned in the schema'],
    ['{"author":{"nome":"x"}}', '/author/nome is not mentioned'],
    ['{"list":[{"n":1},{"m":1}]}', '/list/1/m is not mentioned'],
    ['{"open":{"x":1}}', undefined],
    ['{"said":{"x":1,"y":1}}', '/said/y is not mentioned'],
  ] as const) {
    it(`${problem === undefined ? 'takes' : 'refuses'} ${json} where the schema is strict`, () => {
      const n = { type: 'object', properties: { n: { type: 'integer' } } }
      const schema = {
        enforce_types: true,
        'x-service-dynamic': 'strict',
        properties: {
          title: { type: 'string' },
          author: { type: 'object', properties: { name: { type: 'string' } } },
          any: {},
          list: { type: 'array', items: n },
          open: { type: 'object', 'x-service-dynamic': true },
          said: {
            type: 'object',
            'x-service-dynamic': 'strict',
            allOf: [{ properties: { x: { type: 'integer' } } }],
          },
        },
      }

      if (problem === undefined) expect(String(check(schema, json).json)).to.equal(json)
      else expect(() => check(schema, json)).to.throw(problem)
    })
  }

  it('validates only when types are enforced', () => {
    expect(String(check(BOOKS, '{"_type":"book"}').json)).to.equal('{"_type":"book"}')
    expect(String(check(BOOKS, '{"_type":"unknown"}').json)).to.equal('{"_type":"unknown"}')
    const enforced = { ...BOOKS, enforce_types: true }
    expect(String(check(enforced, '{"_type":"book","title":"x"}').json)).to.contain('"x"')
    expect(String(check({ ...enforced, default_type: 'film' }, '{}').json)).to.equal(
      '{"_type":"film"}',
    )
  })

  it('accepts integers of any size as integers', () => {
    const json = '{"_type":"book","title":"x","pages":12345678901234567890}'
    expect(String(check({ ...BOOKS, enforce_types: true }, json).json)).to.equal(json)
  })

  const refused: [string, string][] = [
    ['{"title":"x"}', 'document "a/b": _type is missing; it must be one of book, film'],
    ['{"_type":"poem"}', 'document "a/b": /_type "poem" is unknown; it must be one of book, film'],
    ['{"_type":"constructor"}', '/_type "constructor" is unknown'],
    ['{"_type":5}', 'document "a/b": /_type must be a string'],
    ['{"_type":null}', 'document "a/b": /_type must be a string'],
    ['{"_type":"book"}', 'document "a/b": it must have required property \'title\''],
    ['{"_type":"book","title":5}', 'document "a/b": /title must be string'],
    ['{"_type":"book","title":"x","pages":0}', 'document "a/b": /pages must be >= 1'],
  ]
  for (const [json, message] of refused) {
    it(`refuses ${json}`, () => {
      expect(() => check({ ...BOOKS, enforce_types: true }, json))
        .to.throw(message)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }

  it('refuses a type that is not a string even if types are not enforced', () => {
    expect(() => check(BOOKS, '{"_type":5}')).to.throw('/_type must be a string')
  })
})

describe('document expiry', () => {
  const HOUR_MS = 3_600_000
  const noon = Date.UTC(2026, 0, 1, 12)

  it('has no policy without a duration', () => {
    expect(rulesOf({ ttl_field: 'until' }).ttl).to.equal(undefined)
    expect(check({ ttl_field: 'until' }, '{}').expiry).to.deep.equal({ kind: 'none' })
  })

  it('counts from the write, unless the document has a time', () => {
    const schema = { ttl_duration: '1h' }
    expect(rulesOf(schema).ttl).to.deep.include({ durationMs: HOUR_MS })
    expect(check(schema, '{}').expiry).to.deep.equal({ kind: 'after-write', durationMs: HOUR_MS })
    expect(check(schema, '{"_timestamp":"2026-01-01T12:00:00.000000001Z"}').expiry).to.deep.equal({
      kind: 'at',
      ms: noon + HOUR_MS,
    })
  })

  it('reads the configured field, also a nested one', () => {
    const schema = { ttl_duration: '1h', ttl_field: 'meta.at' }
    const expected = { kind: 'at', ms: noon + HOUR_MS }
    const stamp = '"2026-01-01T13:00:00+01:00"'
    expect(check(schema, `{"meta":{"at":${stamp}}}`).expiry).to.deep.equal(expected)
    expect(check(schema, `{"meta.at":${stamp}}`).expiry).to.deep.equal(expected)
  })

  it('reads times without a zone as UTC, when written and from what is stored', () => {
    const schema = { ttl_duration: '1h', ttl_field: 'at' }
    const ttl = rulesOf(schema).ttl!
    for (const at of ['2026-01-01T12:00:00', '2026-01-01 12:00:00.000000', '2026-01-01T12:00']) {
      const expected = { kind: 'at', ms: noon + HOUR_MS }
      expect(check(schema, JSON.stringify({ at })).expiry, at).to.deep.equal(expected)
      expect(expiryMsOf({ at }, ttl, 0), at).to.equal(noon + HOUR_MS)
    }
    const day = check(schema, '{"at":"2026-01-01"}').expiry
    expect(day).to.deep.equal({ kind: 'at', ms: Date.UTC(2026, 0, 1, 1) })
  })

  const refused: [unknown, string, string][] = [
    [{ ttl_duration: '1h', ttl_field: 'at' }, '{}', 'document "a/b": ttl field "at" is missing'],
    [{ ttl_duration: '1h', ttl_field: 'a.b' }, '{"a":[]}', 'ttl field "a.b" is missing'],
    [{ ttl_duration: '1h', ttl_field: 'at' }, '{"at":5}', 'ttl field "at" must be an RFC 3339'],
    [
      { ttl_duration: '1h', ttl_field: 'at' },
      '{"at":"soon"}',
      'ttl field "at" must be an RFC 3339',
    ],
    [{ ttl_duration: '1h' }, '{"_timestamp":null}', 'ttl field "_timestamp" must be an RFC 3339'],
    [{ ttl_duration: '1h' }, '{"_timestamp":"x"}', 'ttl field "_timestamp" must be an RFC 3339'],
  ]
  for (const [schema, json, message] of refused) {
    it(`refuses ${json} under ${JSON.stringify(schema)}`, () => {
      expect(() => check(schema, json))
        .to.throw(message)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }

  it('never expires an old document without a usable time', () => {
    const own = rulesOf({ ttl_duration: '1h', ttl_field: 'at' }).ttl!
    const byWrite = rulesOf({ ttl_duration: '1h' }).ttl!
    expect(expiryMsOf({}, own, noon)).to.equal(undefined)
    expect(expiryMsOf({ at: 'x' }, own, noon)).to.equal(undefined)
    expect(expiryMsOf({ at: '2026-01-01T12:00:00Z' }, own, 0)).to.equal(noon + HOUR_MS)
    expect(expiryMsOf({}, byWrite, noon)).to.equal(noon + HOUR_MS)
    expect(expiryMsOf({ _timestamp: 5 }, byWrite, noon)).to.equal(undefined)
  })

  it('is in the past, and neither negative nor absent, for a time before 1970 (p16)', () => {
    const schema = { ttl_duration: '30d', ttl_field: 'born' }
    const ttl = rulesOf(schema).ttl!
    const expired = { kind: 'at', ms: 1 }

    expect(check(schema, '{"born":"1969-07-20T00:00:00Z"}').expiry).to.deep.equal(expired)
    expect(check(schema, '{"born":"0001-01-01T00:00:00Z"}').expiry).to.deep.equal(expired)
    expect(expiryMsOf({ born: '1969-07-20T00:00:00Z' }, ttl, noon)).to.equal(1)
    expect(expiryMsOf({ born: '1969-12-02T00:00:00Z' }, ttl, noon)).to.equal(1)
    expect(expiryMsOf({ born: '1969-12-02T00:00:00.001Z' }, ttl, noon)).to.equal(1)
    expect(expiryMsOf({ born: '1969-12-02T00:00:00.002Z' }, ttl, noon)).to.equal(2)
  })

  it('reads the same from the text of a stored document, in steps', () => {
    const ttl = rulesOf({ ttl_duration: '1h', ttl_field: 'at' }).ttl!
    const documents = [{}, { at: 'x' }, { at: '2026-01-01T12:00:00Z' }, { at: { deep: 1 } }]
    for (const document of documents) {
      const text = Buffer.from(JSON.stringify(document))
      const expected = expiryMsOf(document, ttl, noon)
      expect(runAtOnce(expiryMsOfText(text, ttl, noon))).to.equal(expected)
    }
    const long = Buffer.from(JSON.stringify({ text: 'x'.repeat(2 ** 22), at: 'x' }))

    expect([...expiryMsOfText(long, ttl, noon)]).to.have.lengthOf.above(3)
  })

  it('computes an expiry once the time of the write is known', () => {
    expect(expiryMsAfter({ kind: 'none' }, 5)).to.equal(undefined)
    expect(expiryMsAfter({ kind: 'at', ms: 7 }, 5)).to.equal(7)
    expect(expiryMsAfter({ kind: 'after-write', durationMs: 10 }, 5)).to.equal(15)
  })
})
