import { expect } from 'chai'
import {
  parseEmbeddingsConfig,
  showEmbeddingsConfig,
} from '../../../../node/embedding/embeddings-config.ts'
import { readEmbeddingsSettings } from '../../../../node/embedding/settings.ts'

const EXTERNAL = { external: true, dimension: 3 }
const WHERE = 'index "vec"'

describe('parseEmbeddingsConfig', () => {
  it('fills in the defaults of an external index', () => {
    expect(parseEmbeddingsConfig(EXTERNAL, WHERE)).to.deep.equal({
      external: true,
      sparse: false,
      dimension: 3,
      metric: 'l2_squared',
      engine: 'usearch',
      quantization: 'f16',
    })
  })

  it('shows a configuration that makes the same settings', () => {
    const config = {
      ...EXTERNAL,
      distance_metric: 'cosine',
      engine: 'exact',
      quantization: 'i8',
    }
    const settings = parseEmbeddingsConfig(config, WHERE)

    const shown = showEmbeddingsConfig(settings)

    expect(shown).to.deep.equal(config)
    expect(parseEmbeddingsConfig(shown, WHERE)).to.deep.equal(settings)
  })

  it('takes the shipped model and the texts of documents where a managed index says nothing, and shows both', () => {
    const settings = parseEmbeddingsConfig({}, WHERE)

    expect(settings).to.deep.equal({
      external: false,
      sparse: false,
      dimension: undefined,
      metric: 'l2_squared',
      engine: 'usearch',
      quantization: 'f16',
      source: { kind: 'template', template: '{{texts this}}' },
      embedder: { provider: 'quarry', model: 'quarry-static-en' },
    })
    const shown = showEmbeddingsConfig({ ...settings, dimension: 208 })
    expect(shown).to.include({ template: '{{texts this}}' })
    expect(parseEmbeddingsConfig(shown, WHERE)).to.deep.equal({ ...settings, dimension: 208 })
  })

  it('keeps whole documents where an index of an earlier version embeds them, and shows a template that does', () => {
    const settings = parseEmbeddingsConfig({ dimension: 208 }, WHERE)
    const earlier = { ...settings, source: { kind: 'document' } }

    expect(readEmbeddingsSettings(earlier)).to.deep.equal(earlier)
    expect(showEmbeddingsConfig(earlier)).to.include({ template: '{{encodeToon this}}' })
  })

  it('shows a managed configuration that makes the same settings', () => {
    const config = {
      template: '{{title}}',
      embedder: { provider: 'openai', model: 'small', api_key: '${OPENAI_API_KEY}' },
      summarizer: { provider: 'gemini', model: 'eyes' },
      chunker: { provider: 'quarry', store_chunks: true, full_text_index: {} },
      dimension: 8,
      distance_metric: 'cosine',
      engine: 'exact',
      quantization: 'f32',
    }
    const settings = parseEmbeddingsConfig(config, WHERE)

    const shown = showEmbeddingsConfig(settings)

    expect(shown).to.deep.equal(config)
    expect(parseEmbeddingsConfig(shown, WHERE)).to.deep.equal(settings)
  })

  it('never shows a key that was written plainly', () => {
    const model = { provider: 'openai', model: 'm', api_key: 'sk-plain' }
    const half = { provider: 'openai', model: 'm', api_key: '${A}sk-plain' }
    const config = { field: 'a', dimension: 2, embedder: model, summarizer: half, chunker: model }

    const shown = showEmbeddingsConfig(parseEmbeddingsConfig(config, WHERE))

    expect(JSON.stringify(shown)).to.not.include('sk-plain')
    expect(shown).to.have.nested.property('embedder.api_key', '***')
  })

  const refusals: readonly (readonly [Readonly<Record<string, unknown>>, string])[] = [
    [{ external: true }, 'index "vec": dimension is missing'],
    [{ external: true, dimension: 0 }, 'dimension must be an integer from 1 to 16384'],
    [{ external: true, dimension: 2.5 }, 'dimension must be an integer'],
    [{ external: true, dimension: 16_385 }, 'dimension must be an integer from 1 to 16384'],
    [{ external: true, dimension: '3' }, 'dimension must be an integer'],
    [{ ...EXTERNAL, external: 'yes' }, 'external must be true or false'],
    [{ ...EXTERNAL, distance_metric: 'euclid' }, 'distance_metric must be l2_squared, inner'],
    [{ ...EXTERNAL, engine: 'hnswlib' }, 'engine must be usearch, exact, faiss'],
    [{ ...EXTERNAL, quantization: 'f8' }, 'quantization must be f32, f16, i8, binary'],
    [{ ...EXTERNAL, field: 'title' }, 'field is for vectors that the store computes'],
    [{ ...EXTERNAL, template: '{{title}}' }, 'template is for vectors that the store computes'],
    [{ ...EXTERNAL, embedder: {} }, 'embedder is for vectors that the store computes'],
    [{ ...EXTERNAL, summarizer: {} }, 'summarizer is for vectors'],
    [{ ...EXTERNAL, chunker: {} }, 'chunker is for vectors'],
    [{ ...EXTERNAL, top_k: 3 }, 'top_k is a setting of sparse vectors'],
    [{ ...EXTERNAL, min_weight: 0 }, 'min_weight is a setting of sparse vectors'],
    [{ ...EXTERNAL, chunk_size: 64 }, 'chunk_size is a setting of sparse vectors'],
    [{ external: true, sparse: true, dimension: 3 }, 'dimension is a setting of dense vectors'],
    [
      { external: true, sparse: true, chunk_size: 63 },
      'chunk_size must be an integer from 64 to 65536',
    ],
    [{ external: true, sparse: true, top_k: 0 }, 'top_k must be an integer, at least 1'],
    [{ external: true, sparse: true, min_weight: -1 }, 'min_weight must be a number, at least 0'],
    [{ ...EXTERNAL, dimensions: 3 }, '"dimensions" is not a setting of an embeddings index'],
    [{ field: '' }, 'field must be a string that is not empty'],
    [{ embedder: 'openai' }, 'embedder must be an object'],
    [{ chunker: [] }, 'chunker must be an object'],
    [{ field: 'title', template: '{{title}}' }, 'field and template exclude each other'],
    [{ field: 'a..b' }, 'field: "a..b" does not parse at character 1'],
    [{ field: '$.items[*]' }, 'field: "$.items[*]" does not parse at character 7'],
    [{ sparse: true }, 'no provider makes sparse vectors'],
    [{ chunker: { store_chunks: 1 } }, 'chunker.store_chunks must be true or false'],
    [{ chunker: { full_text_index: true } }, 'chunker.full_text_index must be {}'],
    [{ chunker: { full_text_index: { a: 1 } } }, 'chunker.full_text_index must be {}'],
    [{ embedder: { api_key: '***' } }, 'embedder.api_key: "***" stands for a key'],
  ]
  for (const [config, message] of refusals) {
    it(`refuses ${JSON.stringify(config)}`, () => {
      expect(() => parseEmbeddingsConfig(config, WHERE))
        .to.throw(message)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }
})

describe('readEmbeddingsSettings', () => {
  it('reads the settings of an index of sparse vectors', () => {
    const head = { external: true, sparse: true }
    const configs = [
      [{}, { minWeight: 0, chunkSize: 1024 }],
      [
        { top_k: 64, min_weight: 0.1, chunk_size: 256 },
        { topK: 64, minWeight: 0.1, chunkSize: 256 },
      ],
    ]
    for (const [config, settings] of configs) {
      const parsed = parseEmbeddingsConfig({ ...head, ...config }, WHERE)
      const shown = { ...head, min_weight: 0, chunk_size: 1024, ...config }

      expect(parsed).to.deep.equal({ ...head, ...settings })
      expect(readEmbeddingsSettings(parsed)).to.deep.equal(parsed)
      expect(showEmbeddingsConfig(parsed)).to.deep.equal(shown)
    }
  })

  it('refuses what was never written', () => {
    const settings = parseEmbeddingsConfig(EXTERNAL, WHERE)
    const damaged = [
      undefined,
      null,
      { ...settings, external: false },
      { ...settings, external: false, source: { kind: 'document' }, embedder: 'x' },
      { ...settings, external: false, source: { kind: 'page' }, embedder: {} },
      { ...settings, external: false, source: { kind: 'field' }, embedder: {} },
      { ...settings, sparse: undefined },
      { ...settings, dimension: 0 },
      { ...settings, metric: 'l1' },
      { ...settings, engine: '' },
      { ...settings, quantization: 7 },
      { external: true, sparse: true },
      { external: true, sparse: true, minWeight: 0, chunkSize: 1024, topK: 'all' },
    ]
    for (const one of damaged) {
      expect(() => readEmbeddingsSettings(one))
        .to.throw('settings of an embeddings index')
        .with.property('code', 'CORRUPTION')
    }
  })
})
