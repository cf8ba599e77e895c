// Each member that says that an answer was cut: driven to say so, and to say that nothing was.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { startApi, type Api } from '../contract/api-harness.ts'
import { flagsOf } from '../support/answered-lists.ts'
import {
  writeTinyEmbedder,
  writeTinyGenerator,
  writeTinyReranker,
  writeTinyRewriter,
} from '../support/inference/model-directories.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'

/** What the member says, or undefined where it is absent: of a whole answer, and of one that was cut. */
interface Told {
  readonly whole: unknown
  readonly cut: unknown
}

type Driver = () => Promise<Told>

/** Flags that need a cluster, or a model that refuses documents, with a text of the test that drives them. */
const ELSEWHERE: Readonly<Record<string, readonly [file: string, text: string]>> = {
  'ClusterNode.emptying.truncated': [
    'test/unit/node/steering/controlled-cluster.test.ts',
    'says that more waits than it names',
  ],
  'ClusterSummary.truncated': [
    'test/unit/node/steering/controlled-cluster.test.ts',
    'says that more waits than it names',
  ],
  'Leftovers.leftover_count': [
    'test/unit/node/steering/leftovers.test.ts',
    'counts the replicas that its answer does not name',
  ],
  'Recovery.shard_count': [
    'test/unit/node/steering/recover-for-operators.test.ts',
    'counts the shards that it does not name',
  ],
  'Recovery.unknown_count': [
    'test/unit/node/steering/recover-for-operators.test.ts',
    'counts the shards that it does not name',
  ],
  'Enrichment.parked': ['test/integration/enrichment.test.ts', '?parked=5'],
}

const LONG = 'hello '.repeat(3000)

const hasMore = ({ count, fields }: { count: number; fields: readonly unknown[] }): boolean =>
  count > fields.length

describe('answers that are cut say so', () => {
  let api: Api
  let models: InferenceServer

  before(async () => {
    api = await startApi({ isSearched: true })
    await post('/tables/books', { split_keys: ['m'] })
    const kinds = ['map', 'map', 'way', 'sea']
    const inserts = Object.fromEntries(
      kinds.map((kind, i) => [`${'az'[i % 2] ?? ''}${i}`, { kind, n: i }]),
    )
    await post('/tables/books/batch', { inserts, sync_level: 'full_text' })
    models = await InferenceServer.start(async (root) => {
      await writeTinyEmbedder(path.join(root, 'embedders/tiny'))
      await writeTinyReranker(path.join(root, 'rerankers/cross'))
      await writeTinyRewriter(path.join(root, 'rewriters/sums'))
      await writeTinyGenerator(path.join(root, 'generators/stops'), { eos: [12, 17] })
    })
  })

  after(async () => {
    await api[Symbol.asyncDispose]()
    await models[Symbol.asyncDispose]()
  })

  async function post(at: string, body: object) {
    const sent = { method: 'POST', path: `/api/v1${at}`, body: JSON.stringify(body) }
    return JSON.parse((await api.send(sent)).body)
  }

  async function get(at: string) {
    return JSON.parse((await api.send({ method: 'GET', path: `/api/v1${at}` })).body)
  }

  const query = async (body: object) => (await post('/tables/books/query', body)).responses[0]

  /** A table whose documents have so many fields, each a number in one and a text in the other document. */
  async function tableOf(name: string, fields: number) {
    await post(`/tables/${name}`, {})
    const one = Object.fromEntries(Array.from({ length: fields }, (_, i) => [`f${i}`, i]))
    const other = Object.fromEntries(Array.from({ length: fields }, (_, i) => [`f${i}`, 'none']))
    for (const inserts of [{ one }, { other }]) {
      await post(`/tables/${name}/batch`, { inserts, sync_level: 'full_text' })
    }
    return get(`/tables/${name}`)
  }

  /** Whether the bad values of the fields that are named are not all. */
  async function dropsMore(name: string): Promise<boolean> {
    const { status } = await get(`/tables/${name}/indexes/full_text_index_v0`)
    const { bad_values: all, fields } = status.dropped_values
    const named = Object.values<{ bad_values: number }>(fields)
    return all > named.reduce((sum, { bad_values: one }) => sum + one, 0)
  }

  /** Why a generated text of at most so many tokens has ended. */
  async function endOf(max_tokens: number): Promise<string> {
    const messages = [{ role: 'user', content: 'hello' }]
    const body = { model: 'stops', messages, temperature: 0, max_tokens }
    return (await models.post('/v1/chat/completions', body)).json.choices[0].finish_reason
  }

  /** What an answer of the inference API says for a short text, and for a long one. */
  const told =
    (at: string, bodyOf: (text: string) => object, flag: string): Driver =>
    async () => {
      const [whole, cut] = await Promise.all(
        ['hello', LONG].map(async (text) => (await models.post(at, bodyOf(text))).json[flag]),
      )
      return { whole, cut }
    }

  const DRIVERS: Readonly<Record<string, Driver>> = {
    'QueryResult.hits.total': async () => {
      const [all, few] = [await query({}), await query({ limit: 1 })]
      return {
        whole: all.hits.total > all.hits.hits.length,
        cut: few.hits.total > few.hits.hits.length,
      }
    },
    'AggregationResult.truncated': async () => {
      const shown = async (table: string, size: number) => {
        const kinds = { type: 'terms', field: 'kind.keyword', size }
        const { responses } = await post(`/tables/${table}/query`, { aggregations: { kinds } })
        return responses[0].aggregations.kinds.truncated
      }
      // One table has two shards, and a table of one shard keeps no more terms than it has to.
      await post('/tables/lone', {})
      const inserts = { a: { kind: 'map' }, b: { kind: 'way' }, c: { kind: 'sea' } }
      await post('/tables/lone/batch', { inserts, sync_level: 'full_text' })
      expect([await shown('lone', 2), await shown('lone', 3)]).to.deep.equal([true, undefined])
      return { whole: await shown('books', 3), cut: await shown('books', 2) }
    },
    'DynamicFields.count': async () => {
      const [few, many] = [await tableOf('few', 200), await tableOf('many', 201)]
      return { whole: hasMore(few.dynamic_fields), cut: hasMore(many.dynamic_fields) }
    },
    'DroppedValues.bad_values': async () => {
      await tableOf('twenty', 20)
      await tableOf('twentyone', 21)
      return { whole: await dropsMore('twenty'), cut: await dropsMore('twentyone') }
    },
    'ShardPage.next_cursor': async () => {
      const [all, few] = [
        await get('/cluster/shards?table=books'),
        await get('/cluster/shards?table=books&limit=1'),
      ]
      return { whole: all.next_cursor, cut: few.next_cursor }
    },
    'ChunkAnswer.truncated': told(
      '/api/chunk',
      (text) => ({ text, config: { max_chunks: 1, target_tokens: 20, overlap_tokens: 0 } }),
      'truncated',
    ),
    'RerankAnswer.truncated': told(
      '/api/rerank',
      (text) => ({ model: 'cross', query: 'hello', prompts: [text] }),
      'truncated',
    ),
    'RewriteAnswer.truncated': told(
      '/api/rewrite',
      (text) => ({ model: 'sums', inputs: [text] }),
      'truncated',
    ),
    'EmbedAnswer.truncated': async () => {
      const body = { model: 'tiny', input: ['hello', LONG, LONG] }
      const json = { accept: 'application/json' }
      const some = await models.post('/api/embed', body, json)
      const bytes = await models.post('/api/embed', body)
      const none = await models.post('/api/embed', { ...body, input: 'hello' }, json)
      const [shared] = (await models.post('/api/embed', body, json)).json.truncated === 2 ? [2] : []

      expect(some.json.truncated).to.equal(2)
      expect(shared, 'of remembered results').to.equal(2)
      return { whole: none.json.truncated, cut: Number(bytes.headers.get('x-truncated')) }
    },
    'OpenaiEmbeddingAnswer.truncated': told(
      '/v1/embeddings',
      (input) => ({ model: 'tiny', input }),
      'truncated',
    ),
    'embedPrompt.truncated': told(
      '/api/embeddings',
      (prompt) => ({ model: 'tiny', prompt }),
      'truncated',
    ),
    'Completion.choices[].finish_reason': async () => {
      const cut = (await endOf(1)) === 'length'
      return { whole: (await endOf(400)) === 'length', cut }
    },
  }

  it('have a driver for every flag of both contracts', () => {
    const flags = [...flagsOf('store.v1'), ...flagsOf('inference.v1')]

    expect([...Object.keys(DRIVERS), ...Object.keys(ELSEWHERE)].toSorted()).to.deep.equal(
      flags.toSorted(),
    )
    for (const [file, text] of Object.values(ELSEWHERE)) {
      expect(readFileSync(file, 'utf8')).to.include(text)
    }
  })

  for (const [flag, drive] of Object.entries(DRIVERS)) {
    it(`as ${flag}`, async () => {
      const { whole, cut } = await drive()

      expect(Boolean(whole), 'of a whole answer').to.equal(false)
      expect(Boolean(cut), 'of one that was cut').to.equal(true)
    }).timeout(60_000)
  }
})
