// One habit of answers: what a status of success means is the same for all operations of both contracts, and said
// once, at the head of the store's.

import { expect } from 'chai'
import { loadContract } from '../../door/contract.ts'
import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import { brokenHabits } from './answer-habits.ts'
import { parseYaml } from '../support/yaml.ts'

describe('the answers of operations that succeed', () => {
  for (const contract of ['store.v1', 'inference.v1'] as const) {
    it(`keep one habit in ${contract}`, () => {
      expect(brokenHabits({ ...loadContract(contract).document })).to.deep.equal([])
    })
  }

  it('are explained where the contract begins', () => {
    const { info }: JsonRecord = { ...loadContract('store.v1').document }
    const description = isJsonRecord(info) ? info['description'] : ''
    for (const status of ['201', '202', '204', '200']) expect(description).to.include(` ${status}`)
  })

  const json = 'content: { application/json: { schema: { type: object, required: [a] } } }'
  const get = `get: { operationId: getThing, responses: { '200': { ${json} } } }`
  const thing = (method: string, responses: string): JsonRecord =>
    parseYaml(
      `{ paths: { '/things/{name}': { ${get}, ${method}: { operationId: changeThing, responses: { ${responses} } } } } }`,
    )
  const BROKEN: Readonly<Record<string, { document: JsonRecord; broken: RegExp }>> = {
    'a creation with 200': { document: thing('post', `'200': { ${json} }`), broken: /adds.*201/ },
    'a creation without a body': { document: thing('post', `'201': {}`), broken: /has a body/ },
    'a creation that answers something else': {
      document: thing(
        'post',
        `'201': { content: { application/json: { schema: { type: object, required: [z] } } } }`,
      ),
      broken: /"z"/,
    },
    'a removal with a body': { document: thing('delete', `'204': { ${json} }`), broken: /no body/ },
    'a removal with 200': {
      document: thing('delete', `'200': { ${json} }`),
      broken: /removes.*204/,
    },
    'two statuses of success': {
      document: thing('post', `'200': { ${json} }, '201': { ${json} }`),
      broken: /one status/,
    },
    'a question with 201': {
      document: parseYaml(
        `{ paths: { /q: { post: { operationId: ask, responses: { '201': { ${json} } } } } } }`,
      ),
      broken: /200/,
    },
  }
  for (const [name, { document, broken }] of Object.entries(BROKEN)) {
    it(`are found with ${name}`, () => {
      expect(brokenHabits(document).join('\n')).to.match(broken)
    })
  }
})
