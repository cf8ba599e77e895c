import { expect } from 'chai'
import * as fc from 'fast-check'
import { asksFor, parseProjection, project } from '../../../../node/document/projection.ts'
import { parseExact, stringifyExact } from '../../../../node/document/exact-json.ts'
import { isJsonObject } from '../../../../node/document/json-object.ts'
import type { JsonObject } from '../../../../node/document/exact-json.ts'

const DOCUMENT =
  '{"a":1,"b":{"c":{"d":2},"e":3},"items":[{"name":"x","n":1},{"name":"y"},5],"tags":["p","q"],' +
  '"_chunks":{"i":[{"_id":1,"_embedding":[1]},{"_id":2,"_embedding":[2]}],"j":[]},"b.c":7}'

function objectOf(text: string): JsonObject {
  const value = parseExact(text)
  if (!isJsonObject(value)) throw new Error('not an object')
  return value
}
const projected = (
  fields: string | readonly string[],
  document = DOCUMENT,
  virtuals?: JsonObject,
) => stringifyExact(project(objectOf(document), parseProjection(fields), virtuals))

describe('project', () => {
  const examples: [string, string][] = [
    ['a', '{"a":1}'],
    ['a,missing', '{"a":1}'],
    ['missing', '{}'],
    ['b.e', '{"b":{"e":3}}'],
    [' b.e , a ', '{"a":1,"b":{"e":3}}'],
    ['b.c.d', '{"b":{"c":{"d":2}}}'],
    ['b.c.x', '{}'],
    ['a.x', '{}'],
    ['b.c', '{"b.c":7}'],
    ['b,b.e', '{"b":{"c":{"d":2},"e":3}}'],
    ['b.*', '{"b":{"c":{"d":2},"e":3}}'],
    ['b.*.d', '{"b":{"c":{"d":2}}}'],
    ['items.name', '{"items":[{"name":"x"},{"name":"y"}]}'],
    ['items.n', '{"items":[{"n":1}]}'],
    ['tags.*', '{"tags":["p","q"]}'],
    ['tags.x', '{}'],
    ['_chunks.*._id', '{"_chunks":{"i":[{"_id":1},{"_id":2}]}}'],
    ['_chunks.*,-_chunks.*._embedding', '{"_chunks":{"i":[{"_id":1},{"_id":2}],"j":[]}}'],
    ['b,-b.e', '{"b":{"c":{"d":2}}}'],
    ['a,-a', '{}'],
    ['constructor', '{}'],
    ['__proto__', '{}'],
  ]
  for (const [fields, expected] of examples) {
    it(`gives ${expected} for ${fields}`, () => {
      expect(projected(fields)).to.equal(expected)
      expect(projected(fields.split(',').map((field) => field.trim()))).to.equal(expected)
    })
  }

  it('returns everything but the exclusions if all paths exclude', () => {
    expect(projected('-x', '{"x":1,"y":{"z":2}}')).to.equal('{"y":{"z":2}}')
    expect(projected('-y.z,-x', '{"x":1,"y":{"z":2,"u":[]}}')).to.equal('{"y":{"u":[]}}')
    expect(projected('-y.*', '{"y":{"z":2}}')).to.equal('{"y":{}}')
    expect(projected('-l.z', '{"l":[{"z":1,"k":2},3]}')).to.equal('{"l":[{"k":2},3]}')
    expect(projected('-b.c', '{"b":{"c":1},"b.c":2}')).to.equal('{"b":{"c":1}}')
  })

  it('keeps digits and odd names', () => {
    const document = '{"__proto__":{"a":12345678901234567890},"x":1}'
    expect(projected('__proto__.a', document)).to.equal('{"__proto__":{"a":12345678901234567890}}')
    expect(projected('-x', document)).to.equal('{"__proto__":{"a":12345678901234567890}}')
  })

  it('adds virtual fields only if requested by name and absent from the document', () => {
    const virtuals = { _timestamp: 'now' }
    expect(projected('a,_timestamp', '{"a":1}', virtuals)).to.equal('{"a":1,"_timestamp":"now"}')
    expect(projected('_timestamp', '{"_timestamp":"then"}', virtuals)).to.equal(
      '{"_timestamp":"then"}',
    )
    expect(projected('*', '{"a":1}', virtuals)).to.equal('{"a":1}')
    expect(projected('-b', '{"a":1}', virtuals)).to.equal('{"a":1}')
    expect(asksFor(parseProjection('a,_timestamp'), '_timestamp')).to.equal(true)
    expect(asksFor(parseProjection('a,-_timestamp'), '_timestamp')).to.equal(false)
  })

  it('splits a document into a field and the rest', () => {
    const name = fc.stringMatching(/^[a-z]{1,3}$/)
    fc.assert(
      fc.property(fc.dictionary(name, fc.jsonValue()), name, (value, field) => {
        const document = objectOf(JSON.stringify(value))
        const kept = project(document, parseProjection([field]))
        const left = project(document, parseProjection([`-${field}`]))
        expect({ ...left, ...kept }).to.deep.equal({ ...document })
        expect(Object.hasOwn(left, field)).to.equal(false)
        expect(Object.keys(kept).length).to.equal(Object.hasOwn(document, field) ? 1 : 0)
      }),
    )
  })

  it('stays fast on nested arrays and many wildcards', () => {
    const document = `{"a":${'['.repeat(90)}1${']'.repeat(90)}}`
    expect(projected(`a${'.*'.repeat(60)}`, document)).to.equal(document)
    expect(projected(`a${'.*'.repeat(200)}`, document)).to.equal('{}')
  })

  const refused: [string | readonly string[], string][] = [
    ['', 'fields[0]: empty segment'],
    ['a,', 'fields[1]: empty segment'],
    ['a..b', 'fields[0]: empty segment in path "a..b"'],
    ['-', 'fields[0]: empty segment'],
    [['.a'], 'fields[0]: empty segment'],
    [['a'.repeat(1025)], 'fields[0]: a path may have at most 1024 characters'],
    [Array.from({ length: 1001 }, () => 'a'), 'fields: at most 1000 are allowed, not 1001'],
  ]
  for (const [fields, message] of refused) {
    it(`refuses ${JSON.stringify(fields).slice(0, 30)}`, () => {
      expect(() => parseProjection(fields))
        .to.throw(message)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }
})
