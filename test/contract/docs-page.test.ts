// Swagger UI fills its fields with the examples of the contract, and "Try it out" sends them.

import { expect } from 'chai'
import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import { loadContract } from '../../door/contract.ts'

function* parametersIn(value: unknown): Generator<JsonRecord> {
  if (Array.isArray(value)) for (const item of value) yield* parametersIn(item)
  if (!isJsonRecord(value)) return
  if (typeof value['in'] === 'string' && typeof value['name'] === 'string') yield value
  for (const member of Object.values(value)) yield* parametersIn(member)
}

/** Undefined if the page leaves the field empty. */
function prefilled(parameter: JsonRecord): unknown {
  const schema = isJsonRecord(parameter['schema']) ? parameter['schema'] : {}
  const { example, examples } = parameter
  return example ?? examples ?? schema['example'] ?? schema['examples'] ?? schema['default']
}

describe('the page of the contract', () => {
  const parameters = [...parametersIn(loadContract('store.v1').document)]
  const named = (name: string) => parameters.filter((parameter) => parameter['name'] === name)

  it('leaves the Idempotency-Key empty, because all requests would share it', () => {
    const keys = named('Idempotency-Key')

    expect(keys).to.not.deep.equal([])
    expect(keys.map(prefilled)).to.deep.equal(keys.map(() => undefined))
  })

  it('fills in the parameters of a path', () => {
    const names = named('tableName')

    expect(names).to.not.deep.equal([])
    expect(names.map(prefilled)).to.not.include(undefined)
  })
})
