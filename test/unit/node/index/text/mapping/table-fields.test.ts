import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { parseExact } from '../../../../../../node/document/exact-json.ts'
import { isJsonObject } from '../../../../../../node/document/json-object.ts'
import { FieldMapping } from '../../../../../../node/index/text/mapping/field-mapping.ts'
import { nameOf } from '../../../../../../node/schema/table-field.ts'
import { parseTableSchema } from '../../../../../../node/schema/table-schema.ts'
import { tokensOf } from '../../../../../support/worlds/field-tokens.ts'

const KEY = Buffer.from('k')

const types = (...names: string[]) => ({ 'x-service-types': names })

function indexed(mapping: FieldMapping, document: unknown): Record<string, unknown> {
  const json = parseExact(JSON.stringify(document))
  if (!isJsonObject(json)) throw new TypeError('a document is an object')
  const { fields } = mapping.mapDocument(KEY, json, 0)
  const shown = fields.map((field) =>
    field.kind === 'text' ? [field.name, tokensOf(field)] : [field.name, field.values],
  )
  return Object.fromEntries(shown)
}

describe('fields of a table', () => {
  const described = {
    document_schemas: {
      a: {
        schema: {
          patternProperties: { '^x': types('text') },
          additionalProperties: true,
          'x-service-analyzer': 'english',
        },
      },
      b: { schema: { patternProperties: { '^x': types('text', 'keyword') } } },
      c: { schema: { properties: { x1: types('numeric') }, additionalProperties: true } },
    },
    dynamic_templates: [{ match: '*d', mapping: { type: 'keyword' } }],
  }
  const schema = parseTableSchema(described, undefined)
  const value = fc.constantFrom<unknown>('w', 1, true, '2024-01-02T03:04:05Z', { x: 1 }, [['v'], 2])
  const name = fc.constantFrom('x1', 'x2', 'x2__keyword', 'y', 'z', 'd', 'y.x')
  const anyDocument = fc
    .tuple(fc.constantFrom('a', 'b', 'c', 'none'), fc.dictionary(name, value))
    .map(([type, members]) => ({ _type: type, ...members }))
  const documents = fc.array(anyDocument, { maxLength: 6 })
  const spellings = ['x1', 'x2', 'x2.keyword', 'y', 'y.x', 'y__keyword', 'z', 'd', undefined]

  it('make every index decide alike, whatever documents it met and in any order', () => {
    fc.assert(
      fc.property(documents, documents, (ours, theirs) => {
        const first = new FieldMapping(schema)
        for (const document of ours) indexed(first, document)
        const later = new FieldMapping(schema, first.fields)
        for (const document of ours.toReversed()) {
          expect(indexed(later, document)).to.deep.equal(indexed(first, document))
        }
        for (const document of theirs) {
          expect(indexed(later, document)).to.deep.equal(indexed(first, document))
        }

        for (const spelling of spellings) {
          const asked = spelling ?? 'any field'
          expect(later.resolveField(spelling), asked).to.deep.equal(first.resolveField(spelling))
          expect(later.isInAll(asked)).to.equal(first.isInAll(asked))
        }
        expect(later.fields).to.deep.equal(first.fields)
      }),
      { numRuns: 200 },
    )
  })

  it('are reported before a document with them is mapped', () => {
    const mapping = new FieldMapping(undefined)
    const document = { n: 1, o: { s: 'text', none: null, deep: [{ b: true }] }, e: [] }

    const mapped = runAtOnce(mapping.mapDocumentInSteps(KEY, document, 0))
    const undecided = mapping.takeUndecided()
    runAtOnce(mapping.surveyInSteps(document))

    expect(mapped).to.equal(undefined)
    expect(undecided.map((field) => [nameOf(field), field.kind])).to.deep.equal([
      ['n', 'number'],
      ['o.s', 'string'],
      ['o.deep.b', 'boolean'],
    ])
    expect(mapping.takeUndecided()).to.deep.equal(undecided)
    expect(mapping.resolveField('n')).to.equal(undefined)
  })

  it('do not include the members of a point', () => {
    const templates = [{ match: 'loc', mapping: { type: 'geopoint' } }]
    const mapping = new FieldMapping(parseTableSchema({ dynamic_templates: templates }, undefined))

    const fields = indexed(mapping, { loc: [{ lat: 1, lon: 2 }, null, [3, 4]], at: { loc: '5,6' } })

    expect(fields).to.deep.equal({
      loc: [
        { lon: 2, lat: 1 },
        { lon: 3, lat: 4 },
      ],
      'at.loc': [{ lon: 6, lat: 5 }],
    })
    expect(mapping.fields.map(nameOf)).to.deep.equal(['loc', 'at.loc'])
  })

  it('do not include names that are too long', () => {
    const mapping = new FieldMapping(undefined)

    expect(indexed(mapping, { ['n'.repeat(513)]: 1, ['n'.repeat(512)]: 1 })).to.have.keys(
      'n'.repeat(512),
    )
    expect(mapping.dropped.counts).to.deep.equal({ badValues: 0, overLimit: 1 })
  })

  it('count the values that do not fit, by field', () => {
    const mapping = new FieldMapping(undefined)
    indexed(mapping, { n: 1, d: true })
    indexed(mapping, { n: ['x', 'y', 2], d: 'maybe' })

    expect(mapping.dropped.report()).to.deep.equal({
      badValues: 3,
      overLimit: 0,
      fields: { n: { badValues: 2, overLimit: 0 }, d: { badValues: 1, overLimit: 0 } },
    })
  })
})
