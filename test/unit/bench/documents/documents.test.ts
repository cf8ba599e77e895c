import { expect } from 'chai'
import {
  buildDocumentSource,
  documentKey,
  scatter,
} from '../../../../bench/data/document-source.ts'

describe('bench documents', () => {
  it('are JSON of exactly 1 KiB, ASCII only', () => {
    const source = buildDocumentSource('kilobyte', 1)

    for (let index = 0; index < 2000; index += 1) {
      const document = source.documentAt(index)
      expect(JSON.parse(document)).to.be.an('object')
      expect(Buffer.byteLength(document), `document ${index}`).to.equal(1024)
      expect(document.length).to.equal(1024)
    }
  })

  it('are the same for the same seed, and differ for another', () => {
    const texts = [1, 1, 2].map((seed) => buildDocumentSource('kilobyte', seed).documentAt(42))

    expect(texts[0]).to.equal(texts[1])
    expect(texts[0]).to.not.equal(texts[2])
  })

  it('stay small on request', () => {
    const document = buildDocumentSource('small', 1).documentAt(9_999_999)

    expect(JSON.parse(document)).to.deep.equal({ n: 9_999_999, group: 'g99', on: true })
  })

  it('have keys whose order is the order of their indexes', () => {
    expect(documentKey(9) < documentKey(10)).to.equal(true)
    expect(documentKey(999_999) < documentKey(1_000_000)).to.equal(true)
  })

  for (const count of [1, 2, 10, 997, 50_000]) {
    it(`scatter over ${count} hits every index once`, () => {
      const hits = new Set(Array.from({ length: count }, (_, index) => scatter(index, count)))

      expect(hits.size).to.equal(count)
      expect(Math.max(...hits)).to.equal(count - 1)
    })
  }
})
