import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { TEMPLATE_LENGTH_MAX } from '../../../../../node/query/query-limits.ts'
import { TEMPLATE_LENGTH_MAX as COMPILED_LENGTH_MAX } from '../../../../../node/template/compile-template.ts'
import { parseExact } from '../../../../../node/document/exact-json.ts'
import { checkVector } from '../../../../../node/query/request/vector-check.ts'
import { parseQueryRequest } from '../../../../../node/query/request/query-request.ts'
import { parseVector } from '../../../../../node/embedding/vector-forms.ts'

const parse = (text: string) => parseQueryRequest(parseExact(text))
const textOf = (more: string) => parse(`{"reranker":{"provider":"p"${more}}`).reranker?.text

describe('the vectors of a query', () => {
  it('have all members read', () => {
    const { vectors, merge, reranker, analyses, indexes, aggregatesMatches } = parse(
      '{"semantic_search":"sea","embedding_template":"{{this}}","indexes":["vec","words","vec"],' +
        '"embeddings":{"own":[1,2.5]},"search_effort":1,"distance_under":2,"distance_over":-1,' +
        '"merge_config":{"strategy":"rsf","weights":{"vec":2,"full_text":0},"rank_constant":0,' +
        '"window_size":50,"autocut":1,"thresholds":{"vec":{"distance_under":3,"distance_over":-1,' +
        '"autocut":2},"full_text":{"min_score":0.5}}},"reranker":{"provider":"p","model":"m","api_key":"${K}",' +
        '"top_n":5,"max_tokens_per_doc":2,"field":"a.b"},' +
        '"analyses":{"pca":true},"fields":["title","_embeddings"],"aggregate_over":"matches"}',
    )

    expect(vectors).to.deep.equal({
      sought: { kind: 'text', text: 'sea', template: '{{this}}' },
      embeddings: new Map([['own', { kind: 'dense', vector: Float32Array.of(1, 2.5) }]]),
      effort: 1,
      oversampling: undefined,
      distanceUnder: 2,
      distanceOver: -1,
    })
    expect(indexes).to.deep.equal(['vec', 'words'])
    expect(merge).to.deep.equal({
      strategy: 'rsf',
      weights: new Map([
        ['vec', 2],
        ['full_text', 0],
      ]),
      rankConstant: 0,
      windowSize: 50,
      thresholds: new Map([
        ['vec', { minScore: undefined, distanceUnder: 3, distanceOver: -1, autocut: 2 }],
        [
          'full_text',
          { minScore: 0.5, distanceUnder: undefined, distanceOver: undefined, autocut: undefined },
        ],
      ]),
      autocut: 1,
    })
    expect(reranker).to.deep.equal({
      config: { provider: 'p', model: 'm', api_key: '${K}', max_tokens_per_doc: 2 },
      text: { kind: 'field', path: { text: 'a.b', segments: ['a', 'b'] } },
      topCount: 5,
    })
    expect(analyses).to.deep.equal({ pca: true, tsne: false })
    expect(aggregatesMatches).to.equal(true)
  })

  it('take templates of the length that the contract says and their compiler takes', () => {
    const contract = readFileSync('openapi/store.v1.yaml', 'utf8')
    const lengths = ['embedding_template', 'document_renderer'].map((name) => {
      return new RegExp(`${name}:\\s+type: string\\s+maxLength: (\\d+)`).exec(contract)?.[1]
    })

    expect([TEMPLATE_LENGTH_MAX, ...lengths.map(Number)]).to.deep.equal(
      Array.from({ length: 3 }, () => COMPILED_LENGTH_MAX),
    )
  })

  it('may come from a document, and have defaults', () => {
    const { vectors } = parse('{"similar_to":{"key":"book/é"}}')

    expect(vectors).to.deep.equal({
      sought: { kind: 'document', key: Buffer.from('book/é') },
      embeddings: new Map(),
      effort: 0.5,
      oversampling: undefined,
      distanceUnder: undefined,
      distanceOver: undefined,
    })
  })

  it('choose the text that a reranker reads', () => {
    expect(textOf('}')).to.deep.equal({ kind: 'rendered' })
    expect(textOf(',"template":"{{a}}"}')).to.deep.equal({ kind: 'template', template: '{{a}}' })
    expect(textOf('},"document_renderer":"{{b}}"')).to.deep.equal({
      kind: 'template',
      template: '{{b}}',
    })
  })

  const refused: Readonly<Record<string, string>> = {
    '{"semantic_search":""}': 'semantic_search: must not be empty',
    '{"semantic_search":" \\n"}': 'semantic_search: must not be empty',
    '{"semantic_search":5}': 'semantic_search: must be a string',
    '{"semantic_search":"a","similar_to":{"key":"b"}}': 'similar_to: cannot stand beside',
    '{"similar_to":"b"}': 'similar_to: must be an object',
    '{"similar_to":{"key":""}}': 'similar_to.key: must have 1 to',
    '{"similar_to":{"key":"a","index":"v"}}': 'similar_to: unknown field "index"',
    '{"embedding_template":"x"}': 'embedding_template: needs semantic_search',
    '{"embeddings":{}}': 'embeddings: must have a vector for at least one index',
    '{"embeddings":[1]}': 'embeddings: must be an object',
    '{"embeddings":{"v":[1,"2"]}}': 'embeddings.v[1] must be a number',
    '{"embeddings":{"v":[1e300]}}': 'embeddings.v[0] must be a finite number',
    '{"embeddings":{"v":[]}}': 'embeddings.v: must have at least one number',
    '{"embeddings":{"v":7}}': 'embeddings.v must be an array of numbers, base64',
    [`{"embeddings":{"v":[${'1,'.repeat(16_384)}1]}}`]: 'embeddings.v: may have at most 16384',
    [`{"embeddings":{"v":"${Buffer.alloc(65_540).toString('base64')}"}}`]: 'embeddings.v: may have',
    [`{"embeddings":{"v":{"indices":[${'1,'.repeat(4096)}1],"values":[1]}}}`]:
      'embeddings.v: has 4097 terms, and a sparse vector may have 4096',
    [`{"embeddings":{"v":{${Array.from({ length: 4097 }, (_, n) => `"${n}":1`).join()}}}}`]:
      'embeddings.v: has 4097 terms',
    [`{"embeddings":{"v":{"packed_indices":"${Buffer.alloc(16_388).toString('base64')}"}}}`]:
      'embeddings.v: has 4097 terms',
    [`{"embeddings":{${Array.from({ length: 17 }, (_, n) => `"v${n}":[1]`).join()}}}`]:
      'embeddings: may have vectors for at most 16 indexes',
    '{"search_effort":0.5}': 'search_effort: needs semantic_search, embeddings or similar_to',
    '{"distance_under":1}': 'distance_under: needs semantic_search',
    '{"semantic_search":"a","search_effort":1.1}': 'search_effort: must be from 0 to 1',
    '{"semantic_search":"a","oversampling":0.5}': 'oversampling: must be from 1 to 100',
    '{"oversampling":2}': 'oversampling: needs semantic_search, embeddings or similar_to',
    '{"semantic_search":"a","distance_over":2,"distance_under":1}':
      'distance_over: is above distance_under',
    '{"merge_config":[]}': 'merge_config: must be an object',
    '{"merge_config":{"strategy":"best"}}': 'merge_config.strategy: must be "rrf" or "rsf"',
    '{"merge_config":{"weights":{"v":-1}}}': 'merge_config.weights.v: must be a number from 0',
    '{"merge_config":{"rank_constant":-1}}': 'merge_config.rank_constant: must be a number',
    '{"merge_config":{"window_size":0}}': 'merge_config.window_size: must be an integer',
    '{"merge_config":{"window_size":10001}}': 'merge_config.window_size: must be an integer',
    '{"merge_config":{"k":1}}': 'merge_config: unknown field "k"',
    '{"merge_config":{"autocut":11}}': 'merge_config.autocut: must be an integer of at least 1 and',
    '{"merge_config":{"thresholds":[]}}': 'merge_config.thresholds: must be an object',
    '{"merge_config":{"thresholds":{"v":1}}}': 'merge_config.thresholds.v: must be an object',
    '{"merge_config":{"thresholds":{"v":{"min":1}}}}':
      'merge_config.thresholds.v: unknown field "min"',
    '{"merge_config":{"thresholds":{"v":{"min_score":-1}}}}':
      'merge_config.thresholds.v.min_score: must be a number of at least 0',
    '{"merge_config":{"thresholds":{"v":{"distance_under":"1"}}}}':
      'merge_config.thresholds.v.distance_under: must be a number',
    '{"merge_config":{"thresholds":{"v":{"distance_over":2,"distance_under":1}}}}':
      'merge_config.thresholds.v.distance_over: is above distance_under',
    '{"merge_config":{"thresholds":{"v":{"autocut":1.5}}}}':
      'merge_config.thresholds.v.autocut: must be',
    '{"reranker":{}}': 'reranker.provider: must be a string',
    '{"reranker":{"provider":"p","model":5}}': 'reranker.model: must be a string',
    '{"reranker":{"provider":"p","deep":{"a":1}}}': 'reranker.deep: must be a text, a number',
    [`{"reranker":{"provider":"p","url":"${'u'.repeat(4097)}"}}`]:
      'reranker.url: may have at most 4096',
    [`{"reranker":{"provider":"p",${Array.from({ length: 16 }, (_, n) => `"m${n}":1`).join()}}}`]:
      'reranker: has more than 16 settings',
    '{"reranker":{"provider":""}}': 'reranker.provider: must not be empty',
    '{"reranker":{"provider":"p","field":"a","template":"b"}}': 'reranker.template: cannot stand',
    '{"reranker":{"provider":"p","field":"a"},"document_renderer":"b"}':
      'document_renderer: cannot',
    '{"reranker":{"provider":"p","top_n":0}}': 'reranker.top_n: must be an integer',
    '{"document_renderer":"x"}': 'document_renderer: needs a reranker',
    '{"analyses":{"pca":true}}':
      'analyses: draws the returned vectors: name "_embeddings" in fields',
    '{"analyses":{"umap":true}}': 'analyses: unknown field "umap"',
    '{"aggregate_over":"all"}': 'aggregate_over: must be "hits" or "matches"',
    '{"indexes":[]}': 'indexes: must be an array of at least one index name',
  }
  for (const [text, message] of Object.entries(refused)) {
    it(`are refused as ${text.slice(0, 80)}`, () => {
      expect(() => parse(text))
        .to.throw(message)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }
})

describe('checkVector', () => {
  const zeros = parseVector([0, 0], 'v')
  const space = { sparse: false, dimension: 2, metric: 'l2_squared' } as const

  it('takes a vector that fits, and zeros where directions do not count', () => {
    expect(checkVector(zeros, space, 'v')).to.equal(zeros)
  })

  it('refuses another dimension, zeros under cosine, and sparse vectors', () => {
    const sparse = parseVector({ indices: [1], values: [1] }, 'v')

    expect(() => checkVector(zeros, { ...space, dimension: 3 }, 'v')).to.throw(
      'v: has 2 numbers, and the vectors of the index have 3',
    )
    expect(() => checkVector(zeros, { ...space, metric: 'cosine' }, 'v')).to.throw(
      'v: is all zeros',
    )
    expect(() => checkVector(sparse, space, 'v')).to.throw('v: is sparse, and the index has dense')
  })

  it('takes sparse vectors for an index of them, and refuses those that nothing could find', () => {
    const sparse = parseVector({ indices: [1], values: [1] }, 'v')

    expect(checkVector(sparse, { sparse: true }, 'v')).to.equal(sparse)
    expect(() => checkVector(zeros, { sparse: true }, 'v')).to.throw('v: is dense, with 2 numbers')
    for (const [values, problem] of [
      [[-1], 'has the weight -1 for term 1'],
      [[0], 'has no weight above 0'],
    ] as const) {
      const bad = parseVector({ indices: [1], values }, 'v')
      expect(() => checkVector(bad, { sparse: true }, 'v')).to.throw(problem)
    }
  })
})
