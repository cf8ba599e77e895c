import { expect } from 'chai'
import * as fc from 'fast-check'
import { ByteCollector } from '../../../../lib/http/byte-collector.ts'
import { runAtOnce } from '../../../../lib/sliced.ts'

const MIB = 2 ** 20

function collected(chunks: readonly Buffer[], expectedBytes: number): Buffer {
  const bytes = new ByteCollector(expectedBytes)
  for (const chunk of chunks) bytes.add(chunk)
  return bytes.whole() ?? runAtOnce(bytes.join())
}

describe('ByteCollector', () => {
  it('gives back the received bytes, however they were cut into chunks', () => {
    const chunks = fc.array(
      fc.uint8Array({ maxLength: 100_000, size: 'max' }).map((bytes) => Buffer.from(bytes)),
      {
        maxLength: 40,
      },
    )

    fc.assert(
      fc.property(chunks, fc.integer({ min: 0, max: 4 * MIB }), (parts, expectedBytes) => {
        expect(collected(parts, expectedBytes).equals(Buffer.concat(parts))).to.equal(true)
      }),
      { numRuns: 50 },
    )
  })

  it('does not copy a single chunk', () => {
    const chunk = Buffer.from('all of it')
    const bytes = new ByteCollector(0)

    bytes.add(chunk)

    expect(bytes.whole()).to.equal(chunk)
  })

  it('holds one piece where the sender announced the length', () => {
    const bytes = new ByteCollector(MIB)
    for (let i = 0; i < 16; i++) bytes.add(Buffer.alloc(MIB / 16, i))

    expect(bytes.whole()?.length).to.equal(MIB)
  })

  it('gives back the memory of all bytes at once', () => {
    const bytes = new ByteCollector(0)
    const chunk = Buffer.alloc(MIB / 4, 1)
    const before = process.memoryUsage().arrayBuffers
    for (let i = 0; i < 64; i++) bytes.add(chunk)
    const held = process.memoryUsage().arrayBuffers - before

    bytes.free()

    expect(held).to.be.at.least(16 * MIB)
    expect(process.memoryUsage().arrayBuffers - before).to.be.below(MIB)
    expect(bytes.length).to.equal(0)
  })

  it('gives back the memory of copied chunks that are its own, and of no other', () => {
    const [own, ofOthers] = [true, false].map((ownsChunks) => {
      const bytes = new ByteCollector(0, { ownsChunks })
      const chunks = [1, 2, 3].map((byte) => Buffer.allocUnsafeSlow(1000).fill(byte))
      const part = Buffer.allocUnsafeSlow(2000).fill(4).subarray(0, 1000)
      for (const chunk of [...chunks, part]) bytes.add(chunk)
      const left = [...chunks, part].map(({ length }) => length)
      return { left, sum: runAtOnce(bytes.join()).reduce((sum, byte) => sum + byte, 0) }
    })

    expect(own).to.deep.equal({ left: [0, 0, 0, 1000], sum: 10_000 })
    expect(ofOthers).to.deep.equal({ left: [1000, 1000, 1000, 1000], sum: 10_000 })
  })

  it('pauses while it joins many bytes', () => {
    const bytes = new ByteCollector(0)
    for (let i = 0; i < 64; i++) bytes.add(Buffer.alloc(MIB / 4, i))

    const pauses = [...bytes.join()].length

    expect(bytes.whole()).to.equal(undefined)
    expect(pauses).to.be.at.least(15)
  })

  it('holds little more than the bytes of a million chunks of one byte', () => {
    const bytes = new ByteCollector(0)
    const chunk = Buffer.from('x')
    const before = process.memoryUsage().arrayBuffers

    for (let i = 0; i < MIB; i++) bytes.add(chunk)

    expect(bytes.length).to.equal(MIB)
    expect(process.memoryUsage().arrayBuffers - before).to.be.below(4 * MIB)
  })
})
