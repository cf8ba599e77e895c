import { expect } from 'chai'
import { systemClock } from '../../../../../lib/clock.ts'
import { parseRerankerConfig } from '../../../../../node/providers/config/parse-task-configs.ts'
import type { Reranker } from '../../../../../node/providers/contract/provider.ts'
import { isProviderError } from '../../../../../node/providers/contract/provider-error.ts'
import type { Providers } from '../../../../../node/providers/providers.ts'
import { openReranker } from '../../../../../node/providers/wire/rerankers.ts'
import { failureOf } from '../../../../support/failure-of.ts'
import { TOKEN, openProviders } from '../../../../support/servers/providers/opened-providers.ts'
import { ScriptedServer, answering } from '../../../../support/servers/scripted-server.ts'

const KEY = 'sk-very-secret-key'
const never = new AbortController().signal
const documents = ['lamps', 'tides', 'charts']

type Json = Readonly<Record<string, unknown>>

interface Dialogue {
  readonly config: Json
  readonly path: string
  readonly authorization: string | undefined
  readonly body: Json
  readonly answer: Json
  /** The answer with a score for one document too few. */
  readonly tooFew: Json
}

const DIALOGUES: Readonly<Record<string, Dialogue>> = {
  quarry: {
    config: { provider: 'quarry', model: 'acme/cross' },
    path: '/api/rerank',
    authorization: undefined,
    body: { model: 'acme/cross', query: 'high water', prompts: documents },
    answer: { model: 'acme/cross', scores: [0.1, 0.9, 0.4], truncated: 2 },
    tooFew: { scores: [0.1, 0.9] },
  },
  cohere: {
    config: { provider: 'cohere', api_key: KEY, max_tokens_per_doc: 500 },
    path: '/v2/rerank',
    authorization: `Bearer ${KEY}`,
    body: {
      model: 'rerank-english-v3.0',
      query: 'high water',
      documents,
      top_n: 3,
      max_tokens_per_doc: 500,
    },
    answer: {
      results: [
        { index: 1, relevance_score: 0.9 },
        { index: 2, relevance_score: 0.4 },
        { index: 0, relevance_score: 0.1 },
      ],
    },
    tooFew: { results: [{ index: 1, relevance_score: 0.9 }] },
  },
  vertex: {
    config: { provider: 'vertex', project_id: 'tides', location: 'europe-west4' },
    path: '/v1/projects/tides/locations/global/rankingConfigs/default_ranking_config:rank',
    authorization: `Bearer ${TOKEN}`,
    body: {
      model: 'semantic-ranker-default-004',
      query: 'high water',
      records: documents.map((content, at) => ({ id: String(at), content })),
      ignoreRecordDetailsInResponse: true,
    },
    answer: {
      records: [
        { id: '1', score: 0.9 },
        { id: '2', score: 0.4 },
        { id: '0', score: 0.1 },
      ],
    },
    tooFew: { records: [{ id: '1', score: 0.9 }] },
  },
}

describe('rerankers', () => {
  let providers: Providers

  beforeEach(() => {
    providers = openProviders()
  })

  afterEach(() => providers[Symbol.asyncDispose]())

  function open(config: Json, url: string): Reranker {
    return openReranker(
      parseRerankerConfig({ ...config, url }, 'reranker'),
      providers.wire,
      systemClock,
    )
  }

  for (const [name, dialogue] of Object.entries(DIALOGUES)) {
    it(`score documents in their order by the protocol of ${name}`, async () => {
      await using server = await ScriptedServer.start([answering(200, dialogue.answer)])
      const reranker = open(dialogue.config, server.url)

      const { scores, cutCount } = await reranker.rerank('high water', documents, { signal: never })

      const [request] = server.received
      expect(scores).to.deep.equal([0.1, 0.9, 0.4])
      expect(cutCount).to.equal(name === 'quarry' ? 2 : undefined)
      expect([request?.path, request?.headers.authorization]).to.deep.equal([
        dialogue.path,
        dialogue.authorization,
      ])
      expect(JSON.parse(request?.body ?? '')).to.deep.equal(dialogue.body)
    })

    it(`name what is wrong in an answer of ${name}`, async () => {
      await using server = await ScriptedServer.start([
        answering(200, dialogue.tooFew),
        answering(200, '{}'),
        answering(500, { message: `with ${KEY}` }),
      ])
      const reranker = open(dialogue.config, server.url)
      const failures: unknown[] = []
      for (let each = 0; each < 3; each += 1) {
        failures.push(await failureOf(reranker.rerank('q', documents, { signal: never })))
      }

      expect(failures.every((error) => isProviderError(error))).to.equal(true)
      expect(String(failures[0])).to.match(/finite scores to 3 documents/)
      expect(String(failures[1])).to.match(/is not a list/)
      expect(String(failures[2])).to.match(/status 500/)
      if (dialogue.config['api_key'] === KEY) expect(String(failures[2])).to.not.include(KEY)
    })
  }

  it('ask nothing about no documents, and refuse too many', async () => {
    await using server = await ScriptedServer.start([answering(200, {})])
    const reranker = open(DIALOGUES['vertex']?.config ?? {}, server.url)

    const none = await reranker.rerank('q', [], { signal: never })
    expect(none).to.deep.equal({ scores: [], cutCount: 0 })
    const many = Array.from({ length: 201 }, () => 'x')
    const failure = await failureOf(reranker.rerank('q', many, { signal: never }))

    expect(String(failure)).to.include('201 documents').and.include('it takes 200')
    expect(server.received).to.deep.equal([])
  })

  it('send the identity of the node to nobody but the platform', async () => {
    await using server = await ScriptedServer.start([answering(200, {})])
    const strict = openProviders({ rules: { trustedHosts: [] } })
    const config = { ...DIALOGUES['vertex']?.config, url: 'https://collector.example' }
    const reranker = openReranker(parseRerankerConfig(config, 'r'), strict.wire, systemClock)

    const failure = await failureOf(reranker.rerank('q', documents, { signal: never }))

    expect(String(failure)).to.include('collector.example is none')
    expect(server.received).to.deep.equal([])
    await strict[Symbol.asyncDispose]()
  })
})
