import { expect } from 'chai'
import * as fc from 'fast-check'
import { ProtoMessage } from '../../../../lib/etcd/proto-message.ts'
import { ProtoWriter } from '../../../../lib/etcd/proto-writer.ts'
import { errorOf } from '../../../support/error-of.ts'

describe('Protocol Buffers', () => {
  it('writes what the specification says', () => {
    // The two examples of protobuf.dev/programming-guides/encoding: 150, and "testing".
    expect(new ProtoWriter().integer(1, 150).finish().toString('hex')).to.equal('089601')
    expect(new ProtoWriter().text(2, 'testing').finish().toString('hex')).to.equal(
      '120774657374696e67',
    )
  })

  it('finishes a message as often as it is asked', () => {
    const inner = new ProtoWriter().integer(1, 150)

    const outer = new ProtoWriter().message(3, inner).message(3, inner)

    expect(outer.finish().toString('hex')).to.equal('1a030896011a03089601')
    expect(outer.finish().toString('hex')).to.equal('1a030896011a03089601')
  })

  it('reads what it writes', () => {
    const field = fc.integer({ min: 1, max: 2 ** 29 - 1 })
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        fc.uint8Array({ maxLength: 300 }),
        fc.uniqueArray(field, { minLength: 3, maxLength: 3 }),
        (integer, bytes, [first = 1, second = 2, third = 3]) => {
          const inner = new ProtoWriter().integer(first, integer).bytes(second, bytes)
          const written = inner.message(third, new ProtoWriter().integer(first, integer)).finish()

          const message = new ProtoMessage(written)

          expect(message.bigint(first)).to.equal(integer)
          expect(message.bytes(second).equals(bytes)).to.equal(true)
          expect(message.message(third).bigint(first)).to.equal(integer)
        },
      ),
    )
  })

  it('reads an absent field as the zero of its type', () => {
    const message = new ProtoMessage(Buffer.alloc(0))

    expect(message.number(1)).to.equal(0)
    expect(message.flag(1)).to.equal(false)
    expect(message.text(1)).to.equal('')
    expect(message.messages(1)).to.deep.equal([])
    expect(message.message(1).number(1)).to.equal(0)
  })

  it('passes over fields that it does not ask for, of any type', () => {
    // Field 1 has 64 bits, field 2 has 32, field 3 is 7.
    const encoded = Buffer.from('09010203040506070815010203041807', 'hex')

    expect(new ProtoMessage(encoded).number(3)).to.equal(7)
  })

  const damaged: Readonly<Record<string, string>> = {
    'a varint without an end': '08ff',
    'a varint that is too long': '08ffffffffffffffffffff01',
    'bytes that are shorter than they say': '120761',
    'a fixed number that is cut off': '0901',
    'a type that does not exist': '0f',
    'a field without a number': '0001',
    'a group within groups without end': '0b'.repeat(10_000),
  }
  for (const [name, hex] of Object.entries(damaged)) {
    it(`refuses ${name}`, async () => {
      const error = await errorOf(() => new ProtoMessage(Buffer.from(hex, 'hex')))

      expect(error).to.include({ code: 'CORRUPTION' })
    })
  }

  it('refuses a field of another type than it asks for', async () => {
    const message = new ProtoMessage(new ProtoWriter().integer(1, 5).text(2, 'five').finish())

    for (const read of [
      () => message.bytes(1),
      () => message.messages(1),
      () => message.bigint(2),
    ]) {
      expect(await errorOf(read)).to.include({ code: 'CORRUPTION' })
    }
  })
})
