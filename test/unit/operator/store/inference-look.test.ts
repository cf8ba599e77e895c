import { createServer } from 'node:http'
import { once } from 'node:events'
import { expect } from 'chai'
import { lookAtInference } from '../../../../operator/store/inference-look.ts'
import { portOf } from '../../../support/servers/local-server.ts'

interface Answer {
  readonly status: number
  readonly body: string
}

const LOADING = { model: 'acme/one', state: 'loading' }
const FAILED = { model: 'acme/two', state: 'failed', reason: 'there is no such model' }

const CASES: Readonly<Record<string, { readonly answer: Answer; readonly is: object }>> = {
  'a server that is ready': { answer: { status: 200, body: '{}' }, is: { state: 'Ready' } },
  'one that loads models': {
    answer: { status: 503, body: JSON.stringify({ preload: [LOADING] }) },
    is: { state: 'Loading' },
  },
  'one with a model that cannot be loaded': {
    answer: { status: 503, body: JSON.stringify({ preload: [LOADING, FAILED] }) },
    is: { state: 'Loading', message: 'acme/two: there is no such model' },
  },
  'one whose answer nobody can read': {
    answer: { status: 503, body: 'busy' },
    is: { state: 'Loading' },
  },
  'one whose answer is longer than any list of models': {
    answer: { status: 503, body: JSON.stringify({ preload: [FAILED], more: ' '.repeat(2 ** 20) }) },
    is: { state: 'Loading' },
  },
  'one whose answer has other types': {
    answer: { status: 503, body: '{"preload":[{"state":"failed","model":1,"reason":[]}]}' },
    is: { state: 'Loading', message: 'a model: not loaded' },
  },
}

describe('lookAtInference', () => {
  let answer: Answer = { status: 200, body: '' }
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/readyz' ? answer.status : 404
    response.end(answer.body)
  })
  let url = ''

  before(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${portOf(server)}`
  })
  after(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })

  for (const [title, given] of Object.entries(CASES)) {
    it(`tells ${title}`, async () => {
      answer = given.answer

      expect(await lookAtInference(new Map([['pod', url]]))).to.deep.equal(
        new Map([['pod', given.is]]),
      )
    })
  }

  it('shortens a reason that is longer than people read', async () => {
    const preload = [{ ...FAILED, reason: 'x'.repeat(10_000) }]
    answer = { status: 503, body: JSON.stringify({ preload }) }

    const told = (await lookAtInference(new Map([['pod', url]]))).get('pod')

    expect(told?.message).to.have.length(500)
  })

  it('tells of each server apart, also where nobody listens', async () => {
    answer = { status: 200, body: '{}' }
    const urls = new Map([
      ['here', url],
      ['nowhere', 'http://127.0.0.1:9'],
    ])

    expect([...(await lookAtInference(urls))]).to.deep.equal([
      ['here', { state: 'Ready' }],
      ['nowhere', { state: 'Silent' }],
    ])
  })
})
