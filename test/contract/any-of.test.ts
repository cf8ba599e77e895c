// Where a value may have one of several forms, the sentence about one that is beyond the limit of its form names that limit.

import Ajv2020 from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { loadContract, type ContractName } from '../../door/contract.ts'
import { sentenceOf } from '../../door/problems.ts'
import { isJsonRecord, type JsonRecord } from '../../lib/json-record.ts'

const CONTRACTS: readonly ContractName[] = ['store.v1', 'inference.v1']

/** A form of a choice, and a value that is beyond one of its limits. */
interface Beyond {
  readonly choice: JsonRecord
  readonly value: unknown
  readonly limit: number
}

describe('a value that may have several forms', () => {
  for (const name of CONTRACTS) {
    it(`is refused with the limit of the form that was meant, wherever ${name} has a choice`, () => {
      const document: unknown = loadContract(name).document
      const cases = [...choicesIn(document)].flatMap((choice) => beyondOf(document, choice))
      const wrong = cases.filter(({ choice, value, limit }) => {
        return !(sentenceFor(document, choice, value) ?? '').includes(String(limit))
      })

      expect(cases.length).to.be.above(1)
      expect(
        wrong.map(({ choice, value, limit }) => {
          return `${limit}: ${sentenceFor(document, choice, value) ?? 'accepted'}`
        }),
      ).to.deep.equal([])
    })
  }
})

function* choicesIn(value: unknown): Generator<JsonRecord> {
  if (Array.isArray(value)) for (const each of value) yield* choicesIn(each)
  if (!isJsonRecord(value)) return
  if (Array.isArray(value['anyOf'])) yield value
  for (const member of Object.values(value)) yield* choicesIn(member)
}

function beyondOf(document: unknown, choice: JsonRecord): readonly Beyond[] {
  const forms = choice['anyOf']
  if (!Array.isArray(forms)) return []
  const all = forms.map((form) => resolved(document, form))
  const lists = all.filter((form) => 'maxItems' in form)
  const texts = all.filter(({ type }) => type === 'string')
  const [text] = texts
  const limit = Number(text?.['maxLength'])
  const long =
    texts.length === 1 && limit > 0 ? [{ choice, value: 'a'.repeat(limit + 1), limit }] : []
  return [...long, ...tooMany(document, choice, lists)]
}

function tooMany(
  document: unknown,
  choice: JsonRecord,
  lists: readonly JsonRecord[],
): readonly Beyond[] {
  return lists.flatMap((form) => {
    const limit = Number(form['maxItems'])
    const item = exampleOf(document, form['items'])
    if (item === undefined || fitsAnother(lists, form, document)) return []
    return [{ choice, value: Array.from({ length: limit + 1 }, () => item), limit }]
  })
}

/** Two lists of the same items: the longer one is meant. */
function fitsAnother(lists: readonly JsonRecord[], form: JsonRecord, document: unknown): boolean {
  const typeOf = (one: JsonRecord): unknown => resolved(document, one['items'])['type']
  return lists.some((one) => {
    return (
      one !== form &&
      typeOf(one) === typeOf(form) &&
      Number(one['maxItems']) > Number(form['maxItems'])
    )
  })
}

/** The least value of a simple schema. */
function exampleOf(document: unknown, schema: unknown): unknown {
  const { type, enum: values } = resolved(document, schema)
  if (Array.isArray(values)) return values[0]
  if (type === 'string') return 'a'
  if (type === 'integer' || type === 'number') return 1
  return type === 'array' ? [1] : undefined
}

function resolved(document: unknown, schema: unknown): JsonRecord {
  if (!isJsonRecord(schema)) return {}
  const reference = schema['$ref']
  if (typeof reference !== 'string') return schema
  const found = reference
    .slice(2)
    .split('/')
    .reduce<unknown>((at, step) => (isJsonRecord(at) ? at[step] : undefined), document)
  return resolved(document, found)
}

function sentenceFor(document: unknown, choice: JsonRecord, value: unknown): string | undefined {
  const ajv = new Ajv2020.default({ strict: false, validateFormats: false })
  const components = isJsonRecord(document) ? document['components'] : {}
  const validate = ajv.compile({ type: 'object', properties: { it: choice }, components })
  if (validate({ it: value })) return undefined
  const errors = (validate.errors ?? []).map(({ instancePath, keyword, message }) => {
    return { path: `/body${instancePath}`, message, errorCode: `${keyword}.openapi.validation` }
  })
  return sentenceOf(errors, { explain: undefined, docs: '/docs', query: {} })
}
