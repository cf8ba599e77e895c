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
    [{ external: true, sparse: true }, 'sparse vectors cannot be searched yet'],
    [{ external: true, sparse: true, dimension: 3 }, 'dimension is a setting of dense vectors'],
    [
      { external: true, sparse: true, chunk_size: 63 },
      'chunk_size must be an integer, at least 64',
    ],
    [{ external: true, sparse: true, top_k: 0 }, 'top_k must be an integer, at least 1'],
    [{ external: true, sparse: true, min_weight: -1 }, 'min_weight must be a number, at least 0'],
    [{ ...EXTERNAL, dimensions: 3 }, '"dimensions" is not a setting of an embeddings index'],
    [{ field: '' }, 'field must be a string that is not empty'],
    [{ embedder: 'openai' }, 'embedder must be an object'],
    [{ chunker: [] }, 'chunker must be an object'],
    [{}, 'vectors that the store computes are not available yet; set external to true'],
    [{ field: 'title', embedder: { provider: 'quarry' } }, 'are not available yet'],
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
    const sparse = { external: true, sparse: true }

    expect(readEmbeddingsSettings(sparse)).to.deep.equal(sparse)
    expect(showEmbeddingsConfig(sparse)).to.deep.equal(sparse)
  })

  it('refuses what was never written', () => {
    const settings = parseEmbeddingsConfig(EXTERNAL, WHERE)
    const damaged = [
      undefined,
      null,
      { ...settings, external: false },
      { ...settings, sparse: undefined },
      { ...settings, dimension: 0 },
      { ...settings, metric: 'l1' },
      { ...settings, engine: '' },
      { ...settings, quantization: 7 },
    ]
    for (const one of damaged) {
      expect(() => readEmbeddingsSettings(one))
        .to.throw('settings of an embeddings index')
        .with.property('code', 'CORRUPTION')
    }
  })
})
