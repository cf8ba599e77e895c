import { expect } from 'chai'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { encodeArtifact } from '../../../../../../node/embedding/artifact.ts'
import type { DenseIndexSettings } from '../../../../../../node/embedding/settings.ts'
import {
  packBatch,
  unpackBatch,
  type DocumentBatch,
} from '../../../../../../node/index/host/document-batch.ts'
import {
  VectorTail,
  type VectorDocument,
} from '../../../../../../node/index/vector/engine/vector-tail.ts'
import { vectorDocumentOf } from '../../../../../../node/index/vector/hosted/vector-document.ts'

const SETTINGS: DenseIndexSettings = {
  dimension: 3,
  metric: 'l2_squared',
  engine: 'exact',
  quantization: 'f32',
}
const ROWS = [
  [1, 2, 3],
  [4, 5, 6],
]

/** Documents whose keys have every length modulo four. */
function batchOf(count: number): DocumentBatch {
  const rows = ROWS.map((numbers) => ({ start: 0, end: 9, vector: Float32Array.from(numbers) }))
  const head = { kind: 'dense', sourceHash: undefined, dimension: 3, rows } as const
  const changes = Array.from({ length: count }, (_, ordinal) => {
    const json = encodeArtifact({ ...head, ordinal })
    return { key: Buffer.from('k'.repeat(ordinal + 1)), json, expiresAtMs: 0, ordinal }
  })
  return packBatch(1, changes)
}

function documentsOf(batch: DocumentBatch): VectorDocument[] {
  return [...unpackBatch(batch)].map((change) => {
    const read = runAtOnce(vectorDocumentOf(change, SETTINGS))
    if (read.kind !== 'document') throw new TypeError(`the change is ${read.kind}`)
    return read.document
  })
}

describe('a document of vectors', () => {
  it('has its vectors where they lie in the batch, however long the keys are', () => {
    const batch = batchOf(8)

    const vectors = documentsOf(batch).flatMap((document) => document.vectors)

    expect(vectors).to.have.length(16)
    for (const [i, vector] of vectors.entries()) {
      expect(vector.buffer === batch.bytes.buffer).to.equal(true)
      expect([...vector]).to.deep.equal(ROWS[i % 2])
    }
  })

  it('is copied by the tail, which does not keep the batch', () => {
    const batch = batchOf(2)
    const tail = new VectorTail(SETTINGS.dimension)
    for (const document of documentsOf(batch)) tail.add(document)

    batch.bytes.fill(0)

    const { vectors, at, rowCount } = tail.block(0, 4)
    expect(rowCount).to.equal(4)
    expect([...vectors.subarray(at, at + 12)]).to.deep.equal([...ROWS, ...ROWS].flat())
    expect(Buffer.from(tail.keyOf(1)).toString()).to.equal('kk')
    expect(tail.document(0).vectors).to.deep.equal([])
  })
})
