import { expect } from 'chai'
import { runAtOnce } from '../../../../../lib/sliced.ts'
import { splitProjection } from '../../../../../node/reads/special/special-selection.ts'
import { specialText } from '../../../../../node/reads/special/special-text.ts'
import { withSpecial } from '../../../../../node/reads/special/special-reader.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { parseProjection, project } from '../../../../../node/document/projection.ts'
import { encodeArtifact, type Artifact } from '../../../../../node/embedding/artifact.ts'

const head = { ordinal: 0, sourceHash: undefined }
const DENSE: Artifact = {
  ...head,
  kind: 'dense',
  dimension: 2,
  rows: [{ start: 0, end: 0, vector: Float32Array.of(0.5, -2) }],
}
const CHUNKED: Artifact = {
  ...head,
  kind: 'dense',
  dimension: 1,
  rows: [
    { start: 0, end: 4, vector: Float32Array.of(1) },
    { start: 4, end: 7, vector: Float32Array.of(2) },
  ],
  texts: { chunks: ['tide', 'ebb'], summary: 'the sea' },
}
const SPARSE: Artifact = {
  ...head,
  kind: 'sparse',
  rows: [{ start: 0, end: 0, terms: Uint32Array.of(7), weights: Float32Array.of(0.5) }],
}
const PARKED: Artifact = { ...head, kind: 'parked', attempts: 10, texts: { error: 'no answer' } }
const NAMES = ['dense', 'long', 'terms', 'lost', 'none']

function textOf(fields: string): unknown {
  const found = [DENSE, CHUNKED, SPARSE, PARKED].map((artifact) => encodeArtifact(artifact))
  const { special } = splitProjection(parseProjection(fields))
  if (special === undefined) return undefined
  return JSON.parse(runAtOnce(specialText([...found, undefined], NAMES, special)))
}

const chunks = [
  { _id: 0, _start_char: 0, _end_char: 4, _content: 'tide', _embedding: [1] },
  { _id: 1, _start_char: 4, _end_char: 7, _content: 'ebb', _embedding: [2] },
]
const withoutVectors = [
  { _id: 0, _start_char: 0, _end_char: 4, _content: 'tide' },
  { _id: 1, _start_char: 4, _end_char: 7, _content: 'ebb' },
]

describe('the special members of an answer', () => {
  const cases: readonly (readonly [string, unknown])[] = [
    ['title,-other', undefined],
    ['-_embeddings', undefined],
    ['_embeddings.dense', { _embeddings: { dense: [0.5, -2] } }],
    ['_embeddings', { _embeddings: { dense: [0.5, -2], long: [[1], [2]], terms: { '7': 0.5 } } }],
    ['_embeddings,-_embeddings.long,-_embeddings.terms', { _embeddings: { dense: [0.5, -2] } }],
    ['_embeddings.lost,_embeddings.none,_embeddings.unknown', {}],
    ['_chunks', { _chunks: { long: chunks } }],
    ['_chunks.long', { _chunks: { long: chunks } }],
    ['_chunks.*', { _chunks: { long: chunks } }],
    ['_chunks,-_chunks.*._embedding', { _chunks: { long: withoutVectors } }],
    ['_chunks.other', {}],
    ['_summaries.long', { _summaries: { long: 'the sea' } }],
    ['_chunks.*._content', { _chunks: { long: [{ _content: 'tide' }, { _content: 'ebb' }] } }],
    ['_summaries,title', { _summaries: { long: 'the sea' } }],
  ]
  for (const [fields, expected] of cases) {
    it(`are those that "${fields}" names`, () => {
      expect(textOf(fields)).to.deep.equal(expected)
    })
  }

  it('write every number of a long vector', () => {
    const vector = Float32Array.from({ length: 5000 }, (_, at) => at / 3)
    const rows = [{ start: 0, end: 0, vector }]
    const artifact = encodeArtifact({ ...head, kind: 'dense', dimension: 5000, rows })
    const { special } = splitProjection(parseProjection('_embeddings'))
    if (special === undefined) throw new Error('the projection names a special member')

    const steps = [...specialText([artifact], ['v'], special)]
    const text = runAtOnce(specialText([artifact], ['v'], special))

    expect(JSON.parse(text)).to.deep.equal({ _embeddings: { v: [...vector] } })
    expect(steps.length).to.be.greaterThan(1)
  })

  it('are refused when they are longer than an answer may be', async () => {
    const vector = new Float32Array(8000).fill(1 / 3)
    const rows = Array.from({ length: 500 }, (_, at) => ({ start: at, end: at + 1, vector }))
    const texts = { chunks: rows.map(() => 'x') }
    const artifact = encodeArtifact({ ...head, kind: 'dense', dimension: 8000, rows, texts })
    const read = (fields: string): string => {
      const { special } = splitProjection(parseProjection(fields))
      return special === undefined ? '' : runAtOnce(specialText([artifact], ['v'], special))
    }

    const refusal = await errorOf(() => read('_chunks'))

    expect(String(refusal)).to.include('leave the vectors out with -_chunks.*._embedding')
    const left = JSON.parse(read('_chunks,-_chunks.*._embedding'))['_chunks'].v
    expect(left).to.have.length(500)
  })

  it('stand behind the body, which keeps what was asked of it', () => {
    const document = { title: 'Sea charts', n: 1 }
    const bodyOf = (fields: string) =>
      project(document, splitProjection(parseProjection(fields)).body)

    expect(bodyOf('_embeddings')).to.deep.equal({})
    expect(bodyOf('_embeddings,title')).to.deep.equal({ title: 'Sea charts' })
    expect(bodyOf('-_embeddings,-n')).to.deep.equal({ title: 'Sea charts' })
    expect(withSpecial(Buffer.from('{"a":1}'), '{"b":2}').toString()).to.equal('{"a":1,"b":2}')
    expect(withSpecial(Buffer.from('{}'), '{"b":2}').toString()).to.equal('{"b":2}')
    expect(withSpecial(Buffer.from('{"a":1}'), '{}').toString()).to.equal('{"a":1}')
  })
})
