import { expect } from 'chai'
import { sentenceOf } from '../../../door/problems.ts'

const CONTEXT = { explain: undefined, docs: '/api/v1/docs', query: { empty: '', limt: '1' } }

/** As express-openapi-validator tells them: path, message, and the keyword in the code. */
function error(path: string, keyword: string, message: string) {
  return { path, message, ...(keyword !== '' && { errorCode: `${keyword}.openapi.validation` }) }
}

const CASES: Readonly<Record<string, { errors: readonly object[]; sentence: string }>> = {
  'a wrong type': {
    errors: [error('/body/num_shards', 'type', 'must be integer')],
    sentence: 'num_shards must be integer',
  },
  'a whole body of a wrong type': {
    errors: [error('/body', 'type', 'must be object')],
    sentence: 'the body must be object',
  },
  'a member of a list': {
    errors: [error('/body/indexes/0/name', 'type', 'must be string')],
    sentence: 'indexes[0].name must be string',
  },
  'an unknown member': {
    errors: [error('/body/shards', 'additionalProperties', 'must NOT have additional properties')],
    sentence: 'unknown field "shards"; the contract at /api/v1/docs lists the known ones',
  },
  'a missing member': {
    errors: [error('/body/model', 'required', "must have required property 'model'")],
    sentence: 'model is required',
  },
  'an unknown query parameter': {
    errors: [error('/query/limt', '', "Unknown query parameter 'limt'")],
    sentence: 'unknown query parameter "limt"; the contract at /api/v1/docs lists the known ones',
  },
  'a query parameter without a value': {
    errors: [error('/query/empty', '', "Empty value found for query parameter 'empty'")],
    sentence: 'empty is empty; give it a value or leave it out',
  },
  'a text that is too long': {
    errors: [error('/body/text', 'pattern', String.raw`must match pattern "^[\s\S]{0,500}$"`)],
    sentence: 'text must NOT have more than 500 characters',
  },
  'a text that is too short': {
    errors: [error('/body/text', 'pattern', String.raw`must match pattern "^[\s\S]{1}"`)],
    sentence: 'text must NOT have fewer than 1 characters',
  },
  'another pattern': {
    errors: [error('/headers/idempotency-key', 'pattern', 'must match pattern "^[!-~]+$"')],
    sentence: 'idempotency-key must match pattern "^[!-~]+$"',
  },
  'a value of none of a list': {
    errors: [error('/body/kind', 'enum', 'must be equal to one of the allowed values: a, b,c')],
    sentence: 'kind must be equal to one of the allowed values: a, b or c',
  },
  'a number out of range': {
    errors: [error('/body/limit', 'maximum', 'must be <= 10')],
    sentence: 'limit must be <= 10',
  },
  'a list that is too long': {
    errors: [error('/body/fields', 'maxItems', 'must NOT have more than 3 items')],
    sentence: 'fields must NOT have more than 3 items',
  },
  'a choice of which no type is right': {
    errors: [
      error('/body/input', 'type', 'must be string'),
      error('/body/input', 'type', 'must be array'),
      error('/body/input', 'anyOf', 'must match a schema in anyOf'),
    ],
    sentence: 'input must be string or array',
  },
  'a choice of which one form has the right type': {
    errors: [
      error('/body/input', 'type', 'must be string'),
      error('/body/input', 'minItems', 'must NOT have fewer than 1 items'),
      error('/body/input', 'anyOf', 'must match a schema in anyOf'),
    ],
    sentence: 'input must NOT have fewer than 1 items',
  },
  'a choice that is wrong inside': {
    errors: [
      error('/body/input', 'type', 'must be string'),
      error('/body/input/1', 'type', 'must be string'),
      error('/body/input', 'anyOf', 'must match a schema in anyOf'),
    ],
    sentence: 'input[1] must be string',
  },
}

function explain({ field }: { readonly field: string }): string {
  return `${field}: ask us`
}

describe('the sentence for a finding of the validator', () => {
  for (const [name, { errors, sentence }] of Object.entries(CASES)) {
    it(`names ${name}`, () => {
      expect(sentenceOf(errors, CONTEXT)).to.equal(sentence)
    })
  }

  it('is that of the API where it has one', () => {
    const errors = [error('/body/input', 'type', 'must be string')]

    expect(sentenceOf(errors, { ...CONTEXT, explain })).to.equal('input: ask us')
  })

  it('shows no more than the beginning of a long name', () => {
    const errors = [error(`/body/${'x'.repeat(100_000)}`, 'type', 'must be string')]

    expect(sentenceOf(errors, CONTEXT)).to.have.length.below(300)
  })
})
