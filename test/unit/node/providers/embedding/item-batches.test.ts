import { expect } from 'chai'
import type { EmbedPart } from '../../../../../node/providers/contract/provider.ts'
import type { RequestLimits } from '../../../../../node/providers/embedding/embed-protocol.ts'
import {
  answerBytesMax,
  limitsFor,
  nextBatch,
} from '../../../../../node/providers/embedding/item-batches.ts'

type Item = readonly EmbedPart[]

function textItem(bytes: number, parts = 1): Item {
  return Array.from({ length: parts }, () => ({ kind: 'text', text: 'x'.repeat(bytes / parts) }))
}

/** The numbers of items of all batches. */
function sizes(items: readonly Item[], limits: RequestLimits): number[] {
  const found: number[] = []
  for (let from = 0; from < items.length;) {
    const batch = nextBatch(items, from, limits)
    if (batch === undefined) break
    found.push(batch.items.length)
    from += batch.items.length
  }
  return found
}

describe('batches of items', () => {
  it('have so many items and so many bytes, and a larger item goes alone', () => {
    const small = Array.from({ length: 7 }, () => textItem(10))

    expect(sizes(small, { itemsMax: 3, bytesMax: 1_000 })).to.deep.equal([3, 3, 1])
    expect(sizes(small, { itemsMax: 100, bytesMax: 25 })).to.deep.equal([2, 2, 2, 1])
    expect(
      sizes([textItem(10), textItem(90), textItem(10)], { itemsMax: 9, bytesMax: 50 }),
    ).to.deep.equal([1, 1, 1])
    expect(sizes([], { itemsMax: 9, bytesMax: 50 })).to.deep.equal([])
  })

  it('count bytes and not characters, and the parts of an item apart', () => {
    const items: Item[] = Array.from({ length: 4 }, () => [{ kind: 'text', text: 'äöü' }])

    expect(sizes(items, { itemsMax: 9, bytesMax: 12 })).to.deep.equal([2, 2])
    expect(
      sizes([textItem(4, 2), textItem(4, 2), textItem(8, 8)], { itemsMax: 4, bytesMax: 99 }),
    ).to.deep.equal([2, 1])
  })

  it('are small for unknown models, and as large as their answers are read in a moment', () => {
    const limits = { itemsMax: 1_000, bytesMax: 1_000 }

    expect(limitsFor(limits).itemsMax).to.equal(8)
    expect(limitsFor(limits, { dimension: 1_536, form: 'decimal' }).itemsMax).to.equal(21)
    expect(limitsFor(limits, { dimension: 1_536, form: 'base64' }).itemsMax).to.equal(170)
    expect(limitsFor(limits, { dimension: 65_536, form: 'decimal' }).itemsMax).to.equal(1)
    expect(limitsFor(limits, { dimension: 8, form: 'binary' }).itemsMax).to.equal(1_000)
    expect(answerBytesMax({ dimension: 65_536, form: 'decimal' })).to.be.above(65_536 * 24)
  })
})
