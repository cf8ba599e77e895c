// Whatever status a hostile client provokes, the contract names it for that operation, of either server.

import { expect } from 'chai'
import { isJsonRecord } from '../../lib/json-record.ts'
import { loadContract, type Operation } from '../../door/contract.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'
import { startApi, send, type Sent } from './api-harness.ts'

type Attack = (operation: Operation, path: string) => Partial<Sent>

const BODY_BYTES_MAX = 65_536
/** More members than one object may have, and more bytes than one body. */
const WIDE = JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [n, 0])))

/** More values than one body may have. */
const LONG_LIST = `{"input":[${'0,'.repeat(300_000)}0]}`

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
  'an object of too many members': ({ body }) => (body === 'none' ? {} : { body: WIDE }),
  'a body of too many values': ({ body }) => (body === 'none' ? {} : { body: LONG_LIST }),
}

const TABLE_ATTACKS: Readonly<Record<string, Attack>> = {
  'a table that is not there': (_, path) => ({ path: path.replace('books', 'nothing') }),
  'a table whose name is none': (_, path) => ({ path: path.replace('books', '%00') }),
}
const MODEL_ATTACKS: Readonly<Record<string, Attack>> = {
  'a model that is not there': () => ({
    body: '{"model":"absent","input":"a","prompt":"a","query":"a","prompts":["a"],"inputs":["a"],"texts":["a"]}',
  }),
  'a model in the path that is not there': (_, path) => ({ path: path.replace('tiny', 'absent') }),
}

const PARAMETERS: Readonly<Record<string, string>> = {
  tableName: 'books',
  indexName: 'notes',
  nodeId: 'node',
  shardId: '9f3c2a1700000001',
  key: 'k',
  model: 'tiny',
}

/** A server with small limits, and how to end it. */
interface Attacked extends AsyncDisposable {
  readonly url: string
}

interface Server {
  readonly contract: 'store.v1' | 'inference.v1'
  readonly attacks: Readonly<Record<string, Attack>>
  readonly start: (bodyBytesMax: number) => Promise<Attacked>
}

const SERVERS: Readonly<Record<string, Server>> = {
  'the store': {
    contract: 'store.v1',
    attacks: { ...ATTACKS, ...TABLE_ATTACKS },
    start: (bodyBytesMax) => startApi({ bodyBytesMax }),
  },
  'the inference server': {
    contract: 'inference.v1',
    attacks: { ...ATTACKS, ...MODEL_ATTACKS },
    start: (bodyBytesMax) => InferenceServer.start(undefined, { bodyBytesMax, workers: 1 }),
  },
}

for (const [name, { contract, attacks, start }] of Object.entries(SERVERS)) {
  describe(`what a hostile client provokes at ${name}`, () => {
    const { document, operations } = loadContract(contract)
    let server: Attacked
    let roomy: Attacked

    before(async () => {
      server = await start(BODY_BYTES_MAX)
      roomy = await start(64 * BODY_BYTES_MAX)
    })

    after(async () => {
      await server[Symbol.asyncDispose]()
      await roomy[Symbol.asyncDispose]()
    })

    for (const operation of operations) {
      const { operationId, method, template } = operation
      const member = document.paths[template]?.[method.toLowerCase()]
      const responses = isJsonRecord(member) ? Object.keys(Object(member['responses'])) : []
      const path = template.replaceAll(/\{(\w+)\}/g, (_, each: string) => PARAMETERS[each] ?? 'x')
      it(`is documented for ${operationId}`, async () => {
        for (const [attack, sentBy] of Object.entries(attacks)) {
          const sent = { method, path, ...sentBy(operation, path) }
          // Another path may be another operation's, or none's.
          const known = sent.path === path ? responses : [...responses, '404', '405']
          for (const { url } of [server, roomy]) {
            const { status, headers } = await send(url, sent)

            expect(known, `${attack}: ${status}`).to.include(String(status))
            expect(headers['x-request-id'], attack).to.match(/^\w{6}-\w+$/)
          }
        }
      })
    }
  })
}
