import { expect } from 'chai'
import { PayloadCollector, detachLarge } from '../../../../inference/runtime/large-payloads.ts'

const LONG = 'héllo 😀'.repeat(200_000)
const BYTES = Uint8Array.from({ length: 3_000_001 }, (_, at) => at % 251)

describe('large payloads', () => {
  it('arrive as they were sent', () => {
    const message = { kind: 'run', items: [{ text: LONG }, { bytes: BYTES }, { text: 'short' }] }
    const { message: slim, pieces } = detachLarge(message)
    const collector = new PayloadCollector()

    const before = pieces.map((piece) => collector.receive(structuredClone(piece)))
    const received = collector.receive(structuredClone(slim))

    expect(new Set(before)).to.deep.equal(new Set([undefined]))
    expect(received?.items[0]).to.deep.equal({ text: LONG })
    expect(Buffer.compare(received?.items[1]?.bytes ?? new Uint8Array(), BYTES)).to.equal(0)
    expect(received?.items[2]).to.deep.equal({ text: 'short' })
  })

  it('are cut into pieces of at most a megabyte', () => {
    const { pieces } = detachLarge({ items: [{ text: LONG }, { bytes: BYTES }] })

    expect(Math.max(...pieces.map(({ data }) => data.length))).to.be.at.most(2 ** 20)
    expect(pieces.length).to.be.greaterThan(5)
  })

  it('include long lists', () => {
    const entities = Array.from({ length: 10_000 }, (_, at) => ({ label: 'PER', start: at }))
    const ids = Array.from({ length: 10_000 }, (_, at) => at)
    const message = { kind: 'answer', answer: [{ result: { entities, ids } }] }
    const { message: slim, pieces } = detachLarge(message)
    const collector = new PayloadCollector()

    for (const piece of pieces) collector.receive(structuredClone(piece))
    const received = collector.receive(structuredClone(slim))

    expect(pieces.map(({ data }) => data.length)).to.deep.equal([2048, 2048, 2048, 2048, 1808])
    expect(received).to.deep.equal(message)
  })

  it('leave their message unchanged, and small messages whole', () => {
    const small = { items: [{ text: 'short' }] }
    const large = { items: [{ text: LONG }] }

    detachLarge(large)

    expect(detachLarge(small)).to.deep.equal({ message: small, pieces: [] })
    expect(large.items[0]?.text).to.equal(LONG)
  })
})
