import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../lib/sliced.ts'
import { DocumentRules } from '../../../../node/schema/document-rules.ts'
import { compileDocumentSchema } from '../../../../node/schema/document-schema.ts'
import { parseTableSchema } from '../../../../node/schema/table-schema.ts'
import { walk } from '../../../support/slices/sliced-steps.ts'

type Schema = Record<string, unknown>

const KEY = Buffer.from('k')
const OPTIONS = { strict: false, allowUnionTypes: true, logger: false } as const

const isValid = (schema: Schema, document: unknown): boolean => {
  const validator = runAtOnce(compileDocumentSchema(schema, 'schema'))
  return runAtOnce(validator.find(Buffer.from(JSON.stringify(document)))) === undefined
}
/** As it comes from JSON text: ajv also compares prototypes. */
const plain = (value: unknown) => JSON.parse(JSON.stringify(value))
const DRAFT_07 = addFormats.default(new Ajv(OPTIONS))
const DRAFT_2020 = addFormats.default(new Ajv2020(OPTIONS))

/** Undefined where ajv itself fails, as it does on some patterns beside conditions. */
const isValidForAjv = (schema: Schema, document: unknown): boolean | undefined => {
  const ajv = '$schema' in schema ? DRAFT_07 : DRAFT_2020
  const given = plain(schema)
  try {
    return ajv.compile(given)(plain(document))
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  } finally {
    ajv.removeSchema(given)
  }
}
const rulesOf = (schema: Schema): DocumentRules =>
  new DocumentRules(
    parseTableSchema(
      { enforce_types: true, default_type: 'x', document_schemas: { x: { schema } } },
      undefined,
    ),
  )

const check = (schema: Schema, document: unknown) =>
  walk(rulesOf(schema).checkSliced(KEY, Buffer.from(JSON.stringify(document))))

const condition = (...parts: unknown[]): Schema =>
  Object.fromEntries(['if', 'then', 'else'].map((keyword, index) => [keyword, parts[index]]))

/** Few names and values, so that schemas and documents meet. */
const names = fc.constantFrom('a', 'b', 'ab', 'c/~')
const scalars = fc.constantFrom(0, 1, 2.5, -3, 1e20, '', 'a', 'ab', 'ä😀', '2020-01-01', true, null)
const { value: values } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalars,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(names, tie('value'), { maxKeys: 4 }),
  ),
}))
const documents = fc.oneof(fc.dictionary(names, values), fc.array(values, { maxLength: 5 }), values)
const types = fc.constantFrom('array', 'boolean', 'integer', 'null', 'number', 'object', 'string')
const counts = fc.nat(3)
const patterns = fc.constantFrom('^a', 'b$', '^a*$', '.', 'ä|b')

const { schema: schemas } = fc.letrec((tie) => {
  const schema = tie('schema')
  const list = fc.array(schema, { minLength: 1, maxLength: 3 })
  const keyword = fc.oneof(
    { depthSize: 'small' },
    fc.record({ type: types }),
    fc.record({ type: fc.uniqueArray(types, { minLength: 1, maxLength: 3 }) }),
    fc.record({ enum: fc.array(values, { minLength: 1, maxLength: 3 }) }),
    fc.record({ const: values }),
    fc.record({ minimum: counts }),
    fc.record({ exclusiveMaximum: counts }),
    fc.record({ multipleOf: fc.constantFrom(1, 0.5, 2) }),
    fc.record({ minLength: counts }),
    fc.record({ maxLength: counts }),
    fc.record({ pattern: patterns }),
    fc.record({ format: fc.constantFrom('date', 'email', 'uri', 'int32', 'unknown') }),
    fc.record({ minItems: counts }),
    fc.record({ maxItems: counts }),
    fc.record({ uniqueItems: fc.boolean() }),
    fc.record({ items: schema }),
    fc.record({ prefixItems: list, items: schema }),
    // By itself, because ajv forgets `contains` on an empty array when `prefixItems` is beside it.
    fc.record({ contains: schema }).map((part): Schema => ({ allOf: [part] })),
    fc
      .record({ contains: schema, minContains: counts, maxContains: counts })
      .map((part): Schema => ({ allOf: [part] })),
    fc.record({ required: fc.uniqueArray(names, { maxLength: 2 }) }),
    fc.record({ minProperties: counts }),
    fc.record({ maxProperties: counts }),
    fc.record({ properties: fc.dictionary(names, schema, { maxKeys: 3 }) }),
    fc.record({
      properties: fc.dictionary(names, schema, { maxKeys: 2 }),
      additionalProperties: schema,
    }),
    fc.record({ patternProperties: fc.dictionary(patterns, schema, { maxKeys: 2 }) }),
    fc.record({ propertyNames: schema }),
    fc.record({
      dependentRequired: fc.dictionary(names, fc.uniqueArray(names, { maxLength: 2 })),
    }),
    fc.record({ dependentSchemas: fc.dictionary(names, schema, { maxKeys: 2 }) }),
    fc.record({ dependencies: fc.dictionary(names, fc.oneof(fc.uniqueArray(names), schema)) }),
    fc.record({ allOf: list }),
    fc.record({ anyOf: list }),
    fc.record({ oneOf: list }),
    fc.record({ not: schema }),
    fc.tuple(schema, schema, schema).map(([test, yes, no]) => condition(test, yes, no)),
    fc.record({ items: fc.constant({ $ref: '#/$defs/one' }) }),
    fc.record({ properties: fc.record({ a: fc.constant({ $ref: '#/$defs/one' }) }) }),
  )
  return {
    schema: fc.oneof(
      { depthSize: 'small' },
      fc.boolean(),
      fc.array(keyword, { maxLength: 3 }).map((parts): Schema => Object.assign({}, ...parts)),
    ),
  }
})
const roots = fc
  .tuple(schemas, schemas)
  .map(([root, one]): Schema => ({ allOf: [root], $defs: { one } }))

describe('the validator of documents', () => {
  it('accepts the documents that ajv accepts', () => {
    fc.assert(
      fc.property(roots, documents, (schema, document) => {
        fc.pre(!hasEndlessReference(schema))
        const expected = isValidForAjv(schema, document)
        fc.pre(expected !== undefined)

        expect(isValid(schema, document)).to.equal(expected)
      }),
      { numRuns: 500 },
    )
  })

  it('accepts the documents that ajv accepts under unevaluatedProperties and unevaluatedItems', () => {
    const known = fc.constantFrom<Schema>(
      { properties: { a: true } },
      { properties: { b: { type: 'string' } }, required: ['b'] },
    )
    const combined = fc.oneof(
      known,
      fc.array(known, { minLength: 1, maxLength: 3 }).map((anyOf): Schema => ({ anyOf })),
      fc.array(known, { minLength: 1, maxLength: 3 }).map((allOf): Schema => ({ allOf })),
      fc.tuple(known, known, known).map(([test, yes, no]) => condition(test, yes, no)),
      fc.tuple(names, known).map(([name, one]): Schema => ({ dependentSchemas: { [name]: one } })),
      known.map((one): Schema => ({ $defs: { one }, $ref: '#/$defs/one' })),
    )
    const rest = fc.constantFrom(false, { type: 'number' })
    const members = fc.dictionary(names, fc.constantFrom<unknown>(1, 'x'))

    fc.assert(
      fc.property(combined, rest, members, (schema, unevaluatedProperties, document) => {
        const whole = { ...schema, unevaluatedProperties }

        expect(isValid(whole, document)).to.equal(isValidForAjv(whole, document))
      }),
      { numRuns: 300 },
    )
  })

  it('reads the keywords of draft-07 as ajv does', () => {
    const $schema = 'http://json-schema.org/draft-07/schema#'
    const old: Schema[] = [
      { $schema, items: [{ type: 'string' }], additionalItems: { type: 'number' } },
      { $schema, items: [true], additionalItems: false },
      { $schema, contains: { type: 'string' }, minContains: 2 },
      { $schema, definitions: { a: { $id: '#name', type: 'number' } }, items: { $ref: '#name' } },
      { $schema, dependencies: { a: ['b'], b: { required: ['ab'] } } },
    ]

    fc.assert(
      fc.property(fc.constantFrom(...old), documents, (schema, document) => {
        expect(isValid(schema, document)).to.equal(isValidForAjv(schema, document))
      }),
    )
  })

  const references: Schema[] = [
    { $defs: { 'a/b~': { type: 'string' } }, items: { $ref: '#/$defs/a~1b~0' } },
    { $defs: { a: { $anchor: 'here', type: 'string' } }, items: { $ref: '#here' } },
    {
      $id: 'https://x.example/s',
      $defs: { a: { $id: 'a', type: 'string' } },
      items: { $ref: 'a' },
    },
    { $id: 'urn:one', $defs: { a: { type: 'string' } }, items: { $ref: '#/$defs/a' } },
    { $dynamicAnchor: 'node', type: ['array', 'string'], items: { $dynamicRef: '#node' } },
  ]
  for (const schema of references) {
    it(`follows ${JSON.stringify(schema)}`, () => {
      expect(isValid(schema, ['a'])).to.equal(true)
      expect(isValid(schema, [1])).to.equal(false)
    })
  }

  it('applies several keywords to one member', () => {
    const bySchema = { dependentSchemas: { a: { required: ['b'] } }, dependencies: { a: true } }
    const byName = { dependentRequired: { a: ['b'] }, dependencies: { a: [] } }

    for (const schema of [bySchema, byName]) {
      expect(isValid(schema, { a: 1 })).to.equal(false)
      expect(isValid(schema, { a: 1, b: 1 })).to.equal(true)
    }
  })

  it('compares numbers by all their digits', () => {
    const schema = { properties: { a: { uniqueItems: true } } }
    const validator = runAtOnce(compileDocumentSchema(schema, 'schema'))
    const find = (json: string) => runAtOnce(validator.find(Buffer.from(json)))

    expect(find('{"a":[12345678901234567890,12345678901234567891]}')).to.equal(undefined)
    expect(find('{"a":[1,[],1.0]}')).to.deep.equal({
      pointer: '/a',
      message: 'must NOT have duplicate items (items ## 0 and 2 are identical)',
    })
  })

  it('points to the wrong value', () => {
    const schema = { properties: { 'a/b': { items: { properties: { '~': { type: 'null' } } } } } }

    expect(() => check(schema, { 'a/b': [{}, { '~': 1 }] })).to.throw('/a~1b/1/~0 must be null')
  })
})

describe('the work of a schema', () => {
  it('is small for a pattern of nested repetition (p15)', () => {
    const schema = { properties: { a: { type: 'string', pattern: '^(a+)+$' } } }

    expect(() => check(schema, { a: `${'a'.repeat(29)}!` })).to.throw(
      '/a must match pattern "^(a+)+$"',
    )
    expect(() => check(schema, { a: `${'a'.repeat(1_000_000)}!` })).to.throw(
      '/a must match pattern "^(a+)+$"',
    )
  })

  it('grows with the number of unique items, not with its square (p15)', () => {
    const schema = { properties: { a: { type: 'array', uniqueItems: true } } }
    const [few, many] = [5000, 40_000].map((length) => {
      const a = Array.from({ length }, (_, i) => ({ i }))
      return check(schema, { a }).pauses
    })

    expect(few).to.be.at.least(4)
    expect(many).to.be.at.most((few ?? 0) * 12)
  })

  it('is bounded where alternatives inside alternatives multiply it', () => {
    const $ref = '#/$defs/n'
    const item = { items: { $ref }, maxItems: 0 }
    const schema = { $defs: { n: { anyOf: [item, item, item] } }, properties: { a: { $ref } } }
    const nested = JSON.parse(`${'['.repeat(60)}${']'.repeat(60)}`)

    expect(() => check(schema, { a: nested })).to.throw(
      'document "k": checking this document against the schema takes too much work',
    )
  })

  it('is done in short steps for a large document', () => {
    const schema = { properties: { a: { items: { properties: { i: { type: 'integer' } } } } } }
    const { pauses } = check(schema, { a: Array.from({ length: 200_000 }, (_, i) => ({ i })) })

    expect(pauses).to.be.at.least(100)
  })

  it('is small for formats, whatever the string', () => {
    for (const format of ['email', 'url', 'uri', 'regex', 'byte', 'date-time', 'hostname']) {
      const schema = { properties: { a: { format } } }

      expect(() => check(schema, { a: `http://${'::'.repeat(500_000)}!` }), format).to.throw(
        `/a must match format "${format}"`,
      )
    }
  })
})

describe('a schema that no document could be checked against', () => {
  const where = 'schema.document_schemas["x"].schema'
  let deep: Schema = {}
  for (let depth = 0; depth < 5000; depth++) deep = { properties: { a: deep } }
  const chain = Object.fromEntries(
    Array.from({ length: 100 }, (_, index) => [`d${index}`, { $ref: `#/$defs/d${index + 1}` }]),
  )

  const refused: [string, Schema, string][] = [
    ['nested 5,000 deep', deep, 'schema: is nested deeper than 256 levels'],
    ['a reference to itself', { $ref: '#' }, `${where}: # refers to itself`],
    [
      'a circle of alternatives',
      { $defs: { a: { anyOf: [{ not: { $ref: '#/$defs/a' } }] } }, items: { $ref: '#/$defs/a' } },
      'refers to itself without going deeper into the document',
    ],
    [
      'a long chain of references',
      { $defs: { ...chain, d100: true }, $ref: '#/$defs/d0' },
      'applies more than 64 schemas to one value in a row',
    ],
    [
      'too many values',
      { enum: Array.from({ length: 20_000 }, (_, index) => index) },
      'schema.document_schemas: may hold at most 10000 values',
    ],
    [
      'a pattern that looks ahead',
      { properties: { 'a/b': { pattern: '^(?=a)' } } },
      `${where}: #/properties/a~1b/pattern: pattern uses look-around`,
    ],
    [
      'a pattern that refers back',
      { patternProperties: { '(a)\\1': true } },
      `${where}: #/patternProperties: pattern uses a back-reference`,
    ],
    [
      'a reference to nothing',
      { $ref: '#/$defs/a' },
      `${where}: can't resolve reference #/$defs/a`,
    ],
  ]
  for (const [name, schema, message] of refused) {
    it(`is refused: ${name}`, () => {
      expect(() => rulesOf(schema))
        .to.throw(message)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }

  it('refuses only the documents of its type if it was stored before', () => {
    const rules = new DocumentRules({
      version: 0,
      enforce_types: true,
      document_schemas: { old: { schema: { pattern: '(?=a)' } }, new: { schema: {} } },
    })

    expect(() => rules.check(KEY, Buffer.from('{"_type":"old"}')))
      .to.throw('document "k": schema.document_schemas["old"].schema: #/pattern: pattern uses')
      .with.property('code', 'INVALID_ARGUMENT')
    expect(String(rules.check(KEY, Buffer.from('{"_type":"new"}')).json)).to.equal(
      '{"_type":"new"}',
    )
  })
})

/** Whether `$defs/one` applies itself to its own value: refused here, endless for ajv. */
function hasEndlessReference(schema: Schema): boolean {
  try {
    runAtOnce(compileDocumentSchema(schema, 'schema'))
    return false
  } catch {
    return true
  }
}
