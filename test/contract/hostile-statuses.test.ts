// Whatever status a hostile client provokes, the contract names it for that operation.

import { expect } from 'chai'
import { isJsonRecord } from '../../lib/json-record.ts'
import { loadContract, type Operation } from '../../door/contract.ts'
import { startApi, send } from './api-harness.ts'
import type { Api, Sent } from './api-harness.ts'

type Attack = (operation: Operation, path: string) => Partial<Sent>

const ATTACKS: Readonly<Record<string, Attack>> = {
  'an unknown query parameter': (_, path) => ({ path: `${path}?surely_unknown=1` }),
  'a repeated query parameter': (_, path) => ({ path: `${path}?q=1&q=2` }),
  'a malformed escape': (_, path) => ({ path: path.replace(/[^/]+$/, '%zz') }),
  'a foreign page': () => ({ headers: { origin: 'https://example.com' } }),
  'a foreign host': () => ({ headers: { host: 'rebound.example' } }),
  'an expectation': () => ({ headers: { expect: 'miracles' } }),
  'headers without end': () => ({ headers: { 'x-long': 'x'.repeat(20_000) } }),
  'a body of another type': () => ({ body: 'a=1', headers: { 'content-type': 'text/plain' } }),
  'a compression nobody knows': () => ({ body: '{}', headers: { 'content-encoding': 'br' } }),
  'a body that is no JSON': () => ({ body: '{"' }),
  'a body of another shape': () => ({ body: '[[]]' }),
  'a body that is too long': () => ({ body: `{"a":"${'x'.repeat(100_000)}"}` }),
  'a body in chunks that is too long': () => ({
    body: ' '.repeat(100_000),
    headers: { 'transfer-encoding': 'chunked' },
  }),
  'a table that is not there': (_, path) => ({ path: path.replace('books', 'nothing') }),
  'a table whose name is none': (_, path) => ({ path: path.replace('books', '%00') }),
}

const PARAMETERS: Readonly<Record<string, string>> = {
  tableName: 'books',
  indexName: 'notes',
  key: 'k',
}

describe('each status that a hostile client provokes', () => {
  const { document, operations } = loadContract('store.v1')
  let api: Api

  before(async () => {
    api = await startApi({ bodyBytesMax: 65_536 })
  })

  after(() => api[Symbol.asyncDispose]())

  for (const operation of operations) {
    const { operationId, method, template } = operation
    const member = document.paths[template]?.[method.toLowerCase()]
    const responses = isJsonRecord(member) ? Object.keys(Object(member['responses'])) : []
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => PARAMETERS[name] ?? '')
    it(`is documented for ${operationId}`, async () => {
      for (const [name, attack] of Object.entries(ATTACKS)) {
        const sent = { method, path, ...attack(operation, path) }
        const { status, headers } = await send(api.url, sent)

        // Another path may be another operation's, or none's.
        const known = sent.path === path ? responses : [...responses, '404', '405']
        expect(known, `${name}: ${status}`).to.include(String(status))
        expect(headers['x-request-id'], name).to.match(/^\w{6}-\w+$/)
      }
    })
  }
})
