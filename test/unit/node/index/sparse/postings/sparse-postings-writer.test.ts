import { expect } from 'chai'
import { FieldNorms } from '../../../../../../node/index/text/encoding/field-norms.ts'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import type { PostingsOutput } from '../../../../../../node/index/sparse/postings/postings-bytes.ts'
import { SparsePostingsWriter } from '../../../../../../node/index/sparse/postings/sparse-postings-writer.ts'
import { PostingsWriter } from '../../../../../../node/index/text/postings/postings-writer.ts'

const NOWHERE: PostingsOutput = { *write() {} }

function writer(rows: readonly number[]): SparsePostingsWriter {
  const made = new SparsePostingsWriter(NOWHERE, 256)
  for (const row of rows) made.add(row, 1)
  return made
}

describe('writers of postings, which cursors halve', () => {
  it('refuse terms of a sparse index that do not ascend', () => {
    const made = writer([0])
    runAtOnce(made.endTerm(7))
    made.add(1, 1)
    expect(() => runAtOnce(made.endTerm(7))).to.throw('the terms of a segment ascend')
  })

  it('refuse rows of a term that do not ascend', () => {
    const made = writer([3, 2])
    expect(() => runAtOnce(made.endTerm(1))).to.throw('the rows of a term ascend')
  })

  it('refuse documents of a word that do not ascend', () => {
    const made = new PostingsWriter({
      hasPositions: false,
      norms: FieldNorms.ofAll(new Uint8Array(8)),
    })
    made.add(5, 1)
    made.add(5, 1)
    expect(() => made.endTerm()).to.throw('the documents of a term ascend')
  })
})
