// A query whose hits a model elsewhere scores anew, from HTTP to HTTP.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { parseNodeConfig } from '../../node/config.ts'
import { startNode, type RunningNode } from '../../node/main.ts'
import { send } from '../contract/api-harness.ts'
import { answering, ScriptedServer } from '../support/servers/scripted-server.ts'

const TABLE = '/api/v1/tables/tides'
const DOCUMENTS = {
  a: { title: 'tide', text: 'the tide tide tide' },
  b: { title: 'tide and ebb', text: 'the tide tide' },
  c: { title: 'the ebb', text: 'the tide' },
}

describe('a reranked query', () => {
  let dataDir: string
  let node: RunningNode

  before(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'quarry-reranked-'))
    const hosts = { providerHosts: '127.0.0.1' }
    const flags = { ...hosts, dataDir, apiPort: '0', healthPort: '0', logLevel: 'error' }
    node = await startNode(parseNodeConfig({}, flags))
    await post(TABLE, {})
    await post(`${TABLE}/batch`, { inserts: DOCUMENTS, sync_level: 'full_text' })
  })

  after(async () => {
    await node.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  async function post(at: string, body: unknown) {
    const { body: text } = await send(node.apiUrl, {
      method: 'POST',
      path: at,
      body: JSON.stringify(body),
    })
    return JSON.parse(text)
  }

  async function ask(reranker: object) {
    const full_text_search = { query: 'text:tide' }
    const answer = await post(`${TABLE}/query`, { full_text_search, reranker })
    return answer.responses?.[0] ?? answer
  }

  it('has the order of the model, which read the field that was named', async () => {
    await using model = await ScriptedServer.start([answering(200, { scores: [0.1, 0.9, 0.4] })])
    const reranker = { provider: 'quarry', model: 'acme/cross', url: model.url, field: 'title' }

    const { hits } = await ask(reranker)

    const [request] = model.received
    const asked = JSON.parse(request?.body ?? '')
    expect(asked.model).to.equal('acme/cross')
    expect(asked.prompts.toSorted()).to.deep.equal(['the ebb', 'tide', 'tide and ebb'])
    const titles = hits.hits.map(({ _id: id }: { _id: keyof typeof DOCUMENTS }) => {
      return DOCUMENTS[id].title
    })
    expect(titles).to.deep.equal([asked.prompts[1], asked.prompts[2], asked.prompts[0]])
    expect(hits.hits.map(({ _score: score }: { _score: number }) => score)).to.deep.equal([
      0.9, 0.4, 0.1,
    ])
  })

  it('says of how many documents the model has not read the end', async () => {
    await using model = await ScriptedServer.start([
      answering(200, { scores: [0.1, 0.9, 0.4], truncated: 2 }),
    ])
    const reranker = { provider: 'quarry', model: 'acme/cross', url: model.url, field: 'title' }

    const { warnings } = await ask(reranker)

    expect(warnings).to.deep.equal([
      'reranker: 2 of 3 texts were too long for the model beside the query, and cut',
    ])
  })

  it('keeps its order and says so when the model does not answer', async () => {
    await using model = await ScriptedServer.start([answering(500, {})])
    const reranker = { provider: 'quarry', model: 'acme/cross', url: model.url, field: 'title' }

    const answer = await ask(reranker)

    expect(answer.hits.total).to.equal(3)
    expect(answer.hits.hits[0]).to.include({ _id: 'a' })
    expect(answer.warnings.join()).to.match(/^reranker: .*status 500/)
  })

  it('refuses a provider that nobody knows', async () => {
    const unknown = await ask({ provider: 'acme', model: 'x', field: 'title' })

    expect(unknown).to.include({ code: 'INVALID_ARGUMENT' })
    expect(unknown.error).to.match(/^reranker.*acme/)
  })

  it('refuses, and asks nothing of, every host that the operator did not name', async () => {
    await using server = await ScriptedServer.start([answering(400, { error: 'told' })])
    const { port } = new URL(server.url)
    const hosts = ['localhost', '[::1]', '10.0.0.1', '169.254.169.254', 'example.com', '127.0.0.2']
    const urls = hosts.flatMap((host) => [`http://${host}:${port}`, `https://${host}:${port}/x`])
    const forms = ['#', '?', '/v3/x#', '/v3/x?', '/x?a=b', '/\\t'].map(
      (end) => `${server.url}${end}`,
    )
    const users = [`http://@127.0.0.1:${port}`, `http://u:p@127.0.0.1:${port}`]

    for (const url of [...urls, ...forms, ...users]) {
      for (const provider of ['quarry', 'cohere', 'vertex']) {
        const answer = await ask({ provider, model: 'm', url, field: 'title' })
        expect(answer, `${provider} ${url}`).to.include({ code: 'INVALID_ARGUMENT' })
        expect(answer.error).to.not.include('told')
      }
    }
    expect(server.received).to.deep.equal([])
  })
})
