import { expect } from 'chai'
import type { JsonObject } from '../../../../../node/document/exact-json.ts'
import { errorOf } from '../../../../support/error-of.ts'
import {
  ask,
  NEAR_ORIGIN,
  SEA,
  type AskedWorld,
} from '../../../../support/worlds/queried-vectors.ts'

const messageOf = async (body: JsonObject, world: AskedWorld) =>
  String(await errorOf(() => ask(body, world)))

describe('a query that asks what its indexes do not have', () => {
  const hybrid = { full_text_search: SEA, embeddings: NEAR_ORIGIN }
  const refused: Readonly<Record<string, readonly [JsonObject, string]>> = {
    'an unknown index': [{ indexes: ['vex'] }, 'indexes: table "books" has no index "vex"; there are words, notes, vec, mean'], // prettier-ignore
    'a vector for an unknown index': [{ embeddings: { vex: [1] } }, 'embeddings: table "books" has no index "vex"'], // prettier-ignore
    'a vector for words': [{ embeddings: { words: [1] } }, 'embeddings.words: names a full_text index'], // prettier-ignore
    'an index of vectors without a vector': [{ indexes: ['vec'] }, 'indexes: "vec" has vectors'],
    'no choice among indexes of vectors': [{ similar_to: { key: 'a1' } }, 'indexes: must name which of the embeddings indexes similar_to uses: vec, mean'], // prettier-ignore
    'a text for vectors of the client': [{ semantic_search: 'sea', indexes: ['vec'] }, 'semantic_search: index "vec" is external'], // prettier-ignore
    'another dimension': [{ embeddings: { vec: [1, 2, 3] } }, 'embeddings.vec: has 3 numbers'],
    'a sparse vector': [{ embeddings: { vec: { indices: [1], values: [1] } } }, 'embeddings.vec: is sparse'], // prettier-ignore
    'no models': [
      { semantic_search: 'sea', indexes: ['mean'] },
      'semantic_search: this node embeds',
    ],
    'no reranker': [{ ...hybrid, reranker: { provider: 'p', field: 'title' } }, 'reranker: this node has none'], // prettier-ignore
    'a reranker without a text': [{ embeddings: NEAR_ORIGIN, reranker: { provider: 'p' } }, 'reranker: needs a text'], // prettier-ignore
    'a reranker of too many': [{ ...hybrid, limit: 2000, reranker: { provider: 'p' } }, 'reranker: scores at most 1000'], // prettier-ignore
    'a count': [{ ...hybrid, count: true }, 'count: has no meaning'],
    'no hits': [{ ...hybrid, limit: 0 }, 'limit: must be at least 1'],
    'an order': [{ ...hybrid, order_by: [{ field: 'n' }] }, 'order_by: has no meaning'],
    'a page beyond the window': [{ ...hybrid, offset: 1 }, 'offset: pages of merged hits are cut'],
    'distances of two lists': [
      { ...hybrid, distance_under: 1 },
      'distance_under: needs exactly one',
    ],
    'farther hits of two lists': [
      { ...hybrid, distance_over: 1 },
      'distance_over: needs exactly one',
    ],
    'a weight of no list': [{ ...hybrid, merge_config: { weights: { mean: 2 } } }, 'merge_config.weights.mean: is none of the merged indexes: full_text, words, vec'], // prettier-ignore
    'a threshold of no list': [{ ...hybrid, merge_config: { thresholds: { mean: { distance_under: 1 } } } }, 'merge_config.thresholds.mean: is none of the merged indexes: full_text, words, vec'], // prettier-ignore
    'a distance of words': [{ ...hybrid, merge_config: { thresholds: { full_text: { distance_under: 1 } } } }, 'merge_config.thresholds.full_text.distance_under: bounds distances'], // prettier-ignore
    'a score of vectors': [{ ...hybrid, merge_config: { thresholds: { vec: { min_score: 1 } } } }, 'merge_config.thresholds.vec.min_score: bounds scores'], // prettier-ignore
    'one distance in two places': [{ embeddings: NEAR_ORIGIN, distance_under: 2, merge_config: { thresholds: { vec: { distance_under: 1 } } } }, 'distance_under: stands beside the threshold'], // prettier-ignore
    'failover without words': [{ embeddings: NEAR_ORIGIN, merge_config: { strategy: 'failover' } }, 'merge_config.strategy: failover needs'], // prettier-ignore
    'failover without vectors': [{ full_text_search: SEA, indexes: ['words', 'notes'], merge_config: { strategy: 'failover' } }, 'merge_config.strategy: failover needs'], // prettier-ignore
    'several indexes in a single one': [{ embeddings: NEAR_ORIGIN, pruner: { require_multi_index: true } }, 'pruner.require_multi_index: needs a second'], // prettier-ignore
    'several indexes in words': [{ full_text_search: SEA, pruner: { require_multi_index: true } }, 'pruner.require_multi_index: needs a second'], // prettier-ignore
    'matches without words': [{ embeddings: NEAR_ORIGIN, aggregate_over: 'matches' }, 'aggregate_over: matches are those'], // prettier-ignore
    'nothing to merge': [{ full_text_search: SEA, merge_config: {} }, 'merge_config: needs hits to merge'], // prettier-ignore
    'nothing merged to count': [{ full_text_search: SEA, aggregate_over: 'matches' }, 'aggregate_over: needs hits to merge'], // prettier-ignore
    'several indexes of words without a search': [{ indexes: ['words', 'notes'] }, 'indexes: several full_text indexes need'], // prettier-ignore
    'too many points': [{ embeddings: NEAR_ORIGIN, limit: 501, fields: ['_embeddings'], analyses: { pca: true } }, 'analyses: draws at most 500'], // prettier-ignore
  }
  for (const [name, [body, message]] of Object.entries(refused)) {
    it(`is refused for ${name}`, async () => {
      expect(String(await errorOf(() => ask(body)))).to.include(message)
    })
  }

  it('is refused for a table without such an index', async () => {
    const bare = { table: { textIndexes: [], vectorIndexes: [] } }
    const noWords = { table: { textIndexes: [] } }
    const aggregations = { sum: { type: 'sum', field: 'n' } }

    expect(await messageOf({}, bare)).to.include('"books" has no full_text index to search')
    expect(await messageOf(hybrid, noWords)).to.include('"books" has no full_text index to search')
    expect(await messageOf({ semantic_search: 'a' }, bare)).to.include(
      'semantic_search: table "books" has no embeddings index; add one',
    )
    expect(await messageOf({ similar_to: { key: 'a' } }, bare)).to.include('similar_to: table')
    expect(await messageOf({ embeddings: NEAR_ORIGIN, aggregations }, noWords)).to.include(
      'aggregations: table "books" has no full_text index, which counts them',
    )
    expect(
      await messageOf({ similar_to: { key: 'a' }, indexes: ['vec'] }, { table: { vectorsOf: undefined } }), // prettier-ignore
    ).to.include('similar_to: this node reads no stored vectors')
  })
})
