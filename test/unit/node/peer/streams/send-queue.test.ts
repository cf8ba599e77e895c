import { expect } from 'chai'
import { OutboundStream } from '../../../../../node/peer/streams/outbound-stream.ts'
import { SendQueue } from '../../../../../node/peer/streams/send-queue.ts'
import { decodeFrames, encodeFrame, FRAME } from '../../../../../node/peer/wire/frame-codec.ts'
import { errorOf } from '../../../../support/error-of.ts'

const KIB = 1024

describe('SendQueue', () => {
  let queue: SendQueue
  let numbered: number

  beforeEach(() => {
    numbered = 0
    queue = new SendQueue(() => (numbered += 1))
  })

  function stream(sizes: readonly number[], { urgent = false, credit = 1024 * KIB } = {}) {
    const made = new OutboundStream({ urgent, credit })
    for (const size of sizes) made.push({ type: FRAME.open, code: 0, body: Buffer.alloc(size) })
    queue.wake(made)
    return made
  }

  /** The frames of the next record, each as type, stream and length. */
  function nextRecord(): string[] {
    const plan = queue.plan()
    if (plan === undefined) return []
    const out = Buffer.alloc(plan.length)
    plan.write(out)
    const found: string[] = []
    decodeFrames(out, ({ type, stream: number, body }) => {
      found.push(`${type} ${number} ${body.length}`)
    })
    return found
  }

  it('sends short frames first, then urgent streams, then the others in turns', () => {
    stream([100 * KIB])
    stream([70 * KIB])
    stream([1], { urgent: true })
    queue.addShort(encodeFrame({ type: FRAME.ping }))

    expect(nextRecord()).to.deep.equal([
      `${FRAME.ping} 0 0`,
      `${FRAME.open} 1 5`,
      `${FRAME.open} 2 ${64 * KIB + 4}`,
      `${FRAME.open} 3 ${64 * KIB + 4}`,
      `${FRAME.open} 2 ${36 * KIB}`,
      `${FRAME.open} 3 ${6 * KIB}`,
    ])
    expect(queue.isEmpty).to.equal(true)
  })

  it('sends no more than the credit, but the length of a message in any case', () => {
    const made = stream([1000], { credit: 64 })

    expect(nextRecord()).to.deep.equal([`${FRAME.open} 1 4`])
    expect(nextRecord()).to.deep.equal([])
    made.grant(300)
    queue.wake(made)
    expect(nextRecord()).to.deep.equal([`${FRAME.open} 1 300`])
    made.grant(900)
    queue.wake(made)
    expect(nextRecord()).to.deep.equal([`${FRAME.open} 1 700`])
  })

  it('begins no message without the credit for its cost', () => {
    const made = stream([1], { credit: 63 })

    expect(nextRecord()).to.deep.equal([])
    expect(made.hasBegun).to.equal(false)
  })

  it('sends nothing of a stream that was stopped, and tells who waits for room', async () => {
    const made = stream([300 * KIB])
    const room = made.room()
    made.stop(() => new Error('stopped'))

    expect(nextRecord()).to.deep.equal([])
    expect(await errorOf(() => room)).to.have.property('message', 'stopped')
    expect(await errorOf(() => made.room())).to.have.property('message', 'stopped')
    expect(numbered).to.equal(0)
  })

  it('keeps short frames that do not fit a record', () => {
    const body = Buffer.alloc(4000)
    for (let at = 0; at < 100; at++) queue.addShort(encodeFrame({ type: FRAME.failure, body }))

    expect(nextRecord()).to.have.length(65)
    expect(queue.shortBytes).to.equal(35 * 4012)
    expect(nextRecord()).to.have.length(35)
    expect(queue.shortBytes).to.equal(0)
  })
})
