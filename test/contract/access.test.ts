// Every operation of both contracts asks the access policy, before it looks at a body.

import { request as httpRequest } from 'node:http'
import { expect } from 'chai'
import { loadContract, type ContractName, type Operation } from '../../door/contract.ts'
import { ANONYMOUS, type AccessPolicy } from '../../door/principal.ts'
import type { DoorChoices } from '../../inference/api/server/api-server.ts'
import { ServiceError } from '../../lib/errors.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'
import { startApi } from './api-harness.ts'

const PARAMETERS: Readonly<Record<string, string>> = {
  tableName: 'books',
  indexName: 'notes',
  nodeId: 'node',
  shardId: '9f3c2a1700000001',
  key: 'book%2F1',
  model: 'tiny',
}

const SERVERS: Readonly<
  Record<ContractName, (door: DoorChoices) => Promise<AsyncDisposable & { readonly url: string }>>
> = {
  'store.v1': startApi,
  'inference.v1': (door: DoorChoices) => InferenceServer.start(undefined, {}, { door }),
}

for (const name of ['store.v1', 'inference.v1'] as const) {
  describe(`the access policy of ${name}`, () => {
    const contract = loadContract(name)
    const start = SERVERS[name]
    for (const hotDoor of [true, false]) {
      describe(hotDoor ? 'ahead of express' : 'in express', () => {
        const asked: { readonly operationId: string; readonly params: object }[] = []
        const policy: AccessPolicy = {
          identify: () => ANONYMOUS,
          authorize: (principal, { operationId }, params) => {
            expect(principal).to.equal(ANONYMOUS)
            asked.push({ operationId, params })
            return new ServiceError('FORBIDDEN', 'this principal may do nothing')
          },
        }
        let server: Awaited<ReturnType<typeof start>>
        before(async () => {
          server = await start({ policy, hotDoor })
        })
        after(() => server[Symbol.asyncDispose]())

        for (const operation of contract.operations) {
          it(`refuses ${operation.operationId} before the body arrives`, async () => {
            asked.length = 0

            const { status, body } = await begin(server.url, operation)

            expect([status, asked.length]).to.deep.equal([403, 1])
            expect(body).to.include('this principal may do nothing')
            expect(asked[0]?.operationId).to.equal(operation.operationId)
            const names = operation.parameters.filter((each) => each.in === 'path')
            expect(Object.keys(asked[0]?.params ?? {})).to.have.members(
              names.map((each) => each.name),
            )
          })
        }
      })
    }
  })
}

/** Sends the head of a request that promises a body, and no byte of the body. */
function begin(
  url: string,
  { method, template, body }: Operation,
): Promise<{ readonly status: number; readonly body: string }> {
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => PARAMETERS[name] ?? '')
  const { hostname, port } = new URL(url)
  const headers = body === 'none' ? {} : { 'content-length': 1000 }
  return new Promise((resolve, reject) => {
    const request = httpRequest({ hostname, port, path, method, headers, agent: false })
    request.once('error', reject)
    request.once('response', (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.once('end', () => {
        request.destroy()
        resolve({ status: response.statusCode ?? 0, body: text })
      })
    })
    request.flushHeaders()
  })
}
