import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../lib/sliced.ts'
import type { JsonValue } from '../../../../node/document/exact-json.ts'
import { decodeArtifact } from '../../../../node/embedding/artifact.ts'
import type { EmbeddingsSettings } from '../../../../node/embedding/settings.ts'
import { parseVector } from '../../../../node/embedding/vector-forms.ts'
import { readEmbeddings } from '../../../../node/embedding/written-embeddings.ts'

const base64 = (numbers: Float32Array | Uint32Array): string =>
  Buffer.from(numbers.buffer).toString('base64')

describe('parseVector', () => {
  const sparse = {
    kind: 'sparse',
    terms: Uint32Array.of(3, 4_294_967_295),
    weights: Float32Array.of(0.5, -2),
  }
  const forms: readonly (readonly [string, JsonValue, unknown])[] = [
    ['numbers', [0.5, -2, 1e-3], { kind: 'dense', vector: Float32Array.of(0.5, -2, 1e-3) }],
    ['base64', base64(Float32Array.of(1, -2)), { kind: 'dense', vector: Float32Array.of(1, -2) }],
    ['lists of terms and weights', { indices: [4_294_967_295, 3], values: [-2, 0.5] }, sparse],
    [
      'packed terms and weights',
      {
        packed_indices: base64(Uint32Array.of(4_294_967_295, 3)),
        packed_values: base64(Float32Array.of(-2, 0.5)),
      },
      sparse,
    ],
    ['weights by term', { '4294967295': -2, '3': 0.5 }, sparse],
    [
      'no weights at all',
      {},
      { kind: 'sparse', terms: new Uint32Array(), weights: new Float32Array() },
    ],
  ]
  for (const [name, value, expected] of forms) {
    it(`reads ${name}`, () => {
      expect(parseVector(value, 'v')).to.deep.equal(expected)
    })
  }

  const refusals: readonly (readonly [JsonValue, string])[] = [
    [7, 'v must be an array of numbers, base64'],
    [null, 'v must be an array of numbers'],
    [[1, '2'], 'v[1] must be a number'],
    [[1, 1e39], 'v[1] must be a finite number that fits into a float32'],
    [base64(Float32Array.of(1, NaN)), 'v[1] must be a finite number'],
    [base64(Float32Array.of(-Infinity)), 'v[0] must be a finite number'],
    ['AAAA', 'v has 3 bytes, which are not whole numbers'],
    ['AAA', 'v must be base64'],
    ['A===', 'v must be base64'],
    ['AAA_AAA=', 'v must be base64'],
    ['AAAA\nAA=', 'v must be base64'],
    ['AA==AAAA', 'v must be base64'],
    ['____', 'v must be base64'],
    [{ indices: [1], values: [1, 2] }, 'v has 1 term ids and 2 weights'],
    [{ indices: [1, 1], values: [1, 2] }, 'v has the term id 1 twice'],
    [{ indices: [1] }, 'v.values must be an array of numbers'],
    [{ values: [1] }, 'v.indices must be an array of term ids'],
    [{ indices: [-1], values: [1] }, 'v.indices[0] must be a term id'],
    [{ indices: [1.5], values: [1] }, 'v.indices[0] must be a term id'],
    [{ indices: [4_294_967_296], values: [1] }, 'v.indices[0] must be a term id'],
    [{ indices: [1], values: [1], other: 1 }, 'members of several forms'],
    [{ indices: [1], values: [1], packed_values: '' }, 'members of several forms'],
    [{ packed_indices: '' }, 'v.packed_values must be base64'],
    [{ title: 1 }, 'v must be an array of numbers'],
    [{ '9999999999': 1 }, 'must be a term id'],
    [{ '1': 'much' }, 'must be a number'],
  ]
  for (const [value, message] of refusals) {
    it(`refuses ${JSON.stringify(value)}`, () => {
      expect(() => parseVector(value, 'v'))
        .to.throw(message)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }

  it('reads numbers and base64 alike, whatever the vector', () => {
    const vectors = fc.float32Array({ noNaN: true, noDefaultInfinity: true, maxLength: 40 })
    fc.assert(
      fc.property(vectors, (vector) => {
        const listed = parseVector([...vector], 'v')
        const packed = parseVector(base64(vector.slice()), 'v')
        expect(listed).to.deep.equal({ kind: 'dense', vector })
        expect(packed).to.deep.equal({ kind: 'dense', vector })
      }),
    )
  })
})

describe('readEmbeddings', () => {
  const dense = {
    external: true,
    sparse: false,
    dimension: 2,
    metric: 'l2_squared',
    engine: 'exact',
    quantization: 'f32',
  } as const satisfies EmbeddingsSettings
  const sparse = {
    external: true,
    sparse: true,
    minWeight: 0,
    chunkSize: 1024,
  } as const satisfies EmbeddingsSettings
  const indexes = new Map([
    ['vec', { id: '0'.repeat(15) + '1', settings: dense }],
    ['angle', { id: '0'.repeat(15) + '2', settings: { ...dense, metric: 'cosine' } as const }],
    ['terms', { id: '0'.repeat(15) + '3', settings: sparse }],
  ])
  const read = (json: string) => runAtOnce(readEmbeddings(Buffer.from(json), indexes))

  it('makes an artifact for each index that is named', () => {
    const writes = read('{"vec":[1,2],"angle":null,"terms":{"7":0.5}}')

    const vectors = writes.map(({ artifact }) => artifact && decodeArtifact(artifact))
    const head = { ordinal: 0, sourceHash: undefined }
    expect(writes.map(({ index }) => index.slice(-1))).to.deep.equal(['1', '2', '3'])
    expect(vectors).to.deep.equal([
      {
        ...head,
        kind: 'dense',
        dimension: 2,
        rows: [{ start: 0, end: 0, vector: Float32Array.of(1, 2) }],
      },
      undefined,
      {
        ...head,
        kind: 'sparse',
        rows: [{ start: 0, end: 0, terms: Uint32Array.of(7), weights: Float32Array.of(0.5) }],
      },
    ])
  })

  it('takes zeros where the metric has a use for them', () => {
    expect(read('{"vec":[0,0]}')).to.have.length(1)
  })

  const refusals: readonly (readonly [string, string])[] = [
    ['[]', '_embeddings must be an object'],
    ['{"other":[1,2]}', '_embeddings["other"]: the table has no index of this name'],
    ['{"other":[1,2]}', 'it has vec, angle, terms'],
    ['{"vec":[1]}', '_embeddings["vec"] has 1 numbers, and the index has vectors of 2'],
    ['{"vec":[1,2,3]}', '_embeddings["vec"] has 3 numbers'],
    ['{"angle":[0,-0]}', '_embeddings["angle"] has only zeros'],
    ['{"vec":{"1":1}}', '_embeddings["vec"] is sparse'],
    ['{"terms":[1,2]}', '_embeddings["terms"] is dense'],
    ['{"vec":[1,null]}', '_embeddings["vec"][1] must be a number'],
    [`{"vec":[${'1,'.repeat(300_000)}1]}`, 'has more than 524288 bytes'],
  ]
  for (const [json, message] of refusals) {
    it(`refuses ${json.slice(0, 40)}: ${message}`, () => {
      expect(() => read(json))
        .to.throw(message)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }
})
