import { expect } from 'chai'
import * as fc from 'fast-check'
import { LongArguments, messagesOf } from '../../../../../node/shard/remote/long-messages.ts'
import { jsonOf } from '../../../../../node/shard/format/document-record.ts'
import {
  ARGUMENT_BYTES_MAX,
  ARGUMENTS_BYTES_MAX,
  LONG_BYTES,
  PART_BYTES,
} from '../../../../../node/shard/remote/wire/call-limits.ts'
import type { WriteOp } from '../../../../../node/shard/command/command.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { RemoteBench } from '../../../../support/worlds/remote-bench.ts'
import { EVERYTHING } from '../../../../support/worlds/remote-world.ts'

const { signal } = new AbortController()

function longPut(key: string, bytes: number): WriteOp {
  const json = Buffer.from(JSON.stringify({ value: 'x'.repeat(bytes) }))
  return { kind: 'put', key: Buffer.from(key), json, expiry: { kind: 'none' } }
}

async function* partsOf(...sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (const [at, size] of sizes.entries()) yield Buffer.alloc(size, at)
}

describe('long messages of shards', () => {
  it('are cut into parts of one size, which are the bytes in order', () => {
    const parts = fc.array(fc.uint8Array({ maxLength: 2 * PART_BYTES }), { maxLength: 5 })
    fc.assert(
      fc.property(parts, (given) => {
        const messages = [...messagesOf(given)]

        expect(Buffer.concat(messages).equals(Buffer.concat(given))).to.equal(true)
        expect(messages.slice(0, -1).every(({ length }) => length === PART_BYTES)).to.equal(true)
      }),
      { numRuns: 30 },
    )
  })

  it('are gathered, and refused if they have another length', async () => {
    const gathering = new LongArguments()
    const { bytes, release } = await gathering.gather(5, partsOf(2, 3))
    release()

    expect(bytes).to.deep.equal(Buffer.from([0, 0, 1, 1, 1]))
    for (const parts of [partsOf(2, 2), partsOf(2, 4)]) {
      const error = await errorOf(() => gathering.gather(5, parts))
      expect(error).to.have.property('code', 'CORRUPTION')
    }
  })

  it('are refused above the longest, and above the memory of all until one is released', async () => {
    const gathering = new LongArguments()
    const tooLong = await errorOf(() => gathering.gather(ARGUMENT_BYTES_MAX + 1, partsOf()))
    const never = new Promise<never>(() => undefined)
    async function* waiting(): AsyncGenerator<Uint8Array> {
      yield await never
    }
    for (let held = 0; held < ARGUMENTS_BYTES_MAX; held += ARGUMENT_BYTES_MAX) {
      void gathering.gather(ARGUMENT_BYTES_MAX, waiting())
    }
    const tooMany = await errorOf(() => gathering.gather(1, partsOf(1)))

    expect(tooLong).to.have.property('code', 'INVALID_ARGUMENT')
    expect(tooMany).to.have.property('code', 'OVERLOADED')
  })

  it('carry long documents both ways, and short ones beside them', async () => {
    await using bench = await RemoteBench.open()
    const { remote, world, watched, hybridClock } = bench
    const ops = [longPut('long', 3 * LONG_BYTES), longPut('short', 10)]

    const written = await world.settled(remote.write({ checks: [], ops, ttl: undefined }))
    const record = await world.settled(remote.read(Buffer.from('long')))
    const at = hybridClock.readPoint()
    const scanning = remote.scan({ range: EVERYTHING, at, signal })
    const pages = await world.settled(scanning.then((found) => Array.fromAsync(found)))

    expect(written.kind).to.equal('written')
    expect(record && jsonOf(record).length).to.equal(3 * LONG_BYTES + 12)
    expect(pages.flat().map((row) => jsonOf(row.record).length)).to.deep.equal([
      3 * LONG_BYTES + 12,
      22,
    ])
    expect(watched.calls).to.deep.equal(['write', 'read', 'read', 'scan'])
  })

  it('are refused before they are sent if they are too long', async () => {
    await using bench = await RemoteBench.open()
    const { remote, watched } = bench
    const json = Buffer.alloc(9 * 1024 * 1024)
    const op: WriteOp = { kind: 'put', key: Buffer.from('k'), json, expiry: { kind: 'none' } }
    const ops = Array.from({ length: 15 }, () => op)

    const error = await errorOf(() => remote.write({ checks: [], ops, ttl: undefined }))

    expect(error).to.have.property('code', 'INVALID_ARGUMENT')
    expect(watched.calls).to.deep.equal([])
  })
})
