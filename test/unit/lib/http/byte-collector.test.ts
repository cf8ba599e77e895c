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
