import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import type { QueriedShard } from '../../../../../node/search/tables/queried-table.ts'
import type { QueryModels } from '../../../../../node/search/models/query-models.ts'
import { MERGE_STRATEGIES } from '../../../../../node/query/request/merge-request.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { VectorShard, type FakeDocuments } from '../../../../support/fakes/vector-shard.ts'
import {
  ask,
  bothShards,
  clock,
  hitsOf,
  MANAGED,
  idsOf,
  NEAR_ORIGIN,
  scoresOf,
  SEA,
  VEC,
} from '../../../../support/worlds/queried-vectors.ts'

describe('a query for vectors', () => {
  it('finds the nearest documents of all shards, ranked by distance', async () => {
    const result = await ask({ embeddings: NEAR_ORIGIN, limit: 3 })

    expect(idsOf(result)).to.deep.equal(['a1', 'a3', 'b1'])
    expect(scoresOf(result)).to.deep.equal([1 / 61, 1 / 62, 1 / 63].map((one) => Number(one.toFixed(6)))) // prettier-ignore
    expect(hitsOf(result).map(({ scores }) => scores)).to.deep.equal([
      { vec: 0 },
      { vec: 1 },
      { vec: 4 },
    ])
    expect(result.hits.total).to.equal(3)
    expect(hitsOf(result)[0]?.sort).to.have.length(2)
    expect(hitsOf(result)[0]?.source).to.equal('{"title":"the sea","n":1}')
  })

  it('folds the parts of a document into one hit, and names the part that matched', async () => {
    const result = await ask({ embeddings: NEAR_ORIGIN })

    const parts = Object.fromEntries(hitsOf(result).map(({ id, matched }) => [id, matched]))
    expect(parts).to.deep.equal({
      a1: undefined,
      a2: undefined,
      a3: undefined,
      b1: { index: 'vec', chunk: 1, start: 8, end: 17 },
      b2: undefined,
    })
  })

  it('passes effort, distances, the window and the time of the query to each shard', async () => {
    const shards = bothShards()
    const body = { embeddings: NEAR_ORIGIN, search_effort: 0.9, limit: 2 }

    const near = await ask({ ...body, distance_under: 4, distance_over: 1 }, { shards })

    expect(idsOf(near)).to.deep.equal(['a3', 'b1'])
    for (const { asked } of shards) {
      expect(asked).to.deep.equal([
        {
          vector: Float32Array.of(0, 0),
          limit: 2,
          effort: 0.9,
          distanceUnder: 4,
          distanceOver: 1,
          nowMs: clock.nowMs(),
        },
      ])
    }
  })

  it('filters in the shards by what the full-text index selects', async () => {
    const shards = bothShards()
    const filters = {
      filter_query: { min: 2, max: 5, field: 'n', inclusive_max: true },
      exclusion_query: { term: 'roads', field: 'title' },
    }

    const found = await ask({ embeddings: NEAR_ORIGIN, ...filters }, { shards })
    const prefixed = await ask({
      embeddings: NEAR_ORIGIN,
      filter_prefix: Buffer.from('b').toString('base64'),
    })

    expect(idsOf(found)).to.deep.equal(['a2'])
    expect(shards[0]?.asked[0]?.filter).to.deep.equal({
      kind: 'list',
      ordinals: Uint32Array.of(1),
    })
    expect(shards[1]?.asked).to.deep.equal([]) // nothing was selected there
    expect(idsOf(prefixed)).to.deep.equal(['b1', 'b2'])
  })

  it('filters by the documents themselves in a table without a full-text index', async () => {
    const many: FakeDocuments = Object.fromEntries(
      Array.from({ length: 500 }, (_, i) => [
        `a${String(i).padStart(3, '0')}`,
        { json: { n: i }, vectors: { vec: [i, 0] } },
      ]),
    )
    const shard = new VectorShard(many)
    const world = { shards: [shard], table: { textIndexes: [] } }
    const body = { embeddings: NEAR_ORIGIN, limit: 2 }

    const found = await ask({ ...body, filter_query: { min: 300, field: 'n' } }, world)
    const none = await ask({ ...body, filter_query: { min: 900, field: 'n' } }, world)
    const prefixed = await ask(
      { ...body, filter_prefix: Buffer.from('a49').toString('base64') },
      world,
    )

    expect(idsOf(found)).to.deep.equal(['a300', 'a301'])
    expect(shard.asked.slice(0, 5).map(({ limit }) => limit)).to.deep.equal([8, 32, 128, 512, 8])
    expect(idsOf(none)).to.deep.equal([])
    expect(idsOf(prefixed)).to.deep.equal(['a490', 'a491'])
    expect(found).to.not.have.property('warnings')
  })

  it('reads several documents of another node at once where it filters by them', async () => {
    const many: FakeDocuments = Object.fromEntries(
      Array.from({ length: 100 }, (_, i) => [
        `a${i}`,
        { json: { n: i }, vectors: { vec: [i, 0] } },
      ]),
    )
    const inner = new VectorShard(many)
    const far = { now: 0, most: 0 }
    const shard: QueriedShard = {
      search: inner.search,
      read: async (key) => {
        far.now += 1
        far.most = Math.max(far.most, far.now)
        await nextTurn()
        far.now -= 1
        return inner.read(key)
      },
    }
    const body = { embeddings: NEAR_ORIGIN, limit: 3, filter_query: { min: 40, field: 'n' } }

    const found = await ask(body, { shards: [shard], table: { textIndexes: [] } })

    expect(idsOf(found)).to.deep.equal(['a40', 'a41', 'a42'])
    expect(far.most).to.be.within(2, 16)
  })

  it('finds what is like another document, by its stored vectors, without that one', async () => {
    const like = await ask({ similar_to: { key: 'a3' }, indexes: ['vec'], limit: 2 })
    // The mean of the parts of b1 is 16.
    const ofParts = await ask({ similar_to: { key: 'b1' }, indexes: ['vec'], limit: 1 })
    const unknown = await errorOf(() => ask({ similar_to: { key: 'zz' }, indexes: ['vec'] }))

    expect(idsOf(like)).to.deep.equal(['a1', 'b1'])
    expect(idsOf(ofParts)).to.deep.equal(['a2'])
    expect(unknown).to.have.property('code', 'NOT_FOUND')
    expect(String(unknown)).to.include('similar_to.key: index "vec" of table "books" has no vector')
  })

  it('embeds a text by the index, with its template', async () => {
    const asked: unknown[] = []
    const models: QueryModels = {
      embedQuery: async (query) => {
        asked.push(query)
        return Float32Array.of(3, 0)
      },
    }
    const body = { semantic_search: 'sea', embedding_template: '{{this}}', indexes: ['mean'] }

    const result = await ask(body, { models })

    expect(idsOf(result)).to.deep.equal(['b1', 'a2', 'a1'])
    expect(asked).to.deep.equal([
      { table: 'books', index: 'mean', text: 'sea', template: '{{this}}' },
    ])
  })

  it('suggests words that are mistyped in a text that is embedded alone', async () => {
    const models: QueryModels = { embedQuery: async () => Float32Array.of(3, 0) }
    const body = { semantic_search: 'by the roadz', indexes: ['mean'], suggest: true }

    const { suggestions } = await ask(body, { models })

    expect(suggestions?.map(({ corrected }) => corrected)).to.deep.equal(['by the roads'])
  })

  it('uses the only index of vectors of the table where none is named', async () => {
    const models: QueryModels = { embedQuery: async () => Float32Array.of(3, 0) }
    const table = { vectorIndexes: [MANAGED] }

    const result = await ask({ semantic_search: 'sea' }, { models, table })

    expect(idsOf(result)).to.deep.equal(['b1', 'a2', 'a1'])
  })

  it('pages within a window, each page from the same list', async () => {
    const body = { embeddings: NEAR_ORIGIN, limit: 2, merge_config: { window_size: 6 } }

    const pages = [
      await ask(body),
      await ask({ ...body, offset: 2 }),
      await ask({ ...body, offset: 4 }),
    ]

    expect(pages.map(idsOf)).to.deep.equal([['a1', 'a3'], ['b1', 'b2'], ['a2']])
  })
})

describe('a hybrid query', () => {
  // Words, by BM25: a2, a1, b1. Vectors: a1, a3, b1, b2, a2. So by rrf with 60:
  // a1: 1/62 + 1/61, b1: 1/63 + 1/63, a2: 1/61 + 1/65, a3: 1/62, b2: 1/64.
  it('merges words and vectors', async () => {
    const result = await ask({ full_text_search: SEA, embeddings: NEAR_ORIGIN, profile: true })

    expect(idsOf(result)).to.deep.equal(['a1', 'a2', 'b1', 'a3', 'b2'])
    expect(scoresOf(result)).to.deep.equal([0.032522, 0.031778, 0.031746, 0.016129, 0.015625])
    expect(result.hits.max_score).to.be.closeTo(0.032522, 1e-6)
    expect(result.hits.total).to.equal(5) // words match three of the five
    expect(hitsOf(result)[1]?.scores).to.have.all.keys('full_text', 'vec')
    expect(hitsOf(result)[3]?.scores).to.deep.equal({ vec: 1 })
    const { merge, shards } = result.profile ?? {}
    expect(merge).to.deep.include({ strategy: 'rrf', full_text_hits: 3, semantic_hits: 5 })
    expect(shards).to.deep.equal({ total: 2, successful: 2, failed: 0 })
  })

  it('takes a window of three hits for each of the page, and at least 50, where lists are merged', async () => {
    const documents: FakeDocuments = Object.fromEntries(
      Array.from({ length: 200 }, (_, i) => {
        return [`a${i}`, { json: { title: 'sea' }, vectors: { vec: [i, 0] } }]
      }),
    )
    const windowOf = async (body: Parameters<typeof ask>[0]) => {
      const { profile } = await ask(
        { ...body, profile: true },
        { shards: [new VectorShard(documents)] },
      )
      return profile?.merge?.semantic_hits
    }
    const hybrid = { full_text_search: SEA, embeddings: NEAR_ORIGIN }

    expect(await windowOf({ ...hybrid, limit: 1 })).to.equal(50)
    expect(await windowOf({ ...hybrid, limit: 16 })).to.equal(50)
    expect(await windowOf({ ...hybrid, limit: 17 })).to.equal(51)
    expect(await windowOf({ ...hybrid, limit: 1, merge_config: { window_size: 7 } })).to.equal(7)
    expect(await windowOf({ embeddings: NEAR_ORIGIN, limit: 4 })).to.equal(4)
    const failover = { ...hybrid, merge_config: { strategy: 'failover' }, limit: 4 }
    expect(await windowOf(failover)).to.equal(4)
  })

  for (const strategy of MERGE_STRATEGIES) {
    it(`says how each score came about, so that a person can compute it: ${strategy}`, async () => {
      const weights: Readonly<Record<string, number>> = { full_text: 0.5, vec: 3 }
      const { hits } = await ask({
        full_text_search: SEA,
        embeddings: NEAR_ORIGIN,
        merge_config: { strategy, weights, rank_constant: 10 },
      })

      for (const {
        _id: id,
        _score: score,
        _index_scores: scores,
        _index_ranks: ranks,
      } of hits.hits) {
        const parts = Object.entries(ranks ?? {})
        expect(parts.map(([name]) => name)).to.deep.equal(Object.keys(scores ?? {}))
        expect(
          parts.reduce((sum, [, { share }]) => sum + share, 0),
          id,
        ).to.equal(score)
        for (const [name, { rank, weight, share }] of parts) {
          const better = hits.hits.filter(({ _index_scores: others }) => {
            const [mine, its] = [scores?.[name] ?? NaN, others?.[name] ?? NaN]
            return name === 'vec' ? its < mine : its > mine
          })
          expect([rank, weight], `${id} ${name}`).to.deep.equal([better.length + 1, weights[name]])
          if (strategy !== 'rsf') expect(share).to.equal(weight / (10 + rank))
        }
      }
    })
  }

  it('counts all matches of the words, and never fewer than it has hits', async () => {
    const none = { full_text_search: { query: 'title:nowhere' }, embeddings: NEAR_ORIGIN }
    const one = {
      full_text_search: SEA,
      embeddings: NEAR_ORIGIN,
      limit: 1,
      merge_config: { window_size: 1 },
    }

    const near = await ask(none)
    const many = await ask(one)

    expect([near.hits.total, near.hits.hits.length]).to.deep.equal([5, 5])
    expect([many.hits.total, many.hits.hits.length]).to.deep.equal([3, 1])
  })

  it('tells the words apart from an index of vectors that is called full_text', async () => {
    const table = { vectorIndexes: [VEC, { ...VEC, name: 'full_text' }] }
    const shards = [new VectorShard({ a1: { json: { title: 'sea' }, vectors: { full_text: [3, 0] } } })] // prettier-ignore
    const body = { full_text_search: SEA, embeddings: { full_text: [1, 0] } }

    const result = await ask({ ...body, merge_config: { weights: { full_text: 2 } } }, { table, shards }) // prettier-ignore

    expect(hitsOf(result)[0]?.scores).to.deep.include({ full_text: 4 }).and.have.property('words')
    expect(scoresOf(result)).to.deep.equal([Number((3 / 61).toFixed(6))])
  })

  it('weighs lists by name, and merges several indexes of each kind', async () => {
    const weighted = await ask({
      full_text_search: SEA,
      embeddings: NEAR_ORIGIN,
      merge_config: { weights: { vec: 100 } },
    })
    const several = await ask({
      full_text_search: SEA,
      embeddings: { vec: [0, 0], mean: [4, 0] },
      indexes: ['notes', 'words'],
      merge_config: { weights: { notes: 2 } },
    })

    expect(idsOf(weighted)).to.deep.equal(['a1', 'a3', 'b1', 'b2', 'a2'])
    expect(hitsOf(several)[0]?.scores).to.have.all.keys('words', 'notes', 'vec', 'mean')
  })

  it('merges what the threshold of each list has left, by the ranks and the scale of these', async () => {
    const hybrid = { full_text_search: SEA, embeddings: NEAR_ORIGIN }
    const whole = await ask({ full_text_search: SEA })
    const best = whole.hits.max_score
    const thresholds = { vec: { distance_over: 1, distance_under: 4 }, words: { min_score: best } }

    const rrf = await ask({ ...hybrid, merge_config: { thresholds } })
    const rsf = await ask({ ...hybrid, merge_config: { thresholds, strategy: 'rsf' } })
    const none = await ask({
      ...hybrid,
      merge_config: { thresholds: { vec: { distance_under: -1 }, full_text: { min_score: 99 } } },
    })

    // Distances: a3 1, b1 4. Words: a2 alone has the best score.
    expect(idsOf(rrf)).to.deep.equal(['a2', 'a3', 'b1'])
    expect(scoresOf(rrf)).to.deep.equal([1 / 61, 1 / 61, 1 / 62].map((one) => Number(one.toFixed(6)))) // prettier-ignore
    expect(scoresOf(rsf)).to.deep.equal([1, 1, 0])
    expect(rrf.hits.total).to.equal(3)
    expect([idsOf(none), none.hits.total]).to.deep.equal([[], 3])
  })

  it('ends a list before its noise, however short the page and however the shards are cut', async () => {
    const far = Array.from({ length: 30 }, (_, i) => 900 + i)
    const documents: FakeDocuments = Object.fromEntries(
      [1, 2, 4, ...far].map((distance, i) => {
        const key = `${'abc'[i % 3] ?? ''}${String(i).padStart(2, '0')}`
        return [key, { json: { title: 'sea' }, vectors: { vec: [Math.sqrt(distance), 0] } }]
      }),
    )
    const halves = ['a', 'b', 'c'].map((first) => {
      const some = Object.entries(documents).filter(([key]) => key.startsWith(first))
      return new VectorShard(Object.fromEntries(some))
    })
    const ends = async (body: Parameters<typeof ask>[0]) => {
      const request = { embeddings: NEAR_ORIGIN, ...body }
      const one = await ask(request, { shards: [new VectorShard(documents)] })
      const three = await ask(request, { shards: halves })
      expect(three.hits).to.deep.equal(one.hits)
      return idsOf(one)
    }
    const near = ['a00', 'b01', 'c02']

    expect(await ends({ merge_config: { autocut: 1 } })).to.deep.equal(near)
    expect(await ends({ merge_config: { autocut: 1 }, limit: 2 })).to.deep.equal(near.slice(0, 2))
    expect(await ends({ merge_config: { thresholds: { vec: { autocut: 1 } } } })).to.deep.equal(
      near,
    )
    expect(await ends({ merge_config: { autocut: 1, window_size: 5 } })).to.have.length(5)
    expect(await ends({ merge_config: { autocut: 2 }, limit: 100 })).to.have.length(33)
    expect(await ends({ merge_config: { autocut: 1 }, full_text_search: SEA })).to.have.length(10)
  })

  it('looks for the words of the text where a full-text index is named beside', async () => {
    const models: QueryModels = { embedQuery: async () => Float32Array.of(3, 0) }
    const body = { semantic_search: 'road AND (', indexes: ['mean', 'words'] }

    const result = await ask({ ...body, highlight: {} }, { models })

    expect(idsOf(result)).to.have.members(['a1', 'a2', 'a3', 'b1'])
    const marked = hitsOf(result).find(({ highlight }) => highlight !== undefined)?.highlight
    expect(marked).to.deep.equal({ title: ['a <em>road</em>'] })
  })

  it('lets a search that matches everything give no order, unless vectors find nothing', async () => {
    const everything = { full_text_search: { match_all: {} } }

    const found = await ask({ ...everything, embeddings: NEAR_ORIGIN })
    const empty = await ask(
      { ...everything, embeddings: { mean: [0, 0] } },
      {
        shards: [new VectorShard({ a9: { json: { title: 'x' } } })],
      },
    )

    expect(idsOf(found)).to.deep.equal(['a1', 'a3', 'b1', 'b2', 'a2'])
    expect(hitsOf(found)[0]?.scores).to.deep.equal({ vec: 0 })
    expect(idsOf(empty)).to.deep.equal(['a9'])
  })

  it('prunes by the fused scores, and hits of a single index first', async () => {
    const body = { full_text_search: SEA, embeddings: NEAR_ORIGIN }

    const both = await ask({ ...body, pruner: { require_multi_index: true } })
    const best = await ask({ ...body, pruner: { min_score_ratio: 0.98 } })

    expect(idsOf(both)).to.deep.equal(['a1', 'a2', 'b1'])
    expect(idsOf(best)).to.deep.equal(['a1'])
  })

  it('marks the words that were found', async () => {
    const result = await ask({
      full_text_search: SEA,
      embeddings: NEAR_ORIGIN,
      highlight: { fields: ['title'] },
    })

    expect(hitsOf(result)[0]?.highlight).to.deep.equal({ title: ['the <em>sea</em>'] })
    expect(hitsOf(result)[3]?.highlight).to.equal(undefined)
  })

  it('counts over the windows, and over all matches of the words if asked', async () => {
    const aggregations = { sum: { type: 'sum', field: 'n' } }
    const merge_config = { window_size: 1 }
    const body = {
      full_text_search: SEA,
      embeddings: NEAR_ORIGIN,
      limit: 1,
      aggregations,
      merge_config,
    }
    // The windows hold a2 and a1; the words match a1, a2 and b1.
    const hits = await ask(body)
    const matches = await ask({ ...body, aggregate_over: 'matches' })
    const vectors = await ask({ embeddings: NEAR_ORIGIN, limit: 2, aggregations })

    expect(hits.aggregations).to.deep.equal({ sum: { value: 6 } })
    expect(matches.aggregations).to.deep.equal({ sum: { value: 9 } })
    expect(vectors.aggregations).to.deep.equal({ sum: { value: 8 } })
  })

  it('draws the vectors of its hits', async () => {
    const body = { embeddings: NEAR_ORIGIN, fields: ['title', '_embeddings.vec'] }

    const { analyses } = await ask({ ...body, analyses: { pca: true, tsne: true } })

    expect(analyses).to.have.all.keys('vec')
    expect(analyses?.['vec']?.ids).to.deep.equal(['a1', 'a3', 'b1', 'b2', 'a2'])
    expect(analyses?.['vec']?.pca).to.have.lengthOf(10)
    expect(analyses?.['vec']?.tsne?.every(Number.isFinite)).to.equal(true)
  })
})
