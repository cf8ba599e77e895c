import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { runAtOnce } from '../../../../../lib/sliced.ts'
import { packBatch, unpackBatch } from '../../../../../node/index/host/document-batch.ts'
import { TextEngine } from '../../../../../node/index/text/hosted/text-engine.ts'
import { applyAlone } from '../../../../support/worlds/apply-alone.ts'

const WORDS = { id: '0123456789abcdef', kind: 'text', name: 'words', memOnly: true } as const
const changes = [
  { key: Buffer.from('a'), json: Buffer.from('{"n":1}'), expiresAtMs: 0, ordinal: 0 },
  { key: Buffer.from('b'), json: undefined, expiresAtMs: 0, ordinal: undefined },
  { key: Buffer.from('c'), json: Buffer.from('{"n":3}'), expiresAtMs: 7, ordinal: undefined },
  { key: Buffer.from('d'), json: Buffer.from('{"n":4}'), expiresAtMs: 0, ordinal: 0xffff_fffe },
]

function isAligned(place: number): boolean {
  return place % 4 === 0
}

describe('a batch of documents', () => {
  it('gives back the packed documents, with and without ordinals', () => {
    const unpacked = [...unpackBatch(packBatch(5, changes))]

    expect(unpacked).to.have.length(changes.length)
    for (const [i, { key, json, expiresAtMs, ordinal }] of unpacked.entries()) {
      const change = changes[i]
      expect(Buffer.from(key)).to.deep.equal(change?.key)
      expect(json && Buffer.from(json)).to.deep.equal(change?.json)
      expect({ expiresAtMs, ordinal }).to.deep.equal({
        expiresAtMs: change?.expiresAtMs,
        ordinal: change?.ordinal,
      })
    }
  })

  it('has each JSON, or artifact, at a multiple of four bytes', () => {
    const lengths = [1, 2, 3, 4, 5, 0]
    const batch = packBatch(
      1,
      lengths.map((length) => {
        return { key: Buffer.alloc(length, 'k'), json: Buffer.alloc(3, '1'), expiresAtMs: 0 }
      }),
    )

    for (const { json } of unpackBatch(batch)) expect(json?.byteOffset).to.satisfy(isAligned)
  })

  it('carries the ordinals into the index', () => {
    const source = { kind: 'given', schema: undefined } as const
    const request = { definition: WORDS, directory: undefined, source, fields: [] }
    const held = TextEngine.open(request, { clock: new ManualClock() })
    applyAlone(held, 1, changes)

    const snapshot = held.index.snapshot()
    const { set, unnumbered } = runAtOnce(
      snapshot.select({ query: { kind: 'all', boost: 1 }, nowMs: 1 }),
    )
    snapshot.release()

    expect(set).to.deep.equal({ kind: 'list', ordinals: Uint32Array.of(0, 0xffff_fffe) })
    expect(unnumbered).to.equal(1)
  })
})
