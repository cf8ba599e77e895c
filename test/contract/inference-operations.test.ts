// Every operation of the inference API done right: the answer fits the documented schema.

import path from 'node:path'
import Ajv2020 from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { loadContract } from '../../door/contract.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'
import {
  writeTinyEmbedder,
  writeTinyGenerator,
  writeTinyNer,
  writeTinyReranker,
  writeTinyRewriter,
} from '../support/inference/model-directories.ts'
import { until } from '../support/until.ts'

const MESSAGES = [{ role: 'user', content: 'hello' }]
const CHAT = { model: 'chat', messages: MESSAGES, max_tokens: 3, temperature: 0 }

/** By operationId: the body, or undefined for a GET. */
const REQUESTS: Readonly<Record<string, object | undefined>> = {
  getHealth: undefined,
  getReadiness: undefined,
  getContract: undefined,
  getDocs: undefined,
  getVersion: undefined,
  listModels: undefined,
  listOpenaiModels: undefined,
  getOpenaiModel: undefined,
  listTags: undefined,
  listLoadedModels: undefined,
  showModel: { model: 'tiny' },
  chat: { ...CHAT, stream: false, options: { num_predict: 3, temperature: 0 } },
  embedPrompt: { model: 'tiny', prompt: 'hello' },
  embed: { model: 'tiny', input: ['hello', 'world'] },
  createEmbeddings: { model: 'tiny', input: 'hello' },
  chunk: { text: 'one two three', config: { target_tokens: 2 } },
  rerank: { model: 'cross', query: 'hello', prompts: ['world'] },
  recognize: { model: 'ner', texts: ['Alice works.'] },
  rewrite: { model: 'sums', inputs: ['hello'] },
  generate: CHAT,
  createChatCompletion: CHAT,
}

/** By operationId, the answer of the contract that has a name. */
const SHARED_ANSWERS: Readonly<Record<string, string>> = {
  generate: 'Generated',
  createChatCompletion: 'Completion',
}

describe('the operations of the inference API', () => {
  const contract = loadContract('inference.v1')
  const ajv = new Ajv2020.default({ strict: false })
  ajv.addSchema(contract.document, 'contract')
  let server: InferenceServer

  before(async () => {
    server = await InferenceServer.start(async (root) => {
      await writeTinyEmbedder(path.join(root, 'embedders/tiny'))
      await writeTinyReranker(path.join(root, 'rerankers/cross'))
      await writeTinyNer(path.join(root, 'recognizers/ner'))
      await writeTinyRewriter(path.join(root, 'rewriters/sums'))
      await writeTinyGenerator(path.join(root, 'generators/chat'))
    })
    // The API opens before the workers are up.
    await until(async () => (await server.get('/readyz')).status === 200)
  })

  after(() => server[Symbol.asyncDispose]())

  it('all have a request in this test', () => {
    const ids = contract.operations.map(({ operationId }) => operationId)
    expect(Object.keys(REQUESTS)).to.have.members(ids)
  })

  for (const { operationId, method, template } of contract.operations) {
    it(`answer as the contract says: ${operationId}`, async () => {
      const accept = { accept: 'application/json' }
      const answer =
        method === 'GET'
          ? await server.get(template.replace('{model}', 'tiny'))
          : await server.post(template, REQUESTS[operationId], accept)

      expect(answer.status, answer.bytes.toString()).to.equal(200)
      if (operationId === 'getContract' || operationId === 'getDocs') return
      const shared = SHARED_ANSWERS[operationId]
      const place = `paths/${template.replaceAll('/', '~1')}/${method.toLowerCase()}/responses/200`
      const response = shared === undefined ? place : `components/responses/${shared}`
      const schema = encodeURI(`${response}/content/application~1json/schema`)
      const validate = ajv.compile({ $ref: `contract#/${schema}` })
      expect(validate(answer.json), JSON.stringify(validate.errors)).to.equal(true)
    })
  }

  it('answer a prompt as the contract says', async () => {
    const prompted = { model: 'chat', prompt: 'hello', stream: false, options: { num_predict: 3 } }
    const answer = await server.post('/api/generate', prompted)
    const validate = ajv.compile({ $ref: 'contract#/components/schemas/PromptedAnswer' })

    expect(answer.status).to.equal(200)
    expect(validate(answer.json), JSON.stringify(validate.errors)).to.equal(true)
  })

  it('publish a page that loads nothing from other servers', async () => {
    const page = await server.get('/api/docs')
    const text = page.bytes.toString()
    const assets = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, asset]) => asset)

    expect(page.headers.get('content-security-policy')).to.include("script-src 'self'")
    expect(text).to.not.match(/https?:|style=|<script>/)
    expect(assets).to.have.length(5)
    for (const asset of assets) {
      expect((await server.get(`/api/${asset}`)).status, asset).to.equal(200)
    }
    expect((await server.get('/')).bytes.toString()).to.equal(text) // by a redirect
    expect((await server.get('/api/docs/package.json')).status).to.equal(404)
  })
})
