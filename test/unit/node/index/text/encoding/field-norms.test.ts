import { expect } from 'chai'
import { array, assert, boolean, integer, property, record, uniqueArray } from 'fast-check'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import {
  DENSE_SHARE,
  FieldNorms,
  fillPlaces,
  placeCount,
  shiftOf,
} from '../../../../../../node/index/text/encoding/field-norms.ts'
import {
  placeOf,
  sortDocuments,
} from '../../../../../../node/index/text/encoding/listed-documents.ts'
import { MemoryNorms } from '../../../../../../node/index/text/segment/memory-norms.ts'

/** Gaps between documents that are mostly small in one part of the list and large in another. */
const gaps = array(record({ gap: integer({ min: 1, max: 200 }), isNear: boolean() }), {
  maxLength: 400,
})

function docsOf(steps: readonly { readonly gap: number; readonly isNear: boolean }[]): number[] {
  let doc = -1
  return steps.map(({ gap, isNear }) => (doc += isNear ? 1 : gap))
}

const byteOf = (doc: number): number => 1 + ((doc * 31) % 255)

describe('norms of a field', () => {
  it('answer the same by a list with a table of places as by an array of all documents', () => {
    assert(
      property(gaps, integer({ min: 1, max: 300 }), (steps, more) => {
        const listed = docsOf(steps)
        const docCount = (listed.at(-1) ?? 0) + more
        const docs = Uint32Array.from(listed)
        const shift = shiftOf(docs.length, docCount)
        const places = new Uint32Array(placeCount(docCount, shift))
        runAtOnce(fillPlaces(places, docs, shift))
        const norms = FieldNorms.ofListed({
          docs,
          bytes: Uint8Array.from(docs, byteOf),
          places,
          shift,
        })

        const known = new Set(listed)
        for (let doc = 0; doc < docCount; doc += 1) {
          expect(norms.at(doc), `document ${doc}`).to.equal(known.has(doc) ? byteOf(doc) : 0)
        }
        expect(places.length).to.be.at.most(2 + docs.length / 4 + 1)
      }),
    )
  })

  it('that grow answer for the documents below any number, then and later', () => {
    assert(
      property(gaps, integer({ min: 0, max: 400 }), (steps, viewedAt) => {
        const docs = docsOf(steps)
        const growing = new MemoryNorms()
        let end = 0
        let view = growing.below(0)
        for (const [i, doc] of docs.entries()) {
          growing.add(doc, byteOf(doc))
          if (i !== viewedAt) continue
          end = doc + 1
          view = growing.below(end)
        }

        const known = new Set(docs)
        for (let doc = 0; doc < end + 10; doc += 1) {
          const byte = known.has(doc) && doc < end ? byteOf(doc) : 0
          expect(view.at(doc), `document ${doc} of ${end}`).to.equal(byte)
        }
        const later: number[] = []
        growing.forEachFrom(end, (byte) => later.push(byte))
        expect(later).to.deep.equal(docs.filter((doc) => doc >= end).map(byteOf))
      }),
    )
  })

  it('that grow take bytes for the documents with the field alone', () => {
    const rare = new MemoryNorms()
    for (let doc = 0; doc < 1_000_000; doc += 1000) rare.add(doc, 1)
    const common = new MemoryNorms()
    for (let doc = 0; doc < 1000; doc += 1) common.add(doc, 1)
    for (let doc = 1000; doc < 1_000_000; doc += 1000) common.add(doc, 1)

    expect(rare.bytes).to.be.at.most(1000 * DENSE_SHARE)
    expect(common.bytes).to.be.at.most(1999 * DENSE_SHARE)
  })
})

describe('lists of documents', () => {
  it('are sorted, few and many', () => {
    for (const count of [0, 1, 100, 20_000]) {
      const docs = Uint32Array.from(
        { length: count },
        (_, i) => ((i * 7919) % count) * 9 + (i % 2 === 0 ? 1 : 0),
      )
      const expected = [...new Set(docs)].toSorted((a, b) => a - b)
      const distinct = Uint32Array.from(new Set(docs))
      runAtOnce(sortDocuments(distinct, count * 9 + 10))
      expect([...distinct]).to.deep.equal(expected)
    }
  })

  it('say where a document is, or would be', () => {
    assert(
      property(uniqueArray(integer({ min: 0, max: 99 })), (numbers) => {
        const docs = Uint32Array.from(numbers).toSorted()
        for (let doc = 0; doc <= 100; doc += 1) {
          expect(placeOf(docs, doc)).to.equal(numbers.filter((other) => other < doc).length)
        }
      }),
    )
  })
})
