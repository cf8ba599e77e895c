import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { EventLoopTurns } from '../../../../../node/search/tables/event-loop-turns.ts'
import type { QueryModels } from '../../../../../node/search/models/query-models.ts'
import { queryTable } from '../../../../../node/search/table-query.ts'
import { parseQueryRequest } from '../../../../../node/query/request/query-request.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { VectorShard } from '../../../../support/fakes/vector-shard.ts'
import {
  ask,
  bothShards,
  clock,
  DOWN,
  failing,
  idsOf,
  LEFT,
  MANAGED,
  NEAR_ORIGIN,
  scoresOf,
  SEA,
} from '../../../../support/worlds/queried-vectors.ts'

describe('a merged query where something fails', () => {
  const hybrid = { full_text_search: SEA, embeddings: NEAR_ORIGIN, profile: true }

  it('reports a shard whose index of vectors cannot serve, and merges the rest', async () => {
    const [left = new VectorShard({}), right = left] = bothShards()

    const result = await ask(hybrid, { shards: [left, failing(right, 'vec', DOWN)] })

    expect(idsOf(result)).to.deep.equal(['a1', 'a2', 'a3', 'b1'])
    expect(result.error).to.equal(
      '1 of 2 shards did not answer, so hits may be missing: the index is being built',
    )
    expect(result.profile?.shards).to.deep.equal({ total: 2, successful: 1, failed: 1 })
  })

  it('fails when an index fails on every shard', async () => {
    const shards = bothShards().map((shard) => failing(shard, 'vec', DOWN))

    expect(await errorOf(() => ask(hybrid, { shards }))).to.equal(DOWN)
  })

  it('fails when the text cannot be embedded, unless it may fall back', async () => {
    const models: QueryModels = { embedQuery: () => Promise.reject(DOWN) }
    const body = { semantic_search: 'sea', indexes: ['mean'] }

    const refused = await errorOf(() => ask(body, { models }))
    const fallback = await ask({ ...body, merge_config: { strategy: 'failover' } }, { models })

    expect(refused).to.equal(DOWN)
    expect(idsOf(fallback)).to.deep.equal(['a2', 'a1', 'b1'])
    expect(fallback.warnings).to.deep.equal([
      'failover: index "mean" did not answer: the index is being built',
    ])
  })

  it('falls back without a word of failed shards when the index is down everywhere', async () => {
    const shards = bothShards().map((shard) => failing(shard, 'vec', DOWN))
    const merge_config = { strategy: 'failover' }

    const result = await ask({ ...hybrid, merge_config }, { shards })

    expect(idsOf(result)).to.deep.equal(['a2', 'a1', 'b1'])
    expect(result).to.not.have.property('error')
    expect(result.profile?.merge).to.deep.include({ full_text_hits: 3, semantic_hits: 0 })
  })

  it('does not look for words while an index of vectors answers', async () => {
    const shards = bothShards().map((shard) => failing(shard, 'words', DOWN))
    const merge_config = { strategy: 'failover' }

    const result = await ask({ ...hybrid, merge_config }, { shards })

    expect(idsOf(result)).to.deep.equal(['a1', 'a3', 'b1', 'b2', 'a2'])
    expect(result).to.not.have.property('error')
  })

  it('falls back to words in time when the model is silent', async () => {
    const asked = signalled()
    const models: QueryModels = { embedQuery: (_, signal) => asked.silence(signal) }
    const merge_config = { strategy: 'failover' }
    const body = { semantic_search: 'sea', indexes: ['mean'], merge_config, timeout: '8s' }

    const answer = ask(body, { models })
    await asked.begun
    clock.advance(4_000)
    const result = await answer

    expect(idsOf(result)).to.deep.equal(['a2', 'a1', 'b1'])
    expect(result.warnings).to.deep.equal([
      'failover: index "mean" did not answer: the model did not answer within 4000 ms, half of the time of the query',
    ])
  })

  it('refuses the vector of an embedder whose dimension has changed', async () => {
    const models: QueryModels = { embedQuery: async () => Float32Array.of(1, 2, 3) }

    const error = await errorOf(() =>
      ask({ semantic_search: 'sea', indexes: ['mean'] }, { models }),
    )

    expect(String(error)).to.include('the vector for index "mean": has 3 numbers')
  })

  it('ends with its deadline while a model is silent', async () => {
    const slow = new ManualClock()
    const shard = new VectorShard(LEFT)
    const models: QueryModels = { embedQuery: (_, signal) => signalled().silence(signal) }
    const table = {
      name: 'books',
      schema: undefined,
      textIndexes: [],
      vectorIndexes: [MANAGED],
      shards: [shard],
      shardOf: () => shard,
    }
    const request = parseQueryRequest({ semantic_search: 'sea', timeout: '5s' })
    const signal = new AbortController().signal
    const parts = { clock: slow, turns: new EventLoopTurns(), models }

    const asked = errorOf(() => queryTable(parts, table, { request, signal }))
    slow.advance(5_000)

    const error = await asked
    expect(error).to.have.property('code', 'DEADLINE_EXCEEDED')
    expect(String(error)).to.include(
      'the query took longer than 5000 ms: the model of index "mean" had not answered',
    )
  })
})

const judged = (scores: readonly number[], cutCount?: number) => ({ scores, cutCount })

describe('a reranker', () => {
  const body = {
    full_text_search: SEA,
    embeddings: NEAR_ORIGIN,
    reranker: { provider: 'local', model: 'm', field: 'title' },
    profile: true,
  }
  const byLength: QueryModels = {
    rerank: async ({ documents }) => judged(documents.map((text) => -text.length)),
  }

  it('scores the best hits anew by their texts', async () => {
    const asked: unknown[] = []
    const models: QueryModels = {
      rerank: async (query) => {
        asked.push(query)
        return judged(query.documents.map((text) => -text.length))
      },
    }

    const result = await ask(body, { models })

    expect(idsOf(result)).to.deep.equal(['b2', 'a3', 'a1', 'a2', 'b1'])
    expect(scoresOf(result)).to.deep.equal([-5, -6, -7, -11, -17])
    expect(result.hits.max_score).to.equal(-5)
    expect(asked).to.have.lengthOf(1)
    expect(asked[0]).to.deep.include({ query: 'title:sea' })
    expect(result.profile?.reranker).to.deep.include({ model: 'm', documents_reranked: 5 })
  })

  it('reads no more than the window, keeps the best, and is pruned afterwards', async () => {
    const window = await ask({ ...body, merge_config: { window_size: 2 }, limit: 2 }, { models: byLength }) // prettier-ignore
    const top = await ask({ ...body, reranker: { ...body.reranker, top_n: 2 } }, { models: byLength }) // prettier-ignore
    const pruned = await ask({ ...body, pruner: { min_score_ratio: 0.5 } }, { models: byLength })

    expect(idsOf(window)).to.deep.equal(['a1', 'a2'])
    expect(idsOf(top)).to.deep.equal(['b2', 'a3'])
    expect(idsOf(pruned)).to.deep.equal(['b2', 'a3', 'a1'])
  })

  it('works on words alone, and on rendered documents', async () => {
    const models: QueryModels = {
      ...byLength,
      renderDocument: async ({ key, template }) => `${template ?? 'whole'} ${key}`,
    }
    const words = { full_text_search: { match: 'sea', field: 'title' } }

    const result = await ask(
      { ...words, reranker: { provider: 'p' }, document_renderer: 't' },
      { models },
    )

    expect(idsOf(result)).to.deep.equal(['a1', 'a2', 'b1'])
    expect(scoresOf(result)).to.deep.equal([-4, -4, -4])
  })

  it('that read only a part of texts says of how many', async () => {
    const models: QueryModels = {
      rerank: async ({ documents }) =>
        judged(
          documents.map((text) => -text.length),
          3,
        ),
      renderDocument: async ({ key }) => 'x'.repeat(key === 'a1' ? 16_385 : 16_384),
    }
    const { field: _, ...reranker } = body.reranker

    const { warnings } = await ask({ ...body, reranker }, { models })
    const whole = await ask(body, { models: byLength })

    expect(warnings).to.deep.equal([
      'reranker: 1 of 5 texts are longer than 16384 characters, and the rest of them was not read',
      'reranker: 3 of 5 texts were too long for the model beside the query, and cut',
    ])
    expect(whole).to.not.have.property('warnings')
  })

  it('that does not answer leaves the order, with a warning', async () => {
    const models: QueryModels = { rerank: () => Promise.reject(DOWN) }

    const result = await ask(body, { models })

    expect(idsOf(result)).to.deep.equal(['a1', 'a2', 'b1', 'a3', 'b2'])
    expect(result.warnings).to.deep.equal([
      'reranker: the hits are in the order that they had without it: the index is being built',
    ])
    expect(result.profile).to.not.have.property('reranker')
  })

  it('that is silent leaves the order, in time', async () => {
    const asked = signalled()
    const models: QueryModels = { rerank: (_, signal) => asked.silence(signal) }

    const answer = ask({ ...body, timeout: '8s' }, { models })
    await asked.begun
    clock.advance(4_000)
    const result = await answer

    expect(idsOf(result)).to.deep.equal(['a1', 'a2', 'b1', 'a3', 'b2'])
    expect(String(result.warnings)).to.include('the model did not answer within 4000 ms')
  })
})

/** A model that takes a question and never answers; `begun` resolves when it was asked. */
function signalled() {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const silence = (signal: AbortSignal): Promise<never> => {
    begin()
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  }
  return { begun, silence }
}
